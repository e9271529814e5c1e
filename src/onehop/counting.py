"""The work of a layer in floating-point operations (FLOPs), by formula.

One multiply-add is two FLOPs. Only matrix products are counted, as torch's `FlopCounterMode` does:
additions of biases, `tanh` and `softmax` grow with a lower power of the width.
`steps` is T and `width` is d; inputs are as wide as the states.
"""

from bisect import bisect_right
from collections.abc import Callable

FLOPS_PER_MULTIPLY_ADD = 2

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
"""Blocks of rows in the weight matrices of each recurrent cell."""


def product_flops(rows: int, inner: int, columns: int) -> int:
    """Return the FLOPs of a `(rows, inner)` by `(inner, columns)` matrix product."""
    return FLOPS_PER_MULTIPLY_ADD * rows * inner * columns


def recurrent_parts(kind: str, steps: int, width: int, batch: int = 1) -> dict[str, int]:
    """Return the FLOPs of the two products of a recurrent layer, forward.

    Args:
        kind: `rnn`, `gru` or `lstm`.
        steps: length of the sequence.
        width: width of inputs and states.
        batch: number of sequences.

    Returns:
        FLOPs by part: `input product` (all steps can share one) and `recurrent product` (one after
        the other).

    Raises:
        ValueError: `kind` is unknown.
    """
    if kind not in GATES:
        raise ValueError(f"kind: expected one of {', '.join(GATES)}, got {kind!r}")
    one_product = product_flops(batch * steps, width, GATES[kind] * width)
    return {"input product": one_product, "recurrent product": one_product}


def attention_parts(steps: int, width: int, batch: int = 1) -> dict[str, int]:
    """Return the FLOPs of a self-attention layer, forward; the number of heads does not matter.

    The layer of Vaswani et al. (2017, arXiv:1706.03762), equation (1) and section 3.2.2. A causal
    mask is not subtracted: a kernel that skips the hidden half does half the scores and the mix.

    Args:
        steps: length of the sequence.
        width: width of the model (all heads together).
        batch: number of sequences.

    Returns:
        FLOPs by part: `projections` (query, key, value, output), `scores` (queries with keys) and
        `mix` (weights with values).
    """
    return {
        "projections": 4 * product_flops(batch * steps, width, width),
        "scores": batch * product_flops(steps, width, steps),
        "mix": batch * product_flops(steps, steps, width),
    }


def feed_forward_parts(steps: int, width: int, batch: int = 1) -> dict[str, int]:
    """Return the FLOPs of a block's feed-forward layer, forward: width to 4 times width and back.

    Vaswani et al. (2017, arXiv:1706.03762), equation (2).

    Args:
        steps: length of the sequence.
        width: width of the model.
        batch: number of sequences.

    Returns:
        FLOPs by part: `expand` and `contract`.
    """
    return {
        "expand": product_flops(batch * steps, width, 4 * width),
        "contract": product_flops(batch * steps, 4 * width, width),
    }


def convolution_flops(steps: int, width: int, kernel: int, batch: int = 1) -> int:
    """Return the FLOPs of a convolution over time, forward: `2 K T d^2` a sequence.

    Args:
        steps: length of the sequence; padding keeps it.
        width: width of inputs and outputs.
        kernel: how many neighbouring steps each output reads, K.
        batch: number of sequences.
    """
    return product_flops(batch * steps, kernel * width, width)


def rnn_flops(steps: int, width: int, batch: int = 1) -> int:
    """Return the FLOPs of a plain recurrent layer, forward: `4 T d^2` a sequence."""
    return sum(recurrent_parts("rnn", steps, width, batch).values())


def gru_flops(steps: int, width: int, batch: int = 1) -> int:
    """Return the FLOPs of a GRU layer, forward: `12 T d^2` a sequence."""
    return sum(recurrent_parts("gru", steps, width, batch).values())


def lstm_flops(steps: int, width: int, batch: int = 1) -> int:
    """Return the FLOPs of an LSTM layer, forward: `16 T d^2` a sequence."""
    return sum(recurrent_parts("lstm", steps, width, batch).values())


def attention_core_flops(steps: int, width: int, batch: int = 1) -> int:
    """Return the FLOPs of scores and mix without projections: `4 T^2 d` a sequence."""
    parts = attention_parts(steps, width, batch)
    return parts["scores"] + parts["mix"]


def attention_flops(steps: int, width: int, batch: int = 1) -> int:
    """Return the FLOPs of a whole self-attention layer: `8 T d^2 + 4 T^2 d` a sequence."""
    return sum(attention_parts(steps, width, batch).values())


def feed_forward_flops(steps: int, width: int, batch: int = 1) -> int:
    """Return the FLOPs of a feed-forward layer, forward: `16 T d^2` a sequence."""
    return sum(feed_forward_parts(steps, width, batch).values())


def block_flops(steps: int, width: int, batch: int = 1) -> int:
    """Return the FLOPs of a transformer block, forward: `24 T d^2 + 4 T^2 d` a sequence."""
    return attention_flops(steps, width, batch) + feed_forward_flops(steps, width, batch)


def crossover(
    attention: Callable[[int, int], float], other: Callable[[int, int], float], width: int
) -> int:
    """Return the largest number of steps at which `attention` costs no more than `other`.

    Args:
        attention: cost as a function of steps and width; a multiple of T plus a multiple of T^2.
        other: the same, but in proportion to T, as recurrence is.
        width: width of both.

    Returns:
        The length, below a billion; 0 if `attention` costs more at every length.
    """
    return bisect_right(
        range(1, 1_000_000_000),
        0,
        key=lambda steps: attention(steps, width) - other(steps, width),
    )
