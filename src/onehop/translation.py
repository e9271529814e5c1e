"""A toy French, and a translator that learns from sentence pairs alone where to look.

Nouns have a gender, adjectives two forms; an adjective stands behind its noun in French and before
it in English. A sentence is one clause or two joined by `et`; both languages need the same number
of words, 3 to 15, in another order.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from onehop.attention import additive_attention
from onehop.initialisation import uniform_

Pair = tuple[str, str]
"""French and English that mean the same."""

END = "."
"""The word after the last English word; the decoder also starts from it."""

_NOUNS: dict[str, list[Pair]] = {
    "le": [("chat", "cat"), ("chien", "dog"), ("cheval", "horse"), ("loup", "wolf")],
    "la": [("vache", "cow"), ("souris", "mouse"), ("poule", "hen"), ("chèvre", "goat")],
}
_FORMS = {
    "black": ("noir", "noire"),
    "white": ("blanc", "blanche"),
    "grey": ("gris", "grise"),
    "brown": ("brun", "brune"),
    "slow": ("lent", "lente"),
}
_ADJECTIVES: dict[str, list[Pair]] = {
    "le": [(masculine, english) for english, (masculine, _) in _FORMS.items()],
    "la": [(feminine, english) for english, (_, feminine) in _FORMS.items()],
}
_INTRANSITIVE = [("dort", "sleeps"), ("court", "runs"), ("saute", "jumps"), ("mange", "eats")]
_TRANSITIVE = [("voit", "sees"), ("suit", "follows"), ("chasse", "chases"), ("aime", "likes")]
_AND = ("et", "and")

_PLAIN = [(f"{le} {noun}", f"the {cat}") for le in _NOUNS for noun, cat in _NOUNS[le]]
_WITH_ADJECTIVE = [
    (f"{le} {noun} {noir}", f"the {black} {cat}")
    for le in _NOUNS
    for noun, cat in _NOUNS[le]
    for noir, black in _ADJECTIVES[le]
]


def adjective_sentences() -> list[Pair]:
    """Return all 160 sentences built like `le chat noir dort`, with their translations."""
    return [_join(subject, verb) for subject in _WITH_ADJECTIVE for verb in _INTRANSITIVE]


def sentence_pairs(count: int, rng: np.random.Generator) -> list[Pair]:
    """Draw sentences of one or two clauses with their translations.

    Args:
        count: how many; some may be equal.
        rng: numpy's generator.
    """
    return [_sentence(rng) for _ in range(count)]


def _sentence(rng: np.random.Generator) -> Pair:
    if rng.random() < 0.5:
        return _clause(rng)
    return _join(_clause(rng), _AND, _clause(rng))


def _clause(rng: np.random.Generator) -> Pair:
    if rng.random() < 0.5:
        return _join(_noun_phrase(rng), _pick(_INTRANSITIVE, rng))
    return _join(_noun_phrase(rng), _pick(_TRANSITIVE, rng), _noun_phrase(rng))


def _noun_phrase(rng: np.random.Generator) -> Pair:
    return _pick(_PLAIN if rng.random() < 0.5 else _WITH_ADJECTIVE, rng)


def _pick(pairs: list[Pair], rng: np.random.Generator) -> Pair:
    return pairs[rng.integers(len(pairs))]


def _join(*parts: Pair) -> Pair:
    french, english = (" ".join(words) for words in zip(*parts, strict=True))
    return french, english


def _vocabulary(sentences: list[str]) -> list[str]:
    return sorted({word for sentence in sentences for word in sentence.split()})


_EVERYTHING = [*_PLAIN, *_WITH_ADJECTIVE, *_INTRANSITIVE, *_TRANSITIVE, _AND]
FRENCH = _vocabulary([french for french, _ in _EVERYTHING])
ENGLISH = _vocabulary([END, *(english for _, english in _EVERYTHING)])


def _numbers(sentence: str, vocabulary: list[str]) -> list[int]:
    words = sentence.split()
    unknown = [word for word in words if word not in vocabulary]
    if unknown or not words:
        raise ValueError(
            f"sentence: expected words of the vocabulary, got {', '.join(unknown) or 'none'}"
        )
    return [vocabulary.index(word) for word in words]


class Translator(nn.Module):
    """A recurrent encoder and a recurrent decoder that reads the encoder's states by attention.

    Bahdanau et al. (2015, arXiv:1409.0473), section 3, made smaller: the decoder starts from zeros,
    so that all it knows of the French has come through attention, and one linear layer turns its
    state and the context into scores of words.
    """

    def __init__(self, width: int, rng: np.random.Generator) -> None:
        """Draw all weights from U(-1/sqrt(width), 1/sqrt(width)).

        The weights are float64: rounding, which differs between machines and which training
        amplifies, then stays far behind the digits that anyone looks at.
        """
        super().__init__()
        self.width = width
        self.french = nn.Embedding(len(FRENCH), width)
        self.english = nn.Embedding(len(ENGLISH), width)
        self.encoder = nn.GRU(width, width, bidirectional=True, batch_first=True)
        self.decoder = nn.GRUCell(3 * width, width)
        self.W = nn.Parameter(torch.empty(width, width))
        self.U = nn.Parameter(torch.empty(width, 2 * width))
        self.v = nn.Parameter(torch.empty(width))
        self.output = nn.Linear(3 * width, len(ENGLISH))
        self.double()
        uniform_(self, width, rng)

    def forward(self, french: Tensor, english: Tensor) -> tuple[Tensor, Tensor]:
        """Score every next English word, given the right words before it.

        Args:
            french: indices into `FRENCH`, `(batch, french_words)`.
            english: indices into `ENGLISH`, `(batch, english_words)`.

        Returns:
            Scores, `(batch, english_words, len(ENGLISH))`, and the weights that each English word
            gives to the French states, `(batch, english_words, french_words)`.
        """
        states, _ = self.encoder(self.french(french))
        s = states.new_zeros(len(states), self.width)
        start = torch.full_like(english[:, :1], ENGLISH.index(END))
        previous = self.english(torch.cat([start, english[:, :-1]], dim=1))
        read, weights = [], []
        for embedding in previous.unbind(dim=1):
            s, context, step_weights = self._step(embedding, s, states)
            read.append(torch.cat([s, context], dim=1))
            weights.append(step_weights)
        return self.output(torch.stack(read, dim=1)), torch.stack(weights, dim=1)

    @torch.no_grad()
    def translate(self, french: str) -> tuple[str, Tensor]:
        """Return the English, always choosing the likeliest next word, and the weights.

        Args:
            french: words separated by spaces.

        Returns:
            The English without its end, and the weights, `(english_words + 1, french_words)`; the
            last row belongs to the end. A translation that finds no end is cut at twice the length
            of the French and has no such row.

        Raises:
            ValueError: a word is unknown, or there is none.
        """
        states, _ = self.encoder(self.french(torch.tensor([_numbers(french, FRENCH)])))
        s = states.new_zeros(1, self.width)
        words, weights = [END], []
        while len(words) <= 2 * states.shape[1] and (len(words) == 1 or words[-1] != END):
            previous = self.english.weight[[ENGLISH.index(words[-1])]]
            s, context, step_weights = self._step(previous, s, states)
            words.append(ENGLISH[int(self.output(torch.cat([s, context], dim=1)).argmax())])
            weights.append(step_weights)
        return " ".join(word for word in words if word != END), torch.cat(weights)

    def _step(self, previous: Tensor, s: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        context, weights = additive_attention(s, states, self.W, self.U, self.v)
        s = self.decoder(torch.cat([previous, context], dim=1), s)
        return s, context, weights


def train(
    pairs: list[Pair], rng: np.random.Generator, width: int = 32, steps: int = 300
) -> Translator:
    """Return a translator trained on sentence pairs; no word is ever said to belong to another.

    The loss is the cross-entropy of the next English word. A batch is 16 sentences of one length,
    so that none is padded; Adam takes steps of 0.005, and gradients are clipped at length 1.

    Args:
        pairs: French and English, as `sentence_pairs` draws them.
        rng: numpy's generator, for the weights and the batches.
        width: width of embeddings and states.
        steps: number of batches.

    Raises:
        ValueError: a word is unknown.
    """
    model = Translator(width, rng)
    by_length: dict[int, list[tuple[list[int], list[int]]]] = {}
    for french, english in pairs:
        numbers = _numbers(french, FRENCH), _numbers(f"{english} {END}", ENGLISH)
        by_length.setdefault(len(numbers[0]), []).append(numbers)
    groups = [
        tuple(torch.tensor(side) for side in zip(*group, strict=True))
        for group in by_length.values()
    ]
    shares = np.array([len(french) for french, _ in groups]) / len(pairs)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        french, english = groups[rng.choice(len(groups), p=shares)]
        rows = torch.from_numpy(rng.integers(len(french), size=16))
        scores, _ = model(french[rows], english[rows])
        loss = functional.cross_entropy(scores.flatten(0, 1), english[rows].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model
