"""The latch: one sign at the first step, silence after it, and the question which sign it was."""

import numpy as np
import torch
from torch import Tensor, nn

from onehop.initialisation import uniform_


def latch_batch(batch: int, steps: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Draw sequences whose first input is 1 or -1, and whose other inputs are 0.

    The latching problem of Bengio et al. (1994, doi:10.1109/72.279181), without its noise:
    whatever is known at the end has been carried there by the recurrence alone.

    Args:
        batch: how many sequences.
        steps: length of each.
        rng: numpy's generator.

    Returns:
        Inputs, float64, `(batch, steps, 1)`, and labels, `(batch,)`: 1 where the sign is plus.
    """
    labels = rng.integers(2, size=batch)
    inputs = np.zeros((batch, steps, 1))
    inputs[:, 0, 0] = 2 * labels - 1
    return torch.from_numpy(inputs), torch.from_numpy(labels)


class LatchNetwork(nn.Module):
    """A plain recurrent network and two scores read from its last state.

    With a rectifier and a multiple of the identity for `W_h` it is the IRNN of Le et al. (2015,
    arXiv:1504.00941).
    """

    def __init__(self, W_h: Tensor, nonlinearity: str, rng: np.random.Generator) -> None:
        """Start from the recurrent matrix given, biases of 0 and torch's range for the rest.

        Args:
            W_h: `(width, width)`; all parameters get its type.
            nonlinearity: `relu` or `tanh`.
            rng: numpy's generator, for the weights of the input and of the scores.

        Raises:
            ValueError: another nonlinearity, or `W_h` is not square.
        """
        super().__init__()
        width = len(W_h)
        if W_h.shape != (width, width):
            raise ValueError(f"W_h: expected the shape (width, width), got {tuple(W_h.shape)}")
        if nonlinearity not in ("relu", "tanh"):
            raise ValueError(f"nonlinearity: expected relu or tanh, got {nonlinearity!r}")
        self.rnn = nn.RNN(1, width, nonlinearity=nonlinearity, batch_first=True, dtype=W_h.dtype)
        self.scores = nn.Linear(width, 2, dtype=W_h.dtype)
        uniform_(self, width, rng)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if "bias" in name:
                    parameter.zero_()
                elif "weight_hh" in name:
                    parameter.copy_(W_h)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the scores of minus and plus, `(batch, 2)`, for inputs `(batch, steps, 1)`."""
        return self.scores(self.last_state(inputs))

    def last_state(self, inputs: Tensor) -> Tensor:
        """Return the state after the last step, `(batch, width)`."""
        states, _ = self.rnn(inputs.to(self.scores.weight.dtype))
        return states[:, -1]
