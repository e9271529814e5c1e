"""How much of a gradient arrives after so many steps, measured and predicted."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class PredictedMultiplier(NamedTuple):
    """Two predictions of the factor by which a gradient's length changes each step back."""

    singular_value: float
    """Largest singular value times the mean derivative: a common recipe, which fails."""
    mean_square: float
    """Root of width times variance of the weights times the mean squared derivative."""


def gradient_profile(
    layer: Callable[[Tensor], Tensor | tuple[Tensor, ...]], inputs: Tensor
) -> Tensor:
    """Return the length of the gradient that reaches each input from the last output.

    The quantity differentiated is the sum of the last step's output. Its gradient with respect to
    the input at one step is a vector; its norm over the features is taken in float64 (float32
    squares of numbers below 1e-22 are zero) and averaged over the batch.

    Args:
        layer: a module or function from `(batch, steps, inputs)` to `(batch, steps, width)`, or to
            a tuple that begins with that; torch's recurrent layers need `batch_first=True`.
        inputs: `(batch, steps, inputs)`.

    Returns:
        float64 on the CPU, `(steps,)`, by lag: element 0 belongs to the last step and element k to
        the input k steps before it.

    Raises:
        ValueError: `inputs` has other axes, or the layer takes time for its first axis.
    """
    if inputs.ndim != 3:
        raise ValueError(
            f"inputs: expected the axes (batch, steps, inputs), got shape {tuple(inputs.shape)}"
        )
    if not getattr(layer, "batch_first", True):
        raise ValueError("layer: expected batch_first=True, got False: it would read batch as time")
    # A copy: a leaf shared by two calls would add up their gradients.
    inputs = inputs.detach().clone().requires_grad_()
    outputs = layer(inputs)
    if isinstance(outputs, tuple):
        outputs = outputs[0]
    (gradient,) = torch.autograd.grad(outputs[:, -1].sum(), inputs)
    by_step = gradient.cpu().double().norm(dim=2).mean(dim=0)
    return by_step.flip(0)


def per_step_multiplier(profile: Tensor, lag: int) -> float:
    """Return the factor m for which `profile[lag] = profile[0] * m ** lag`.

    Args:
        profile: gradient by lag, `(steps,)`, as `gradient_profile` gives it.
        lag: how many steps back, at least 1.

    Raises:
        ValueError: the profile has no such lag.
    """
    if not 1 <= lag < len(profile):
        raise ValueError(f"lag: expected 1 to {len(profile) - 1}, got {lag}")
    return float(profile[lag] / profile[0]) ** (1 / lag)


def jacobian_product(states: Tensor, W_h: Tensor) -> Tensor:
    """Return how the last state of a tanh network depends on the first, `d h_T / d h_1`.

    The product of `diag(1 - h_t^2) W_h` over t = T, ..., 2: T states have T - 1 factors between
    them. Pascanu et al. (2013, arXiv:1211.5063), equation (5).

    Args:
        states: the states h_1 to h_T of one sequence, `(steps, width)`.
        W_h: `(width, width)`.

    Returns:
        `(width, width)`: row i holds the derivatives of the last state's element i.

    Raises:
        ValueError: the shapes do not fit each other.
    """
    if states.ndim != 2:
        raise ValueError(
            f"states: expected the axes (steps, width), got shape {tuple(states.shape)}"
        )
    width = states.shape[1]
    if W_h.shape != (width, width):
        raise ValueError(f"W_h: expected shape {(width, width)}, got {tuple(W_h.shape)}")
    product = torch.eye(width, dtype=W_h.dtype, device=W_h.device)
    for state in states[1:]:
        product = torch.diag(1 - state**2) @ W_h @ product
    return product


def predicted_multiplier(W_h: Tensor, derivative: Tensor) -> PredictedMultiplier:
    """Return two predictions of the per-step multiplier of a recurrent network's gradient.

    The largest singular value bounds the growth of one worst direction; a gradient meets that
    direction only by chance. A matrix of independent weights multiplies the squared length of a
    vector by `width * var(W)` on average, and the derivative multiplies it by its mean square: this
    is the factor chi of Schoenholz et al. (2017, arXiv:1611.01232).

    Args:
        W_h: recurrent weights, `(width, width)`.
        derivative: slopes of the activation along a run, `1 - h^2` for tanh, any shape.

    Returns:
        Both predictions, factors per step.
    """
    largest = float(torch.linalg.matrix_norm(W_h, 2))
    variance = float(W_h.var(correction=0))
    return PredictedMultiplier(
        singular_value=largest * float(derivative.mean()),
        mean_square=math.sqrt(len(W_h) * variance * float((derivative**2).mean())),
    )
