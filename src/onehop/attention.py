"""Attention from its equations: scores, a mask, weights that sum to one, a weighted sum.

A mask is boolean and **True keeps**, as in torch's `scaled_dot_product_attention`
(`torch.nn.MultiheadAttention` has it the other way round: there True hides).
"""

import math

import torch
from torch import Tensor, nn


def softmax_weights(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return weights over the last axis: positive, and of sum one.

    A hidden score becomes minus infinity before the exponential, so that its weight is exactly 0.
    Bahdanau et al. (2015, arXiv:1409.0473), equation (6).

    Args:
        scores: `(..., keys)`.
        mask: True where a key may be read, of a shape that broadcasts to `scores`.

    Returns:
        `(..., keys)`. A row in which nothing may be read is all zeros, as in torch's
        `scaled_dot_product_attention`; a softmax of minus infinities alone would be nan.

    Raises:
        ValueError: the mask is not boolean.
    """
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    elif mask.dtype != torch.bool:
        raise ValueError(f"mask: expected booleans (True keeps), got {mask.dtype}")
    scores = scores.masked_fill(~mask, -math.inf)
    # Subtracting the largest score changes no weight and keeps exp from overflowing.
    exponentials = torch.exp(scores - scores.detach().amax(dim=-1, keepdim=True))
    weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    return torch.where(mask.any(dim=-1, keepdim=True), weights, 0.0)


def causal_mask(steps: int) -> Tensor:
    """Return the mask that shows each step itself and the past: True on and below the diagonal.

    Args:
        steps: length of the sequence.

    Returns:
        Boolean, `(steps, steps)`: row i says what query i may read.
    """
    return torch.ones(steps, steps, dtype=torch.bool).tril()


def scaled_dot_product(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return `softmax(q k^T / sqrt(width)) v` and the weights.

    The width is that of one head: it makes the scores of unit normal queries and keys have unit
    standard deviation. Vaswani et al. (2017, arXiv:1706.03762), equation (1).

    Args:
        q: queries, `(..., queries, width)`.
        k: keys, `(..., keys, width)`.
        v: values, `(..., keys, value_width)`.
        mask: True where a query may read a key, broadcast to `(..., queries, keys)`.

    Returns:
        The output, `(..., queries, value_width)`, and the weights, `(..., queries, keys)`. A query
        that may read nothing has weights and output 0.

    Raises:
        ValueError: the shapes do not fit each other, or the mask is not boolean.
    """
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"k: expected the queries' width {q.shape[-1]}, got {k.shape[-1]}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"v: expected one value per key, {k.shape[-2]}, got {v.shape[-2]}")
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = softmax_weights(scores, mask)
    return weights @ v, weights


def additive_scores(query: Tensor, keys: Tensor, W: Tensor, U: Tensor, v: Tensor) -> Tensor:
    """Return the score `v . tanh(W query + U key)` of every key.

    Bahdanau et al. (2015, arXiv:1409.0473), the alignment model of appendix A.1.2 (not numbered).

    Args:
        query: `(batch, query_width)`.
        keys: `(batch, steps, key_width)`.
        W: `(width, query_width)`.
        U: `(width, key_width)`.
        v: `(width,)`.

    Returns:
        Scores, `(batch, steps)`.

    Raises:
        ValueError: `query` or `keys` has other axes.
    """
    if query.ndim != 2 or query.shape[1] != W.shape[1]:
        raise ValueError(
            f"query: expected the axes (batch, query_width = {W.shape[1]}), "
            f"got shape {tuple(query.shape)}"
        )
    if keys.ndim != 3 or keys.shape[0] != len(query) or keys.shape[2] != U.shape[1]:
        raise ValueError(
            f"keys: expected the axes (batch = {len(query)}, steps, key_width = {U.shape[1]}), "
            f"got shape {tuple(keys.shape)}"
        )
    return torch.tanh((query @ W.T)[:, None] + keys @ U.T) @ v


def additive_attention(
    query: Tensor, keys: Tensor, W: Tensor, U: Tensor, v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the context, the mean of the keys weighted by their additive scores, and the weights.

    Bahdanau et al. (2015, arXiv:1409.0473), equations (5) and (6).

    Args:
        query: `(batch, query_width)`.
        keys: `(batch, steps, key_width)`.
        W: `(width, query_width)`.
        U: `(width, key_width)`.
        v: `(width,)`.
        mask: True where a key may be read, `(batch, steps)`.

    Returns:
        The context, `(batch, key_width)`, and the weights, `(batch, steps)`.

    Raises:
        ValueError: `query` or `keys` has other axes, or the mask is not boolean.
    """
    weights = softmax_weights(additive_scores(query, keys, W, U, v), mask)
    return torch.einsum("bt,btw->bw", weights, keys), weights


class MultiHeadSelfAttention(nn.Module):
    """Self-attention with several heads, each `width / heads` wide, without biases.

    Vaswani et al. (2017, arXiv:1706.03762), section 3.2.2 (not numbered).
    """

    def __init__(self, width: int, heads: int) -> None:
        """Draw four `(width, width)` matrices.

        Raises:
            ValueError: `width` is not a multiple of `heads`.
        """
        super().__init__()
        if width % heads:
            raise ValueError(f"width: expected a multiple of {heads} heads, got {width}")
        self.width, self.heads = width, heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width, bias=False)

    def forward(self, inputs: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the outputs and the weights of every head.

        Args:
            inputs: `(batch, steps, width)`.
            mask: True where a query may read a key, `(steps, steps)` for the whole batch.

        Returns:
            Outputs, `(batch, steps, width)`, and weights, `(batch, heads, steps, steps)`.

        Raises:
            ValueError: `inputs` has other axes or another width, or the mask is not boolean.
        """
        if inputs.ndim != 3 or inputs.shape[2] != self.width:
            raise ValueError(
                f"inputs: expected the axes (batch, steps, width = {self.width}), "
                f"got shape {tuple(inputs.shape)}"
            )
        q, k, v = (self._split(part(inputs)) for part in (self.query, self.key, self.value))
        mixed, weights = scaled_dot_product(q, k, v, mask)
        return self.output(mixed.transpose(1, 2).flatten(2)), weights

    def _split(self, x: Tensor) -> Tensor:
        """Give each head its own features: `(batch, heads, steps, width / heads)`."""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)
