"""Convolutions over time and n-gram windows: each position reads a fixed pattern of others.

`kernel` is K, the number of positions that one layer reads, and `dilation` their spacing. A causal
layer reads the position itself and earlier ones, a centred one as many before it as after it.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional


def kernel_mask(steps: int, kernel: int, dilation: int = 1, *, causal: bool = True) -> Tensor:
    """Return which positions a convolution reads: row i for position i.

    Args:
        steps: length of the sequence.
        kernel: positions read, at least 1.
        dilation: spacing of the positions read, at least 1.
        causal: whether the last position read is the position itself, or the middle one is.

    Returns:
        Boolean, `(steps, steps)`.

    Raises:
        ValueError: a kernel or dilation below 1, or a centred kernel of even size.
    """
    before, after = _reach(kernel, dilation, causal)
    offset = torch.arange(steps) - torch.arange(steps)[:, None]
    return (offset >= -before) & (offset <= after) & (offset % dilation == 0)


def field_size(kernel: int, dilations: Sequence[int]) -> int:
    """Return how many inputs one output of a stack can read, `1 + (K - 1) * sum of dilations`.

    Args:
        kernel: positions that each layer reads.
        dilations: one for each layer.
    """
    return 1 + (kernel - 1) * sum(dilations)


class Convolution(nn.Module):
    """One convolution over time and a tanh; the sequence keeps its length.

    With dilations 1, 2, 4, ... a stack of causal ones has the reach of WaveNet, van den Oord et
    al. (2016, arXiv:1609.03499), section 2.1, without its gates and skip connections.
    """

    def __init__(self, width: int, kernel: int, dilation: int = 1, *, causal: bool = True) -> None:
        """Draw the weights, `kernel` matrices of `(width, width)`.

        Raises:
            ValueError: a kernel or dilation below 1, or a centred kernel of even size.
        """
        super().__init__()
        self.width = width
        self.padding = _reach(kernel, dilation, causal)
        self.convolution = nn.Conv1d(width, width, kernel, dilation=dilation)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return outputs of the same shape; beyond the ends it reads zeros.

        Args:
            inputs: `(batch, steps, width)`.

        Raises:
            ValueError: `inputs` has other axes or another width.
        """
        _check(inputs, self.width)
        # torch's convolutions have time last.
        padded = functional.pad(inputs.transpose(1, 2), self.padding)
        return torch.tanh(self.convolution(padded)).transpose(1, 2)


class NGramNetwork(nn.Module):
    """Predicts from the last n - 1 inputs and nothing else.

    The neural language model of Bengio et al. (2003, jmlr.org/papers/v3/bengio03a.html), equation
    (1), without biases and without the direct connections from inputs to outputs.
    """

    def __init__(self, width: int, n: int) -> None:
        """Draw the weights of a hidden and an output layer.

        Raises:
            ValueError: `n` is below 2: there would be nothing to read.
        """
        super().__init__()
        if n < 2:
            raise ValueError(f"n: expected at least 2, got {n}")
        self.width, self.n = width, n
        self.hidden = nn.Linear((n - 1) * width, width, bias=False)
        self.output = nn.Linear(width, width, bias=False)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the prediction made at each step, `(batch, steps, width)`.

        Args:
            inputs: `(batch, steps, width)`; before the first one it reads zeros.

        Raises:
            ValueError: `inputs` has other axes or another width.
        """
        _check(inputs, self.width)
        padded = functional.pad(inputs, (0, 0, self.n - 2, 0))
        windows = padded.unfold(1, self.n - 1, 1).transpose(2, 3).flatten(2)
        return self.output(torch.tanh(self.hidden(windows)))


def _reach(kernel: int, dilation: int, causal: bool) -> tuple[int, int]:
    """How many steps before and after itself a position reads."""
    if kernel < 1 or dilation < 1:
        raise ValueError(f"kernel, dilation: expected at least 1, got {kernel}, {dilation}")
    if causal:
        return (kernel - 1) * dilation, 0
    if kernel % 2 == 0:
        raise ValueError(f"kernel: expected an odd number to have a middle, got {kernel}")
    return (kernel // 2) * dilation, (kernel // 2) * dilation


def _check(inputs: Tensor, width: int) -> None:
    if inputs.ndim != 3 or inputs.shape[2] != width:
        raise ValueError(
            f"inputs: expected the axes (batch, steps, width = {width}), "
            f"got shape {tuple(inputs.shape)}"
        )
