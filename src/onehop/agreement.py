"""Subject and verb far apart: sentences, readers that guess the verb's number, their training.

A sentence is `the keys near the old door behind the red letter ___`. Its subject is the first noun;
each later one is an attractor, which may be singular or plural by itself, and puts four words
between the subject and the blank. The blank is read like a word; the guess is made after it.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from onehop.attention import scaled_dot_product
from onehop.initialisation import set_forget_bias, uniform_
from onehop.training import training_steps

_PREPOSITIONS = ["near", "behind", "above"]
_ADJECTIVES = ["old", "red", "small", "wet"]
_NOUNS = ["key", "door", "letter", "boat", "garden", "teacher", "window", "song"]
WORDS = [
    "the",
    "___",
    *_PREPOSITIONS,
    *_ADJECTIVES,
    *(form for noun in _NOUNS for form in (noun, f"{noun}s")),
]
"""The vocabulary; tokens are positions in it."""

_BLANK = WORDS.index("___")
_PREPOSITION = WORDS.index(_PREPOSITIONS[0])
_ADJECTIVE = WORDS.index(_ADJECTIVES[0])
_NOUN = WORDS.index(_NOUNS[0])

LAYERS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


class Sentences(NamedTuple):
    """Sentences of one length."""

    tokens: Tensor
    """`(count, steps)`; the distance from subject to blank is `steps - 2`."""
    plural: Tensor
    """Number of the subject, `(count,)`: 1 where it is plural. This is what is to be guessed."""
    nearest: Tensor
    """Number of the noun nearest to the blank, `(count,)`: what a wrong rule would guess."""


def sentences(count: int, distance: int, agree: float, rng: np.random.Generator) -> Sentences:
    """Draw sentences whose blank stands `distance` words after the subject.

    Args:
        count: how many.
        distance: 1, 5, 9, ...: four words for each attractor, and one.
        agree: probability that an attractor has the number of the subject.
        rng: numpy's generator.

    Raises:
        ValueError: there is no sentence with that distance, or `agree` is no probability.
    """
    if distance < 1 or distance % 4 != 1:
        raise ValueError(f"distance: expected 1, 5, 9, ..., got {distance}")
    if not 0 <= agree <= 1:
        raise ValueError(f"agree: expected a probability, got {agree}")
    attractors = distance // 4
    subject = rng.integers(2, size=(count, 1))
    same = rng.random((count, attractors)) < agree
    numbers = np.concatenate([subject, np.where(same, subject, 1 - subject)], axis=1)
    tokens = np.full((count, distance + 2), WORDS.index("the"))
    tokens[:, 1::4] = _NOUN + 2 * rng.integers(len(_NOUNS), size=numbers.shape) + numbers
    tokens[:, 2:-1:4] = _PREPOSITION + rng.integers(len(_PREPOSITIONS), size=same.shape)
    tokens[:, 4:-1:4] = _ADJECTIVE + rng.integers(len(_ADJECTIVES), size=same.shape)
    tokens[:, -1] = _BLANK
    return Sentences(*map(torch.from_numpy, (tokens, numbers[:, 0], numbers[:, -1])))


def text(tokens: Tensor) -> str:
    """Return the words of one sentence, `(steps,)`, with blanks between them."""
    return " ".join(WORDS[token] for token in tokens.tolist())


class Reader(nn.Module):
    """An embedding, a layer that reads it, and two scores from the layer's last output."""

    def __init__(self, layer: nn.Module, width: int, rng: np.random.Generator) -> None:
        """Keep the layer as it is; draw a standard normal embedding, and scores in torch's range.

        Args:
            layer: from `(batch, steps, width)` to `(batch, steps, width)`, or to a tuple that
                begins with that; the last step's output is used.
            width: of embedding and layer.
            rng: numpy's generator.
        """
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), width)
        self.layer = layer
        self.scores = nn.Linear(width, 2)
        uniform_(self.scores, width, rng)
        _normal_(self.embedding.weight, rng)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the scores of singular and plural, `(batch, 2)`, for tokens `(batch, steps)`."""
        outputs = self.layer(self.embedding(tokens))
        if isinstance(outputs, tuple):
            outputs = outputs[0]
        return self.scores(outputs[:, -1])


class LastQueryAttention(nn.Module):
    """Self-attention with two heads of which only the last query is computed, and no more is used.

    Vaswani et al. (2017, arXiv:1706.03762), equation (1) in each head. Positions are learned, as
    an embedding that is added to the input.
    """

    def __init__(self, width: int, steps: int, rng: np.random.Generator) -> None:
        """Draw matrices in torch's range and standard normal positions for up to `steps` steps."""
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        uniform_(self, width, rng)
        self.positions = nn.Parameter(torch.empty(steps, width))
        _normal_(self.positions, rng)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the last output alone, `(batch, 1, width)`, for `(batch, steps, width)`."""
        x = inputs + self.positions[: inputs.shape[1]]
        projected = (self.query(x[:, -1:]), self.key(x), self.value(x))
        q, k, v = (part.unflatten(2, (2, -1)).transpose(1, 2) for part in projected)
        mixed, _ = scaled_dot_product(q, k, v)
        return mixed.transpose(1, 2).flatten(2)


def reader(
    kind: str,
    rng: np.random.Generator,
    *,
    width: int = 32,
    forget_bias: float | None = None,
    longest: int = 97,
) -> Reader:
    """Return an untrained reader with one layer.

    Args:
        kind: `rnn`, `lstm`, `gru` or `attention`.
        rng: numpy's generator.
        width: of embedding and layer.
        forget_bias: where an LSTM's forget gate starts; None leaves torch's start.
        longest: the largest distance for which attention has positions.

    Raises:
        ValueError: an unknown kind, or a forget bias for another layer than an LSTM.
    """
    if kind == "attention":
        layer = LastQueryAttention(width, longest + 2, rng)
    elif kind in LAYERS:
        layer = LAYERS[kind](width, width, batch_first=True)
        uniform_(layer, width, rng)
    else:
        raise ValueError(f"kind: expected {', '.join(LAYERS)} or attention, got {kind!r}")
    if forget_bias is not None:
        if not isinstance(layer, nn.LSTM):
            raise ValueError(f"forget_bias: expected an lstm, got {kind}")
        set_forget_bias(layer, forget_bias)
    return Reader(layer, width, rng)


def train(
    model: nn.Module,
    distances: Sequence[int],
    agree: float,
    rng: np.random.Generator,
    steps: int = 400,
) -> int:
    """Train a reader in place and return how many steps it took.

    A batch is 64 fresh sentences of one distance; Adam takes steps of 0.003, and gradients are
    clipped at length 1. Training ends early when five losses in a row are below 0.01.

    Args:
        model: from tokens `(batch, steps)` to scores `(batch, 2)`.
        distances: each batch has one of these.
        agree: probability that an attractor has the number of the subject.
        rng: numpy's generator.
        steps: the number of batches at most.
    """

    def draw() -> tuple[Tensor, Tensor]:
        drawn = sentences(64, int(rng.choice(distances)), agree, rng)
        return drawn.tokens, drawn.plural

    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses: deque[float] = deque(maxlen=5)
    taken = 0
    for step in training_steps(model, optimizer, draw, clip=1.0):
        losses.append(step.loss)
        taken += 1
        if taken == steps or (len(losses) == 5 and max(losses) < 0.01):
            break
    return taken


@torch.no_grad()
def answers(model: nn.Module, tokens: Tensor) -> Tensor:
    """Return the number that the model guesses for each sentence, `(count,)`: 1 for plural."""
    return model(tokens).argmax(dim=1)


def accuracy(model: nn.Module, drawn: Sentences) -> float:
    """Return the share of sentences whose subject's number the model guesses."""
    return (answers(model, drawn.tokens) == drawn.plural).double().mean().item()


@torch.no_grad()
def _normal_(parameter: Tensor, rng: np.random.Generator) -> None:
    parameter.copy_(torch.from_numpy(rng.standard_normal(tuple(parameter.shape))))
