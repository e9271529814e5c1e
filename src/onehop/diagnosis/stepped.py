"""torch's recurrent layers, cell by cell: as their equations need them, not as a kernel runs them.

A fused kernel is one operator and shows no chain, and an unfused one multiplies the inputs of all
steps first, so that a layer waits for the whole layer below. Here a cell waits for the step before
it and for the cell below it, and for nothing else.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.parametrize import is_parametrized
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

_FORWARDS = (nn.RNN.forward, nn.LSTM.forward, nn.GRU.forward)
State = tuple[Tensor, ...]
Keep = Callable[[str, Tensor], None]


def step_by_step(model: nn.Module, keep: Keep | None = None) -> nn.Module:
    """Make every nn.RNN, nn.LSTM and nn.GRU of a model run cell by cell, in place.

    Dropout between layers is left out. A single sequence without a batch, a layer whose weights are
    computed anew, and a class with a way of its own run as before.

    Args:
        model: a module, or one of these layers itself.
        keep: is handed the name of each layer of a stack and its inputs, in the layout of the
            stack; a layer then waits for all of the one below.

    Returns:
        The model.
    """
    for name, layer in model.named_modules():
        if not isinstance(layer, nn.RNNBase) or is_parametrized(layer):
            continue
        if type(layer).forward in _FORWARDS:
            layer.forward = partial(_forward, layer, name, keep)
    return model


def _forward(layer: nn.RNNBase, prefix: str, keep: Keep | None, inputs: Any, hx: Any = None) -> Any:
    if isinstance(inputs, PackedSequence):
        return _packed(layer, prefix, keep, inputs, hx)
    if inputs.ndim == 2:
        return type(layer).forward(layer, inputs, hx)
    return _padded(layer, prefix, keep, inputs, hx, None)


def _packed(
    layer: nn.RNNBase, prefix: str, keep: Keep | None, inputs: PackedSequence, hx: Any
) -> tuple[PackedSequence, Any]:
    """The same for packed sequences: padded, run, and packed in the order they came in."""
    padded, lengths = pad_packed_sequence(inputs, batch_first=layer.batch_first)
    outputs, last = _padded(layer, prefix, keep, padded, hx, lengths.to(padded.device))
    if inputs.sorted_indices is not None:
        order = inputs.sorted_indices
        outputs = outputs.index_select(0 if layer.batch_first else 1, order)
        lengths = lengths[order.cpu()]
    data = pack_padded_sequence(outputs, lengths, layer.batch_first).data
    ends = inputs.batch_sizes, inputs.sorted_indices, inputs.unsorted_indices
    return PackedSequence(data, *ends), last


def _padded(
    layer: nn.RNNBase,
    prefix: str,
    keep: Keep | None,
    inputs: Tensor,
    hx: Any,
    lengths: Tensor | None,
) -> tuple[Tensor, Any]:
    time = 1 if layer.batch_first else 0
    rows = list(inputs.unbind(time))
    runs: list[Tensor | None] = [None] * len(rows)
    if lengths is not None and (lengths < len(rows)).any():
        runs = [(lengths > step)[:, None] for step in range(len(rows))]
    directions = ("", "_reverse") if layer.bidirectional else ("",)
    names = [
        f"l{number}{direction}" for number in range(layer.num_layers) for direction in directions
    ]
    starts = dict(zip(names, _starts(layer, rows[0], hx, len(names)), strict=True))
    ends: list[State] = []
    for number in range(layer.num_layers):
        if keep is not None:
            joined = torch.stack(rows, time)
            keep(f"{prefix} layer {number}".strip(), joined)
            rows = list(joined.unbind(time))
        of_directions = []
        for direction in directions:
            name = f"l{number}{direction}"
            outputs, end = _direction(layer, rows, runs, starts[name], name)
            of_directions.append(outputs)
            ends.append(end)
        rows = [torch.cat(both, -1) for both in zip(*of_directions, strict=True)]
    last = tuple(torch.stack(parts) for parts in zip(*ends, strict=True))
    return torch.stack(rows, time), last if layer.mode == "LSTM" else last[0]


def _starts(layer: nn.RNNBase, x: Tensor, hx: Any, count: int) -> list[State]:
    """The state of each layer and direction before its first step."""
    if hx is None:
        h = x.new_zeros(len(x), layer.proj_size or layer.hidden_size)
        c = x.new_zeros(len(x), layer.hidden_size)
        return [(h, c) if layer.mode == "LSTM" else (h,)] * count
    given = hx if isinstance(hx, tuple) else (hx,)
    return list(zip(*(part.unbind(0) for part in given), strict=True))


def _direction(
    layer: nn.RNNBase, rows: list[Tensor], runs: list[Tensor | None], state: State, name: str
) -> tuple[list[Tensor], State]:
    """Outputs of all steps, and the state after the last of them, of one layer in one direction.

    Where a step lies beyond the end of some sequences, they keep their state.
    """
    backward = name.endswith("_reverse")
    outputs = []
    steps = list(zip(rows, runs, strict=True))
    for x, run in reversed(steps) if backward else steps:
        new = _cell(layer, x, state, name)
        if run is not None:
            new = tuple(torch.where(run, *parts) for parts in zip(new, state, strict=True))
        state = new
        outputs.append(state[0])
    return outputs[::-1] if backward else outputs, state


def _cell(layer: nn.RNNBase, x: Tensor, state: State, name: str) -> State:
    """One step, with torch's order of gates and its two biases."""
    b_x, b_h = (
        getattr(layer, f"bias_{part}_{name}") if layer.bias else None for part in ("ih", "hh")
    )
    of_x = F.linear(x, getattr(layer, f"weight_ih_{name}"), b_x)
    of_h = F.linear(state[0], getattr(layer, f"weight_hh_{name}"), b_h)
    if layer.mode == "LSTM":
        i, f, g, o = (of_x + of_h).chunk(4, -1)
        c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return F.linear(h, getattr(layer, f"weight_hr_{name}")) if layer.proj_size else h, c
    if layer.mode == "GRU":
        (x_r, x_z, x_n), (h_r, h_z, h_n) = of_x.chunk(3, -1), of_h.chunk(3, -1)
        z = torch.sigmoid(x_z + h_z)
        n = torch.tanh(x_n + torch.sigmoid(x_r + h_r) * h_n)
        return ((1 - z) * n + z * state[0],)
    activate = torch.tanh if layer.mode == "RNN_TANH" else torch.relu
    return (activate(of_x + of_h),)
