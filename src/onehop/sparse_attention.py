"""Causal attention for long sequences, one head: fewer reads, smaller pieces, or another order.

Reading fewer keys changes the result and saves operations; computing in chunks keeps the result and
saves memory; the linear form changes the weights so that the sum over the past becomes a state.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from onehop.attention import scaled_dot_product


def window_reads(steps: int, window: int) -> Tensor:
    """Return which keys each query reads: itself and the `window - 1` before it.

    Beltagy et al. (2020, arXiv:2004.05150), section 3.1, here causal.

    Args:
        steps: length of the sequence.
        window: keys per query.

    Returns:
        Positions, `(steps, window)`; a negative one lies before the start and is no key.
    """
    return torch.arange(steps)[:, None] - torch.arange(window)


def strided_reads(steps: int, stride: int) -> Tensor:
    """Return which keys each query reads: the last `stride`, and every `stride`-th one before.

    Those before are read at a distance of a multiple of the stride: Child et al. (2019,
    arXiv:1904.10509), section 4.3, the strided pattern with both of its sets in one head.

    Args:
        steps: length of the sequence.
        stride: keys read near by, and the distance between the far ones.

    Returns:
        Positions, `(steps, stride + ceil(steps / stride) - 1)`; negative ones are no keys.
    """
    far = torch.arange(stride, steps, stride)
    return torch.arange(steps)[:, None] - torch.cat([torch.arange(stride), far])


def reads_mask(reads: Tensor) -> Tensor:
    """Return the same choice of keys as a mask, `(steps, steps)`: True where a key is read."""
    steps = len(reads)
    mask = torch.zeros(steps, steps + 1, dtype=torch.bool)
    mask.scatter_(1, reads.clamp(min=-1) % (steps + 1), True)  # -1 becomes the extra column
    return mask[:, :steps]


def reading_attention(q: Tensor, k: Tensor, v: Tensor, reads: Tensor) -> Tensor:
    """Return attention that computes only the scores of the keys read.

    Args:
        q: queries, `(steps, width)`.
        k: keys, `(steps, width)`.
        v: values, `(steps, width)`.
        reads: positions of the keys that each query reads, `(steps, reads)`; negative: none.

    Returns:
        Outputs, `(steps, width)`, at `4 * steps * reads * width` floating-point operations.
    """
    near = reads.clamp(min=0)
    outputs, _ = scaled_dot_product(q[:, None], k[near], v[near], (reads >= 0)[:, None])
    return outputs[:, 0]


def chunked_attention(q: Tensor, k: Tensor, v: Tensor, chunk: int) -> Tensor:
    """Return exact causal attention without a matrix larger than `(chunk, chunk)`.

    For each chunk of queries the keys come chunk by chunk. What is kept of those seen is the
    largest score, the sum of exponentials and the sum of values, all three rescaled when a larger
    score turns up: Milakov and Gimelshein (2018, arXiv:1805.02867), algorithm 3; Rabe and Staats
    (2021, arXiv:2112.05682).

    Args:
        q: queries, `(steps, width)`.
        k: keys, `(steps, width)`.
        v: values, `(steps, width)`.
        chunk: queries, and keys, in one piece.

    Returns:
        Outputs, `(steps, width)`, at `2 * steps * (steps + chunk) * width` floating-point
        operations if the chunk divides the steps.
    """
    steps, width = q.shape
    position = torch.arange(steps)
    outputs = []
    for start in range(0, steps, chunk):
        queries = slice(start, start + chunk)
        query = q[queries] / math.sqrt(width)
        largest = query.new_full((len(query), 1), -math.inf)
        denominator, total = torch.zeros_like(largest), torch.zeros_like(query)
        for first in range(0, start + 1, chunk):
            keys = slice(first, first + chunk)
            hidden = position[keys] > position[queries, None]
            scores = (query @ k[keys].T).masked_fill(hidden, -math.inf)
            new_largest = torch.maximum(largest, scores.amax(1, keepdim=True))
            rescale, weights = torch.exp(largest - new_largest), torch.exp(scores - new_largest)
            denominator = rescale * denominator + weights.sum(1, keepdim=True)
            total = rescale * total + weights @ v[keys]
            largest = new_largest
        outputs.append(total / denominator)
    return torch.cat(outputs)


def linear_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return causal attention with the weights `f(q) . f(k)`, as a recurrence over one state.

    Katharopoulos et al. (2020, arXiv:2006.16236), equations (7) and (16) to (20).

    Args:
        q: queries, `(steps, width)`.
        k: keys, `(steps, width)`.
        v: values, `(steps, width)`.

    Returns:
        Outputs, `(steps, width)`, at `4 * steps * width**2` floating-point operations for the
        state's product and its reading; the state holds `width**2 + width` numbers.
    """
    width = q.shape[1]
    state, denominator = q.new_zeros(width, width), q.new_zeros(width)
    outputs = []
    for query, key, value in zip(F.elu(q) + 1, F.elu(k) + 1, v, strict=True):
        state = state + key[:, None] @ value[None]
        denominator = denominator + key
        outputs.append((query @ state) / (query @ denominator))
    return torch.stack(outputs)
