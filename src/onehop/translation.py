"""A toy French, and a translator that learns from sentence pairs where to look.

Nouns have a gender, adjectives two forms; an adjective stands behind its noun in French and before
it in English. A sentence is one clause or two joined by `et`, 3 to 15 words; both sides have the
same number of words, in another order.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from onehop.attention import additive_attention
from onehop.initialisation import uniform_

Pair = tuple[str, str]
"""French and English that mean the same."""

_NOUNS = {
    "le": [("chat", "cat"), ("chien", "dog"), ("cheval", "horse"), ("loup", "wolf")],
    "la": [("vache", "cow"), ("souris", "mouse"), ("poule", "hen"), ("chèvre", "goat")],
}
_ADJECTIVES = {
    "le": [
        ("noir", "black"),
        ("blanc", "white"),
        ("gris", "grey"),
        ("brun", "brown"),
        ("lent", "slow"),
    ],
    "la": [
        ("noire", "black"),
        ("blanche", "white"),
        ("grise", "grey"),
        ("brune", "brown"),
        ("lente", "slow"),
    ],
}
_INTRANSITIVE = [("dort", "sleeps"), ("court", "runs"), ("saute", "jumps"), ("mange", "eats")]
_TRANSITIVE = [("voit", "sees"), ("suit", "follows"), ("entend", "hears"), ("aime", "likes")]
_AND = ("et", "and")

_PLAIN = [(f"{le} {noun}", f"the {cat}") for le in _NOUNS for noun, cat in _NOUNS[le]]
_WITH_ADJECTIVE = [
    (f"{le} {noun} {noir}", f"the {black} {cat}")
    for le in _NOUNS
    for noun, cat in _NOUNS[le]
    for noir, black in _ADJECTIVES[le]
]

END = "."
"""The word that ends an English sentence; the decoder also starts from it."""


def adjective_sentences() -> list[Pair]:
    """Return all 160 sentences of the form of `le chat noir dort`, `the black cat sleeps`."""
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


def _vocabulary(language: int) -> list[str]:
    everything = [*_PLAIN, *_WITH_ADJECTIVE, *_INTRANSITIVE, *_TRANSITIVE, _AND, (END, END)]
    return sorted({word for pair in everything for word in pair[language].split()})


FRENCH, ENGLISH = _vocabulary(0), _vocabulary(1)


def _numbers(sentence: str, vocabulary: list[str]) -> list[int]:
    words = sentence.split()
    unknown = [word for word in words if word not in vocabulary]
    if unknown or not words:
        raise ValueError(f"sentence: expected words of the vocabulary, got {unknown or 'none'}")
    return [vocabulary.index(word) for word in words]


class Translator(nn.Module):
    """A recurrent encoder and decoder with additive attention between them.

    After Bahdanau et al. (2015, arXiv:1409.0473), appendix A.1 and A.2, with two simplifications:
    the decoder starts from zeros, so that whatever it knows of the French it has read through
    attention, and one linear layer turns its state and the context into scores of words.
    """

    def __init__(self, width: int, rng: np.random.Generator) -> None:
        """Draw the weights from U(-1/sqrt(width), 1/sqrt(width)) by numpy, in float64."""
        super().__init__()
        self.width = width
        self.french = nn.Embedding(len(FRENCH), width)
        self.english = nn.Embedding(len(ENGLISH), width)
        self.encoder = nn.GRU(width, width, bidirectional=True, batch_first=True)
        self.decoder = nn.GRUCell(width + 2 * width, width)
        self.W = nn.Parameter(torch.empty(width, width))
        self.U = nn.Parameter(torch.empty(width, 2 * width))
        self.v = nn.Parameter(torch.empty(width))
        self.output = nn.Linear(width + 2 * width, len(ENGLISH))
        # Rounding differs between machines; in float64 training amplifies it to less than a digit.
        self.double()
        uniform_(self, width, rng)

    def forward(self, french: Tensor, english: Tensor) -> tuple[Tensor, Tensor]:
        """Score every next English word, given the right words before it.

        Args:
            french: numbers of words, `(batch, french_words)`.
            english: the same, `(batch, english_words)`.

        Returns:
            Scores, `(batch, english_words, vocabulary)`, and the weights that each English word
            gives to the French states, `(batch, english_words, french_words)`.
        """
        states, _ = self.encoder(self.french(french))
        s = self._start(states)
        previous = torch.full_like(english[:, 0], ENGLISH.index(END))
        scores, weights = [], []
        for word in english.unbind(dim=1):
            word_scores, word_weights, s = self._step(previous, s, states)
            scores.append(word_scores)
            weights.append(word_weights)
            previous = word
        return torch.stack(scores, dim=1), torch.stack(weights, dim=1)

    @torch.no_grad()
    def translate(self, french: str) -> tuple[str, Tensor]:
        """Return the English, choosing the word of the highest score each time, and the weights.

        Args:
            french: words separated by spaces.

        Returns:
            The English without its end, and the weights, `(english_words, french_words)`, the row
            of the end included. A translation that does not end is cut at twice the French length.

        Raises:
            ValueError: a word is unknown, or there is none.
        """
        numbers = torch.tensor([_numbers(french, FRENCH)])
        states, _ = self.encoder(self.french(numbers))
        s = self._start(states)
        previous = torch.tensor([ENGLISH.index(END)])
        words, weights = [], []
        while len(words) < 2 * numbers.shape[1] and words[-1:] != [END]:
            scores, word_weights, s = self._step(previous, s, states)
            previous = scores.argmax(dim=1)
            words.append(ENGLISH[int(previous)])
            weights.append(word_weights)
        return " ".join(words).removesuffix(f" {END}"), torch.cat(weights)

    def _start(self, states: Tensor) -> Tensor:
        return states.new_zeros(len(states), self.width)

    def _step(self, previous: Tensor, s: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        context, weights = additive_attention(s, states, self.W, self.U, self.v)
        s = self.decoder(torch.cat([self.english(previous), context], dim=1), s)
        return self.output(torch.cat([s, context], dim=1)), weights, s


def train(
    pairs: list[Pair], rng: np.random.Generator, width: int = 32, steps: int = 250, batch: int = 32
) -> Translator:
    """Return a translator trained on sentence pairs and nothing else.

    The loss is the cross-entropy of the next English word; no word is ever said to belong to
    another. The sentences of a batch have one length, so that none is padded.

    Args:
        pairs: French and English; `sentence_pairs` draws them.
        rng: numpy's generator, for the weights and the batches.
        width: width of embeddings and states.
        steps: updates by Adam, at a rate of 0.005.
        batch: sentences in an update.
    """
    model = Translator(width, rng)
    by_length: dict[int, list[tuple[list[int], list[int]]]] = {}
    for french, english in pairs:
        numbers = _numbers(french, FRENCH), _numbers(f"{english} {END}", ENGLISH)
        by_length.setdefault(len(numbers[0]), []).append(numbers)
    groups = [
        [torch.tensor(side) for side in zip(*group, strict=True)] for group in by_length.values()
    ]
    share = np.array([len(french) for french, _ in groups]) / len(pairs)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        french, english = groups[rng.choice(len(groups), p=share)]
        rows = torch.from_numpy(rng.integers(len(french), size=batch))
        scores, _ = model(french[rows], english[rows])
        loss = functional.cross_entropy(scores.flatten(0, 1), english[rows].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model
