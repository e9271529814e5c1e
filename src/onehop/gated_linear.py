"""Gates that kept their form and lost their loop: gated linear units, layers without a state."""

import numpy as np
import torch
from torch import Tensor, nn

from onehop.initialisation import uniform_


def glu(x: Tensor, W: Tensor, V: Tensor) -> Tensor:
    """Return `(W x) * sigmoid(V x)`: a linear map, and a gate that decides how much of it passes.

    Dauphin et al. (2017, arXiv:1612.08083), equation (1), without biases and for one position.

    Args:
        x: `(..., width)`.
        W: `(outputs, width)`.
        V: of the same shape.

    Returns:
        `(..., outputs)`.
    """
    return (x @ W.T) * torch.sigmoid(x @ V.T)


def swiglu(x: Tensor, W: Tensor, V: Tensor) -> Tensor:
    """Return `swish(W x) * (V x)`, with `swish(z) = z sigmoid(z)`.

    Shazeer (2020, arXiv:2002.05202), equation (5), without biases.

    Args:
        x: `(..., width)`.
        W: `(outputs, width)`.
        V: of the same shape.

    Returns:
        `(..., outputs)`.
    """
    z = x @ W.T
    return z * torch.sigmoid(z) * (x @ V.T)


class SwiGLU(nn.Module):
    """A transformer's feed-forward layer with a gate: three matrices in place of two.

    Shazeer (2020, arXiv:2002.05202), equation (6). At `hidden = 8/3 width` it has the `8 width^2`
    weights of the layer that goes to four times the width and back.
    """

    def __init__(self, width: int, hidden: int, rng: np.random.Generator) -> None:
        """Draw the matrices in torch's range.

        Args:
            width: features of input and output.
            hidden: features between.
            rng: numpy's generator.
        """
        super().__init__()
        self.W = nn.Linear(width, hidden, bias=False)
        self.V = nn.Linear(width, hidden, bias=False)
        self.contract = nn.Linear(hidden, width, bias=False)
        for part, inputs in ((self.W, width), (self.V, width), (self.contract, hidden)):
            uniform_(part, inputs, rng)

    def forward(self, x: Tensor) -> Tensor:
        """Return outputs of the shape of `x`, `(..., width)`."""
        return self.contract(swiglu(x, self.W.weight, self.V.weight))
