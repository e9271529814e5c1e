"""The copy task: read random tokens, then write them down in the same order.

Nothing about a token can be guessed from the others, so that what is right beyond chance has been
remembered.
"""

import numpy as np
import torch
from torch import Tensor

from onehop.encoder_decoder import EncoderDecoder, Kind, fit

TOKENS = 20
"""How many different tokens are drawn; one more, which never is, starts the decoder."""


def sequences(count: int, steps: int, rng: np.random.Generator) -> Tensor:
    """Draw independent, equally likely tokens, `(count, steps)`."""
    return torch.from_numpy(rng.integers(TOKENS, size=(count, steps)))


def train_copier(
    kind: Kind, width: int, rng: np.random.Generator, steps: int = 600, longest: int = 16
) -> EncoderDecoder:
    """Return a model trained to copy; a batch is 32 sequences of one length.

    Args:
        kind: how the sequence reaches the decoder.
        width: width of embeddings and states.
        rng: numpy's generator, for the weights and the batches.
        steps: number of batches.
        longest: lengths are drawn from 1 to this.
    """
    start = TOKENS
    model = kind(TOKENS + 1, TOKENS + 1, start, width, rng)

    def draw() -> tuple[Tensor, Tensor]:
        tokens = sequences(32, int(rng.integers(1, longest + 1)), rng)
        return tokens, tokens

    return fit(model, draw, steps)


@torch.no_grad()
def recalled(model: EncoderDecoder, steps: int, rng: np.random.Generator) -> float:
    """Return how many tokens of a sequence a copier knows, beyond what guessing would get right.

    The decoder is given the right tokens before each one, so that a slip costs one token and no
    more. With a share `p` of all tokens right, `steps * (p - 1/20) / (1 - 1/20)` are known.

    Args:
        model: a trained copier.
        steps: length of the sequences; 256 are drawn.
        rng: numpy's generator.
    """
    tokens = sequences(256, steps, rng)
    scores, _ = model(tokens, tokens)
    right = (scores.argmax(dim=2) == tokens).double().mean().item()
    return steps * (right - 1 / TOKENS) / (1 - 1 / TOKENS)
