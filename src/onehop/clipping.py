"""Gradient clipping: a step in the same direction, of bounded length."""

import math
from collections.abc import Iterable

import torch
from torch import Tensor


def gradient_length(gradients: Iterable[Tensor]) -> float:
    """Return the Euclidean length of all gradients together, as if they were one vector.

    The squares are added up in float64: in float32 they overflow from elements of 2e19 on, long
    before the elements do.

    Args:
        gradients: one tensor for each parameter, of any shape.

    Returns:
        The length, nan or inf if any element is.
    """
    return math.sqrt(sum(gradient.double().square().sum().item() for gradient in gradients))


def clip_by_norm(gradients: Iterable[Tensor], limit: float) -> list[Tensor]:
    """Return the gradients times `min(1, limit / length)`, with one length for all of them.

    Algorithm 1 of Pascanu et al. (2013, arXiv:1211.5063).

    Args:
        gradients: one tensor for each parameter, of any shape.
        limit: the length that a gradient may have at most, above 0.

    Returns:
        New tensors of the same shapes: the same direction, and no longer than `limit`.

    Raises:
        ValueError: `limit` is not positive.
        FloatingPointError: the length is not finite, so that no factor gives a direction.
    """
    if not limit > 0:
        raise ValueError(f"limit: expected a number above 0, got {limit}")
    gradients = list(gradients)
    length = gradient_length(gradients)
    if not math.isfinite(length):
        raise FloatingPointError(f"gradients: expected a finite length, got {length}")
    factor = min(1.0, limit / length) if length else 1.0
    return [factor * gradient for gradient in gradients]


def clip_by_value(gradients: Iterable[Tensor], limit: float) -> list[Tensor]:
    """Return the gradients with every element moved into `[-limit, limit]` by itself.

    Elements above the limit lose more than those below it, so that the direction changes.

    Args:
        gradients: one tensor for each parameter, of any shape.
        limit: the size that an element may have at most, above 0.

    Returns:
        New tensors of the same shapes, together no longer than `limit` times the root of the number
        of their elements.

    Raises:
        ValueError: `limit` is not positive.
    """
    if not limit > 0:
        raise ValueError(f"limit: expected a number above 0, got {limit}")
    return [gradient.clamp(-limit, limit) for gradient in gradients]


def cosine(first: Iterable[Tensor], second: Iterable[Tensor]) -> float:
    """Return the cosine of the angle between two sets of gradients, each taken as one vector.

    Args:
        first: one tensor for each parameter.
        second: tensors of the same shapes in the same order.

    Returns:
        1 for the same direction, 0 for a right angle.
    """
    a, b = (torch.cat([part.double().flatten() for part in parts]) for parts in (first, second))
    return float(a @ b / (a.norm() * b.norm()))
