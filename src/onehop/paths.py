"""Paths between positions: how many edges a signal crosses, and by how many routes it can go.

A layer is described by its mask, boolean and `(steps, steps)`: True in row i and column j where
position i reads position j. That is the convention of the masks in `onehop.attention`, so the
mask of an attention layer is its own description. Positions count from 0.
"""

from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import TypeVar

import torch
from torch import Tensor

Place = TypeVar("Place", bound=Hashable)
Graph = Mapping[Place, Sequence[Place]]
"""The places that read each place. A signal travels from a place to one that reads it."""


def readers(mask: Tensor) -> dict[int, list[int]]:
    """Return the graph of one layer that is applied again and again: an edge is one application.

    Args:
        mask: True where a position reads another, `(steps, steps)`.

    Raises:
        ValueError: the mask is not a square of booleans.
    """
    if mask.dtype != torch.bool or mask.ndim != 2 or len(mask) != mask.shape[1]:
        raise ValueError(
            f"mask: expected booleans, (steps, steps), got {mask.dtype}, {tuple(mask.shape)}"
        )
    return {position: column.nonzero().flatten().tolist() for position, column in enumerate(mask.T)}


def stacked(masks: Sequence[Tensor]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Return the graph of layers on top of one another; its places are (layer, position).

    Layer 0 is the input, and layer i + 1 reads layer i through mask i.

    Args:
        masks: one `(steps, steps)` mask for each layer.

    Raises:
        ValueError: a mask is not a square of booleans.
    """
    return {
        (layer, position): [(layer + 1, reader) for reader in reading]
        for layer, mask in enumerate(masks)
        for position, reading in readers(mask).items()
    }


def distances(graph: Graph[Place], start: Place) -> dict[Place, int]:
    """Return the number of edges on the shortest path from `start` to every place it can reach.

    Breadth-first search; a place that is missing from the result cannot be reached.
    """
    edges = {start: 0}
    waiting = deque([start])
    while waiting:
        place = waiting.popleft()
        for reader in graph.get(place, ()):
            if reader not in edges:
                edges[reader] = edges[place] + 1
                waiting.append(reader)
    return edges


def path_counts(graph: Graph[Place], start: Place) -> Counter[Place]:
    """Return by how many different routes a signal from `start` reaches every place.

    A place that cannot be reached has 0.

    Raises:
        graphlib.CycleError: the graph has a cycle, and so endlessly many routes. It is a
            `ValueError`.
    """
    routes: Counter[Place] = Counter({start: 1})
    # The sorter puts the values of its mapping first; here those are the places that read.
    for place in reversed([*TopologicalSorter(graph).static_order()]):
        for reader in graph.get(place, ()):
            routes[reader] += routes[place]
    return routes


def receptive_field(
    layer: Callable[[Tensor], Tensor | tuple[Tensor, ...]], inputs: Tensor, step: int = -1
) -> Tensor:
    """Return which inputs can change one output, measured by its gradient.

    The sum of the output at `step` is differentiated; an input is read where the gradient is not
    exactly zero. In float64 and at random weights a gradient is zero only where no path leads.

    Args:
        layer: a module or function from `(batch, steps, inputs)` to `(batch, steps, width)`, or to
            a tuple that begins with that.
        inputs: `(batch, steps, inputs)`.
        step: the output's position; the last one if not given.

    Returns:
        Boolean, `(steps,)`: one row of the layer's mask.

    Raises:
        ValueError: `inputs` has other axes.
    """
    if inputs.ndim != 3:
        raise ValueError(
            f"inputs: expected the axes (batch, steps, inputs), got shape {tuple(inputs.shape)}"
        )
    inputs = inputs.detach().clone().requires_grad_()
    outputs = layer(inputs)
    if isinstance(outputs, tuple):
        outputs = outputs[0]
    (gradient,) = torch.autograd.grad(outputs[:, step].sum(), inputs)
    return (gradient != 0).any(dim=2).any(dim=0)
