"""A toy French, and a translator that learns from sentence pairs alone where to look.

Nouns have a gender, adjectives two forms; an adjective stands behind its noun in French and before
it in English. A sentence is one clause or more, joined by `et`; both languages need the same number
of words, in another order.
"""

import numpy as np
import torch
from torch import Tensor, nn

from onehop.encoder_decoder import Attention, Kind, fit

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
    """Draw sentences of one or two clauses, 3 to 15 words, with their translations.

    Args:
        count: how many; some may be equal.
        rng: numpy's generator.
    """
    return [_sentence(rng) for _ in range(count)]


def sentences_of(words: int, count: int, rng: np.random.Generator) -> list[Pair]:
    """Draw sentences of one length, of as many clauses as it takes, with their translations.

    Args:
        words: length of each, 3 or more.
        count: how many; some may be equal.
        rng: numpy's generator.

    Raises:
        ValueError: no sentence is that short.
    """
    if words < 3:
        raise ValueError(f"words: expected 3 or more, got {words}")
    pairs = []
    while len(pairs) < count:
        pair = _clause(rng)
        while len(pair[0].split()) < words:
            pair = _join(pair, _AND, _clause(rng))
        if len(pair[0].split()) == words:
            pairs.append(pair)
    return pairs


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
    """A model of tokens that takes and returns words.

    The weights are float64: rounding, which differs between machines and which training amplifies,
    then stays far behind the digits that anyone looks at.
    """

    def __init__(
        self,
        width: int,
        rng: np.random.Generator,
        kind: Kind = Attention,
    ) -> None:
        """Draw the weights of a model of that kind."""
        super().__init__()
        self.model = kind(len(FRENCH), len(ENGLISH), ENGLISH.index(END), width, rng)

    def translate(self, french: str) -> tuple[str, Tensor]:
        """Return the English, always choosing the likeliest next word, and the weights.

        Args:
            french: words separated by spaces.

        Returns:
            The English without its end, and the weights, `(english_words + 1, french_words)`; the
            last row belongs to the end. A translation that finds no end is cut at twice the length
            of the French and has no such row. A fixed vector has no states to weigh: `(..., 0)`.

        Raises:
            ValueError: a word is unknown, or there is none.
        """
        numbers = torch.tensor([_numbers(french, FRENCH)])
        tokens, weights = self.model.write(numbers, 2 * numbers.shape[1])
        return _words(tokens[0]), weights[0]

    def translate_all(self, french: list[str]) -> list[str]:
        """Return the English of sentences of one length, as `translate` would."""
        numbers = torch.tensor([_numbers(sentence, FRENCH) for sentence in french])
        tokens, _ = self.model.write(numbers, 2 * numbers.shape[1])
        return [_words(row) for row in tokens]


def _words(tokens: Tensor) -> str:
    english = [ENGLISH[token] for token in tokens.tolist()]
    return " ".join(english[: english.index(END)] if END in english else english)


def train(
    pairs: list[Pair],
    rng: np.random.Generator,
    width: int = 32,
    steps: int = 300,
    kind: Kind = Attention,
) -> Translator:
    """Return a translator trained on sentence pairs; no word is ever said to belong to another.

    A batch is 16 sentences of one length, so that none is padded.

    Args:
        pairs: French and English, as `sentence_pairs` draws them.
        rng: numpy's generator, for the weights and the batches.
        width: width of embeddings and states.
        steps: number of batches.
        kind: how the French reaches the decoder.

    Raises:
        ValueError: a word is unknown.
    """
    translator = Translator(width, rng, kind)
    by_length: dict[int, list[tuple[list[int], list[int]]]] = {}
    for french, english in pairs:
        numbers = _numbers(french, FRENCH), _numbers(f"{english} {END}", ENGLISH)
        by_length.setdefault(len(numbers[0]), []).append(numbers)
    groups = [
        tuple(torch.tensor(side) for side in zip(*group, strict=True))
        for group in by_length.values()
    ]
    shares = np.array([len(french) for french, _ in groups]) / len(pairs)

    def draw() -> tuple[Tensor, Tensor]:
        french, english = groups[rng.choice(len(groups), p=shares)]
        rows = torch.from_numpy(rng.integers(len(french), size=16))
        return french[rows], english[rows]

    fit(translator.model, draw, steps)
    return translator
