"""Starting weights of recurrent layers, and how to change them in place."""

import math

import numpy as np
import torch
from torch import Tensor, nn


@torch.no_grad()
def uniform_(module: nn.Module, width: int, rng: np.random.Generator) -> None:
    """Redraw every parameter from U(-1/sqrt(width), 1/sqrt(width)), in place.

    These are torch's own starting values of recurrent layers, and of linear layers with `width`
    inputs, drawn by numpy: its generator gives the same numbers on every processor.

    Args:
        module: the layer; parameters are filled in the order of `module.parameters()`.
        width: width of the state.
        rng: numpy's generator.
    """
    bound = 1 / math.sqrt(width)
    for parameter in module.parameters():
        parameter.copy_(torch.from_numpy(rng.uniform(-bound, bound, tuple(parameter.shape))))


@torch.no_grad()
def orthogonal_(W: Tensor) -> Tensor:
    """Replace a square matrix by the nearest orthogonal one, in place: `U V^T` of its `U S V^T`.

    All singular values become 1, so that a linear recurrence keeps every length. Orthogonal starts
    are due to Saxe et al. (2014, arXiv:1312.6120).

    Args:
        W: `(width, width)`.

    Returns:
        `W` itself.

    Raises:
        ValueError: `W` is not square.
    """
    _check_square(W)
    U, _, V_transposed = torch.linalg.svd(W)
    return W.copy_(U @ V_transposed)


@torch.no_grad()
def scale_spectral_radius(W: Tensor, radius: float) -> Tensor:
    """Scale a square matrix in place so that its largest eigenvalue has the modulus `radius`.

    Args:
        W: `(width, width)`.
        radius: the modulus wanted.

    Returns:
        `W` itself.

    Raises:
        ValueError: `W` is not square.
    """
    _check_square(W)
    return W.mul_(radius / torch.linalg.eigvals(W).abs().max())


@torch.no_grad()
def set_forget_bias(lstm: nn.LSTM | nn.LSTMCell, bias: float) -> None:
    """Set the forget gate's bias of every layer of an LSTM, in place.

    torch adds two bias vectors: the forget part of one becomes `bias`, that of the other 0.
    Jozefowicz et al. (2015, proceedings.mlr.press/v37/jozefowicz15) propose a bias of 1.

    Args:
        lstm: torch's layer or cell; its gates lie in the order input, forget, candidate, output.
        bias: the value wanted; the gate starts near `sigmoid(bias)`.
    """
    width = lstm.hidden_size
    for name, parameter in lstm.named_parameters():
        if name.startswith("bias_ih"):
            parameter[width : 2 * width] = bias
        elif name.startswith("bias_hh"):
            parameter[width : 2 * width] = 0.0


def _check_square(W: Tensor) -> None:
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise ValueError(f"W: expected the shape (width, width), got {tuple(W.shape)}")
