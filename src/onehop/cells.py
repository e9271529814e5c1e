"""The three recurrent cells, one step each, written from their equations.

Parameters have torch's names, shapes and gate order, so that
`LSTMCell(3, 4).load_state_dict(torch.nn.LSTMCell(3, 4).state_dict())` works.
"""

import math
from typing import ClassVar

import torch
from torch import Tensor, nn

from onehop.counting import GATES


def parameter_count(kind: str, inputs: int, width: int, *, biases: int) -> int:
    """Return how many numbers a recurrent cell learns.

    Args:
        kind: `rnn`, `gru` or `lstm`.
        inputs: width of the input.
        width: width of the state.
        biases: bias vectors per gate: 1 in the papers, 2 in torch, where only the sum matters
            (except in the GRU, whose second bias of the candidate lies behind the reset gate).

    Returns:
        Weights and biases together.

    Raises:
        ValueError: an unknown kind, or a number of biases other than 1 and 2.
    """
    if kind not in GATES:
        raise ValueError(f"kind: expected one of {', '.join(GATES)}, got {kind!r}")
    if biases not in (1, 2):
        raise ValueError(f"biases: expected 1 or 2, got {biases}")
    return GATES[kind] * (width * inputs + width * width + biases * width)


class _Cell(nn.Module):
    """Weights of a cell: the gates' blocks of rows stand under one another, in the order named."""

    kind: ClassVar[str]

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.inputs, self.width = inputs, width
        rows, bound = GATES[self.kind] * width, 1 / math.sqrt(width)
        self.weight_ih = nn.Parameter(torch.empty(rows, inputs).uniform_(-bound, bound))
        self.weight_hh = nn.Parameter(torch.empty(rows, width).uniform_(-bound, bound))
        self.bias_ih = nn.Parameter(torch.empty(rows).uniform_(-bound, bound))
        self.bias_hh = nn.Parameter(torch.empty(rows).uniform_(-bound, bound))

    def _from_input(self, x: Tensor) -> Tensor:
        _check("x", x, ("batch", "inputs"), self.inputs)
        return x @ self.weight_ih.T + self.bias_ih

    def _from_state(self, h: Tensor) -> Tensor:
        _check("h", h, ("batch", "width"), self.width)
        return h @ self.weight_hh.T + self.bias_hh


class RNNCell(_Cell):
    """One step of the plain recurrent network, `h' = tanh(W x + U h + b)`.

    Elman (1990, doi:10.1207/s15516709cog1402_1); the paper numbers no equations.
    """

    kind = "rnn"

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        """Return the next state, `(batch, width)`, from `x` `(batch, inputs)` and `h`.

        Raises:
            ValueError: `x` or `h` has other axes or another width.
        """
        return torch.tanh(self._from_input(x) + self._from_state(h))


class LSTMCell(_Cell):
    """One step of the long short-term memory, gates in the order input, forget, candidate, output.

    Hochreiter and Schmidhuber (1997, doi:10.1162/neco.1997.9.8.1735) with the forget gate of Gers
    et al. (2000, doi:10.1162/089976600300015015); equations (7) to (11) of Graves (2013,
    arXiv:1308.0850) without their peephole terms.
    """

    kind = "lstm"

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Return the next state and cell state, `(batch, width)` each.

        Args:
            x: the input of this step, `(batch, inputs)`.
            h: the state before it, `(batch, width)`.
            c: the cell state before it, `(batch, width)`.

        Raises:
            ValueError: `x`, `h` or `c` has other axes or another width.
        """
        _check("c", c, ("batch", "width"), self.width)
        i, f, g, o = (self._from_input(x) + self._from_state(h)).chunk(4, dim=1)
        input_gate, forget_gate, output_gate = i.sigmoid(), f.sigmoid(), o.sigmoid()
        candidate = g.tanh()
        c = forget_gate * c + input_gate * candidate
        h = output_gate * torch.tanh(c)
        return h, c


class GRUCell(_Cell):
    """One step of the gated recurrent unit, gates in the order reset, update, candidate.

    Cho et al. (2014, arXiv:1406.1078), equations (5) to (8), except that the reset gate acts on
    `U h + b` and not on `h`: torch does so, since one product then serves all three gates.
    """

    kind = "gru"

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        """Return the next state, `(batch, width)`, from `x` `(batch, inputs)` and `h`.

        Raises:
            ValueError: `x` or `h` has other axes or another width.
        """
        r_x, z_x, n_x = self._from_input(x).chunk(3, dim=1)
        r_h, z_h, n_h = self._from_state(h).chunk(3, dim=1)
        reset_gate, update_gate = (r_x + r_h).sigmoid(), (z_x + z_h).sigmoid()
        candidate = torch.tanh(n_x + reset_gate * n_h)
        return (1 - update_gate) * candidate + update_gate * h


def _check(name: str, tensor: Tensor, axes: tuple[str, str], width: int) -> None:
    if tensor.ndim != 2 or tensor.shape[1] != width:
        expected = f"({axes[0]}, {axes[1]} = {width})"
        raise ValueError(f"{name}: expected the axes {expected}, got shape {tuple(tensor.shape)}")
