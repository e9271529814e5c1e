"""A toy French and a translator that reads with additive attention, trained on sentence pairs.

The grammar has 8 nouns with a gender, 5 adjectives in two forms each, 4 + 4 verbs and `et`. An
adjective follows its noun in French and precedes it in English, so that the words change places.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from onehop.attention import additive_attention
from onehop.initialisation import uniform_

NOUNS = {
    "le": {"chat": "cat", "chien": "dog", "cheval": "horse", "loup": "wolf"},
    "la": {"vache": "cow", "souris": "mouse", "poule": "hen", "chèvre": "goat"},
}
ADJECTIVES = {
    "le": {"noir": "black", "blanc": "white", "gris": "grey", "brun": "brown", "lent": "slow"},
    "la": {
        "noire": "black",
        "blanche": "white",
        "grise": "grey",
        "brune": "brown",
        "lente": "slow",
    },
}
INTRANSITIVE = {"dort": "sleeps", "court": "runs", "saute": "jumps", "mange": "eats"}
TRANSITIVE = {"voit": "sees", "suit": "follows", "entend": "hears", "aime": "likes"}
END = "."
"""The English word that ends a sentence, and the one that the translator starts from."""

Pair = tuple[tuple[str, ...], tuple[str, ...]]
"""French words and English words; the English ones end in `END`."""

_NOUN_LISTS = [*NOUNS.values(), *ADJECTIVES.values(), INTRANSITIVE, TRANSITIVE]
FRENCH = ["le", "la", "et", *(french for words in _NOUN_LISTS for french in words)]
ENGLISH = list(
    dict.fromkeys([END, "the", "and", *(e for words in _NOUN_LISTS for e in words.values())])
)


def noun_phrase(article: str, noun: str, adjective: str | None) -> Pair:
    if adjective is None:
        return (article, noun), ("the", NOUNS[article][noun])
    english = ("the", ADJECTIVES[article][adjective], NOUNS[article][noun])
    return (article, noun, adjective), english


def adjective_sentences() -> list[Pair]:
    """all"""
    out = []
    for article in NOUNS:
        for noun in NOUNS[article]:
            for adjective in ADJECTIVES[article]:
                for verb in INTRANSITIVE:
                    f, e = noun_phrase(article, noun, adjective)
                    out.append(((*f, verb), (*e, INTRANSITIVE[verb], END)))
    return out


def sentence_pairs(count: int, rng: np.random.Generator, clauses=2) -> list[Pair]:
    def pick(words):
        return str(rng.choice(list(words)))

    def phrase():
        article = pick(NOUNS)
        adjective = pick(ADJECTIVES[article]) if rng.random() < 0.5 else None
        return noun_phrase(article, pick(NOUNS[article]), adjective)

    def clause():
        fr, en = phrase()
        if rng.random() < 0.5:
            verb = pick(INTRANSITIVE)
            return (*fr, verb), (*en, INTRANSITIVE[verb])
        verb = pick(TRANSITIVE)
        fr2, en2 = phrase()
        return (*fr, verb, *fr2), (*en, TRANSITIVE[verb], *en2)

    pairs = []
    for _ in range(count):
        fr, en = clause()
        if clauses > 1 and rng.random() < 0.5:
            f2, e2 = clause()
            fr, en = (*fr, "et", *f2), (*en, "and", *e2)
        pairs.append((fr, (*en, END)))
    return pairs


class Translator(nn.Module):
    def __init__(self, width: int, rng, bidirectional=True) -> None:
        super().__init__()
        self.width = width
        k = (2 if bidirectional else 1) * width
        self.french = nn.Embedding(len(FRENCH), width)
        self.english = nn.Embedding(len(ENGLISH), width)
        self.encoder = nn.GRU(width, width, bidirectional=bidirectional, batch_first=True)
        self.decoder = nn.GRUCell(width + k, width)
        self.W = nn.Parameter(torch.empty(width, width))
        self.U = nn.Parameter(torch.empty(width, k))
        self.v = nn.Parameter(torch.empty(width))
        self.output = nn.Linear(width + k, len(ENGLISH))
        uniform_(self, width, rng)

    def step(self, previous, s, states):
        context, weights = additive_attention(s, states, self.W, self.U, self.v)
        s = self.decoder(torch.cat([self.english(previous), context], 1), s)
        return self.output(torch.cat([s, context], 1)), s, weights

    def forward(self, french, english):
        states, _ = self.encoder(self.french(french))
        s = states.new_zeros(len(french), self.width)
        previous = torch.full_like(english[:, 0], ENGLISH.index(END))
        logits, weights = [], []
        for t in range(english.shape[1]):
            l, s, w = self.step(previous, s, states)
            logits.append(l)
            weights.append(w)
            previous = english[:, t]
        return torch.stack(logits, 1), torch.stack(weights, 1)

    @torch.no_grad()
    def translate(self, french: tuple[str, ...]):
        states, _ = self.encoder(self.french(torch.tensor([[FRENCH.index(w) for w in french]])))
        s = states.new_zeros(1, self.width)
        previous = torch.tensor([ENGLISH.index(END)])
        words, weights = [], []
        while len(words) < 2 * len(french) + 2:
            l, s, w = self.step(previous, s, states)
            previous = l.argmax(1)
            words.append(ENGLISH[int(previous)])
            weights.append(w[0])
            if words[-1] == END:
                break
        return tuple(words), torch.stack(weights)


def train(pairs, rng, width=32, steps=200, batch=32, lr=5e-3, dtype=torch.float64, bi=True):
    model = Translator(width, rng, bi).to(dtype)
    groups = {}
    for fr, en in pairs:
        groups.setdefault(len(fr), []).append(
            ([FRENCH.index(w) for w in fr], [ENGLISH.index(w) for w in en])
        )
    lengths = sorted(groups)
    tens = {n: tuple(torch.tensor(x) for x in zip(*groups[n])) for n in lengths}
    p = np.array([len(groups[n]) for n in lengths]) / len(pairs)
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    for step in range(steps):
        n = int(rng.choice(lengths, p=p))
        idx = torch.from_numpy(rng.integers(len(groups[n]), size=batch))
        fr, en = tens[n][0][idx], tens[n][1][idx]
        logits, _ = model(fr, en)
        loss = functional.cross_entropy(logits.flatten(0, 1), en.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    return model, losses
