"""The plain recurrent network in numpy: one state, one loop."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


def rnn_step(x: Array, h: Array, W_x: Array, W_h: Array, b: Array) -> Array:
    """Return the next state, `tanh(W_x x + W_h h + b)`.

    The simple recurrent network of Elman (1990, doi:10.1207/s15516709cog1402_1), which numbers no
    equations, with the tanh of Pascanu et al. (2013, arXiv:1211.5063).

    Args:
        x: the input of this step, `(inputs,)`.
        h: the state before it, `(width,)`.
        W_x: `(width, inputs)`.
        W_h: `(width, width)`.
        b: `(width,)`.

    Returns:
        The state after it, `(width,)`.
    """
    return np.tanh(W_x @ x + W_h @ h + b)


def rnn(inputs: Array, W_x: Array, W_h: Array, b: Array) -> Array:
    """Return the state after every step, starting from a state of zeros.

    Args:
        inputs: one sequence, `(steps, inputs)`.
        W_x: `(width, inputs)`.
        W_h: `(width, width)`.
        b: `(width,)`.

    Returns:
        The states, `(steps, width)`; the last row is all that is kept of the sequence.

    Raises:
        ValueError: the shapes do not fit each other.
    """
    width = len(b)
    if inputs.ndim != 2:
        raise ValueError(f"inputs: expected the axes (steps, inputs), got shape {inputs.shape}")
    if W_x.shape != (width, inputs.shape[1]):
        raise ValueError(f"W_x: expected shape {(width, inputs.shape[1])}, got {W_x.shape}")
    if W_h.shape != (width, width):
        raise ValueError(f"W_h: expected shape {(width, width)}, got {W_h.shape}")
    h = np.zeros(width)
    states = []
    for x in inputs:
        h = rnn_step(x, h, W_x, W_h, b)
        states.append(h)
    return np.stack(states)
