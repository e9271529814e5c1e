"""One training loop for classifiers, which says at every step what it saw."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from onehop.clipping import clip_by_norm, gradient_length


class TrainingStep(NamedTuple):
    """What one batch showed, before the update that it caused."""

    loss: float
    """Mean cross-entropy, natural logarithm."""
    gradient: float
    """Length of the gradient of all parameters together, before clipping."""
    accuracy: float
    """Share of the batch whose right class had the highest score."""


def training_steps(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    draw: Callable[[], tuple[Tensor, Tensor]],
    clip: float | None = None,
) -> Iterator[TrainingStep]:
    """Train without end, one step each time that the next element is asked for.

    Args:
        model: from a batch of inputs to scores, `(batch, classes)`.
        optimizer: holds the parameters of `model`.
        draw: returns the next batch: inputs, and the right classes, `(batch,)`.
        clip: the length that a gradient may have at most; None leaves it as it is.

    Yields:
        What the batch showed; the model has been updated by then.

    Raises:
        FloatingPointError: a gradient that is to be clipped is not finite.
    """
    parameters = list(model.parameters())
    while True:
        inputs, labels = draw()
        scores = model(inputs)
        loss = F.cross_entropy(scores, labels)
        gradients = torch.autograd.grad(loss, parameters)
        seen = TrainingStep(
            loss.item(),
            gradient_length(gradients),
            (scores.argmax(dim=1) == labels).double().mean().item(),
        )
        if clip is not None:
            gradients = clip_by_norm(gradients, clip)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        optimizer.step()
        yield seen
