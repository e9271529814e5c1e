"""State space layers: many linear recurrences side by side, each with a pole for its memory.

A mode holds one number `h` and follows `h' = A h + B x` in continuous time. Held over a step of
length `delta`, that is `h_t = exp(delta A) h_{t-1} + ((exp(delta A) - 1) / A) B x_t`, and the
output of a feature is a sum over its modes. `exp(delta A)` is the mode's pole: what a step keeps.
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from onehop.initialisation import uniform_
from onehop.scan import blelloch

Recurrence = Callable[[Tensor, Tensor], Tensor]


def zero_order_hold(A: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
    """Return what a step of a mode keeps of its state, and what it takes of its input.

    Gu and Dao (2023, arXiv:2312.00752), equation (4), for one mode with B = 1.

    Args:
        A: rate of the mode, real or complex, not 0.
        step: length of the step, positive, of a shape that broadcasts with that of `A`.

    Returns:
        `exp(step A)` and `(exp(step A) - 1) / A`.
    """
    return torch.exp(step * A), torch.expm1(step * A) / A


def causal_convolution(inputs: Tensor, kernel: Tensor) -> Tensor:
    """Return the sum over lags k of `kernel[k] * inputs[t - k]`, by fast Fourier transform.

    Args:
        inputs: `(batch, steps, width)`.
        kernel: one filter for each feature, `(steps, width)`.

    Returns:
        `(batch, steps, width)`.
    """
    steps = inputs.shape[1]
    # Twice the length, so that the end does not wrap around to the start.
    spectrum = torch.fft.rfft(inputs, 2 * steps, dim=1) * torch.fft.rfft(kernel, 2 * steps, dim=0)
    return torch.fft.irfft(spectrum, 2 * steps, dim=1)[:, :steps]


class DiagonalSSM(nn.Module):
    """Layer whose features each have complex modes of their own, the same at every step.

    S4D of Gu et al. (2022, arXiv:2206.11893): their start S4D-Lin, `A = -1/2 + i pi n`, with steps
    spread evenly between 0.001 and 0.1 on a logarithmic scale. Real outputs come from modes in
    conjugate pairs, of which one is kept.
    """

    def __init__(self, width: int, modes: int, rng: np.random.Generator) -> None:
        """Draw step lengths, standard normal `C` and `D`; `B` is 1, since `C` can scale it.

        Args:
            width: features of input and output.
            modes: complex modes of each feature.
            rng: numpy's generator.
        """
        super().__init__()
        self.log_step = _parameter(rng.uniform(math.log(0.001), math.log(0.1), (width, 1)))
        self.log_decay = _parameter(np.full((width, modes), math.log(0.5)))
        self.frequency = _parameter(np.tile(math.pi * np.arange(modes), (width, 1)))
        self.C = _parameter(rng.standard_normal((width, modes, 2)) / math.sqrt(2))
        self.D = _parameter(rng.standard_normal(width))

    def rates(self) -> Tensor:
        """Return `A` of each mode, complex, `(width, modes)`.

        Their real part is negative whatever is learned: every pole lies inside the unit circle.
        """
        return torch.complex(-self.log_decay.exp(), self.frequency)

    def held(self) -> tuple[Tensor, Tensor]:
        """Return poles and input factors, complex, `(width, modes)` each."""
        return zero_order_hold(self.rates(), self.log_step.exp())

    def kernel(self, steps: int) -> Tensor:
        """Return the effect of an input on the output at lags 0, 1, ..., `(steps, width)`."""
        lags = torch.arange(steps)[:, None, None]
        # Quicker than powers of the poles, and the same numbers.
        powers = torch.exp(lags * self.log_step.exp() * self.rates())
        _, take = self.held()
        return self._read(take * powers)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the outputs, `(batch, steps, width)`, as one convolution.

        Args:
            inputs: `(batch, steps, width)`.

        Raises:
            ValueError: `inputs` has other axes or another width.
        """
        self._check(inputs)
        return causal_convolution(inputs, self.kernel(inputs.shape[1])) + self.D * inputs

    def recurrent(self, inputs: Tensor, recurrence: Recurrence = blelloch) -> Tensor:
        """Return the same outputs from the states, by a loop or a scan of `onehop.scan`.

        Args:
            inputs: `(batch, steps, width)`.
            recurrence: from factors and additions to states.

        Raises:
            ValueError: `inputs` has other axes or another width.
        """
        self._check(inputs)
        keep, take = self.held()
        return self._read(recurrence(keep, take * inputs[..., None])) + self.D * inputs

    def step(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        """Return the output and the next state for one more input.

        Args:
            x: `(batch, width)`.
            h: state, complex, `(batch, width, modes)`; zeros at the start.
        """
        keep, take = self.held()
        h = keep * h + take * x[..., None]
        return self._read(h) + self.D * x, h

    def _read(self, h: Tensor) -> Tensor:
        """The outputs of a pair of conjugate modes add up to twice the real part of one."""
        return 2 * (h * torch.view_as_complex(self.C)).sum(dim=-1).real

    def _check(self, inputs: Tensor) -> None:
        _check(inputs, len(self.D))


class SelectiveSSM(nn.Module):
    """Layer whose steps, inputs and readings are chosen by the input: what to keep is content.

    Gu and Dao (2023, arXiv:2312.00752), algorithm 2 with real modes at -1, -2, ... and a step
    length for each feature; without the convolution and the gate that their block puts around it.
    """

    def __init__(self, width: int, modes: int, rng: np.random.Generator) -> None:
        """Draw matrices in torch's range; steps start between 0.001 and 0.1.

        Args:
            width: features of input and output.
            modes: real modes of each feature.
            rng: numpy's generator.
        """
        super().__init__()
        self.log_rate = _parameter(np.tile(np.log(np.arange(1, modes + 1)), (width, 1)))
        self.step_length = nn.Linear(width, width)
        self.B = nn.Linear(width, modes, bias=False)
        self.C = nn.Linear(width, modes, bias=False)
        for part in (self.step_length, self.B, self.C):
            uniform_(part, width, rng)
        step = np.exp(rng.uniform(math.log(0.001), math.log(0.1), width))
        self.step_length.bias = _parameter(np.log(np.expm1(step)))  # the inverse of softplus
        self.D = _parameter(rng.standard_normal(width))

    def maps(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return what each step keeps and what it adds, `(batch, steps, width, modes)` each."""
        step = F.softplus(self.step_length(inputs))[..., None]
        keep, take = zero_order_hold(-self.log_rate.exp(), step)
        return keep, take * self.B(inputs)[:, :, None] * inputs[..., None]

    def forward(self, inputs: Tensor, recurrence: Recurrence = blelloch) -> Tensor:
        """Return the outputs, `(batch, steps, width)`, by a loop or a scan of `onehop.scan`.

        Args:
            inputs: `(batch, steps, width)`.
            recurrence: from factors and additions to states.

        Raises:
            ValueError: `inputs` has other axes or another width.
        """
        _check(inputs, len(self.D))
        states = recurrence(*self.maps(inputs))
        return (states * self.C(inputs)[:, :, None]).sum(dim=-1) + self.D * inputs


def _parameter(values: np.ndarray) -> nn.Parameter:
    return nn.Parameter(torch.from_numpy(values).to(torch.get_default_dtype()))


def _check(inputs: Tensor, width: int) -> None:
    if inputs.ndim != 3 or inputs.shape[2] != width:
        raise ValueError(
            f"inputs: expected the axes (batch, steps, width = {width}), "
            f"got shape {tuple(inputs.shape)}"
        )
