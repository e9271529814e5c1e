"""How many tokens a sum of codes can hold: an orthogonal linear recurrence, read by best match.

Every token has a code of random signs. The state is moved by a fixed permutation at each step, and
the code of the next token is added: `h_t = P h_{t-1} + code(x_t)`. `P` is orthogonal, so nothing
fades; what limits recall is the noise that the other tokens make. Frady, Kleyko and Sommer (2018,
arXiv:1803.00412) give the theory.
"""

import math

import numpy as np
import torch
from torch import Tensor
from torch.special import log_ndtr


def random_codes(vocabulary: int, width: int, rng: np.random.Generator) -> Tensor:
    """Draw one code of signs for each token, `(vocabulary, width)`, float32.

    All that is computed from them are sums of integers below 2**24, exact in float32 in any order.

    Args:
        vocabulary: how many tokens there are.
        width: floats in the state.
        rng: numpy's generator.
    """
    signs = rng.integers(2, size=(vocabulary, width), dtype=np.int8)
    return torch.from_numpy(2 * signs - 1).float()


def memorise(tokens: Tensor, codes: Tensor) -> Tensor:
    """Return the state after the last token, `(batch, width)`, of integers.

    The permutation moves every element one place on, and the last one to the front.

    Args:
        tokens: `(batch, steps)`.
        codes: `(vocabulary, width)`.
    """
    h = torch.zeros(len(tokens), codes.shape[1])
    for x in tokens.unbind(dim=1):
        h = h.roll(1, dims=1) + codes[x]
    return h


def recall(h: Tensor, steps: int, codes: Tensor) -> Tensor:
    """Return the tokens that a state seems to hold, `(batch, steps)`.

    For each position the permutations since then are undone, and the token is named whose code has
    the largest inner product with the result; of equal ones, the first.

    Args:
        h: `(batch, width)`.
        steps: how many tokens the state has read.
        codes: `(vocabulary, width)`.
    """
    undone = torch.stack([h.roll(-lag, dims=1) for lag in reversed(range(steps))], dim=1)
    return (undone @ codes.T).argmax(dim=2)


def quantise(h: Tensor, bits: int, step: int) -> Tensor:
    """Return a state whose elements take one of `2**bits` values only: odd integers around 0.

    Args:
        h: `(batch, width)`.
        bits: what is kept of each element, sign included.
        step: width of a level, in units of `h`; what lies beyond the last level gets that level.
    """
    half = 2 ** (bits - 1)
    return 2 * (h / step).floor().clamp(-half, half - 1) + 1


def kept_share(bits: int, step: int, steps: int) -> float:
    """Return the share of a state's width that is left to a reader after `quantise`.

    It is the squared correlation of an element with its quantised self: the signal that a reader
    finds falls by the correlation, and the noise does not. For many steps the sign alone leaves
    2 / pi.

    Args:
        bits: what is kept of each element.
        step: width of a level, in units of the state.
        steps: tokens that the state has read: an element is the sum of as many signs.
    """
    ups = torch.arange(steps + 1, dtype=torch.float64)
    h = 2 * ups - steps
    chance = torch.tensor([math.comb(steps, k) / 2**steps for k in range(steps + 1)]).double()
    quantised = quantise(h, bits, step)
    return ((chance @ (h * quantised)) ** 2 / (chance @ quantised**2) / steps).item()


def recall_probability(width: float, steps: int, vocabulary: int) -> float:
    """Return the probability that `recall` names the right token at a position.

    The right code scores `width` with variance `(steps - 1) * width`, each other code 0 with
    variance `steps * width`, and sums of many signs are nearly normal. So the right one wins with
    the mean of `Phi((z * sqrt(steps - 1) + sqrt(width)) / sqrt(steps)) ** (vocabulary - 1)` over a
    standard normal `z`.

    Args:
        width: floats in the state.
        steps: tokens that it has read.
        vocabulary: how many tokens there are.
    """
    z = torch.linspace(-9, 9, 1801, dtype=torch.float64)
    density = torch.exp(-(z**2) / 2)
    ahead = (z * math.sqrt(steps - 1) + math.sqrt(width)) / math.sqrt(steps)
    wins = torch.exp((vocabulary - 1) * log_ndtr(ahead))
    return (density @ wins / density.sum()).item()


def recall_length(width: float, vocabulary: int, probability: float) -> int:
    """Return the most tokens of which each is recalled with at least this probability.

    Args:
        width: floats in the state.
        vocabulary: how many tokens there are.
        probability: what is asked of each token, below 1.
    """
    few, many = 0, 1
    while recall_probability(width, many, vocabulary) >= probability:
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        if recall_probability(width, middle, vocabulary) >= probability:
            few = middle
        else:
            many = middle
    return few
