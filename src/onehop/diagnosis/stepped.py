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
from torch.nn.utils.rnn import PackedSequence

State = tuple[Tensor, ...]
Keep = Callable[[str, Tensor], None]


def step_by_step(model: nn.Module, keep: Keep | None = None) -> nn.Module:
    """Make every nn.RNN, nn.LSTM and nn.GRU of a model run cell by cell, in place.

    Dropout between layers is left out. Packed sequences and single sequences without a batch run
    as before.

    Args:
        model: a module, or one of these layers itself.
        keep: is handed the name of each layer of a stack and its inputs, in the layout of the
            stack; a layer then waits for all of the one below.

    Returns:
        The model.
    """
    for name, layer in model.named_modules():
        if type(layer) in (nn.RNN, nn.LSTM, nn.GRU):
            layer.forward = partial(_forward, layer, name, keep)
    return model


def _forward(layer: nn.RNNBase, prefix: str, keep: Keep | None, inputs: Any, hx: Any = None) -> Any:
    if isinstance(inputs, PackedSequence) or inputs.ndim == 2:
        return type(layer).forward(layer, inputs, hx)
    time = 1 if layer.batch_first else 0
    rows = list(inputs.unbind(time))
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
            outputs, end = _direction(layer, rows, starts[name], name)
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
    layer: nn.RNNBase, rows: list[Tensor], state: State, name: str
) -> tuple[list[Tensor], State]:
    """Outputs of all steps, and the state after the last of them, of one layer in one direction."""
    backward = name.endswith("_reverse")
    outputs = []
    for x in reversed(rows) if backward else rows:
        state = _cell(layer, x, state, name)
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
