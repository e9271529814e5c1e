"""What a model returned, reduced to the one tensor that its outputs are in."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence


def tensor_of(raw: Any, *, time_first: bool) -> Tensor:
    """Return the first tensor of sequences in what a model returned.

    Args:
        raw: a tensor, a packed sequence, or a tuple, list, mapping or dataclass that holds one;
            a single number that stands before it, such as a loss, is passed over.
        time_first: the layout into which a packed sequence is unpacked.

    Raises:
        ValueError: there is none, or it holds no floating-point numbers.
    """
    tensors = list(_tensors(raw, time_first))
    found = next((tensor for tensor in tensors if tensor.ndim), None)
    if found is None:
        got = "numbers without axes" if tensors else type(raw).__name__
        raise ValueError(
            "model: expected a tensor of outputs for each sequence, or a tuple, mapping or "
            f"dataclass that holds one, got {got}; call= can pick it"
        )
    if found.is_complex():
        found = torch.view_as_real(found).flatten(-2)
    if not found.is_floating_point():
        raise ValueError(
            "model: expected floating-point outputs for each sequence, "
            f"got {found.dtype} of shape {tuple(found.shape)}; call= can pick others"
        )
    return found


def _tensors(raw: Any, time_first: bool) -> Iterator[Tensor]:
    if isinstance(raw, PackedSequence):
        yield pad_packed_sequence(raw, batch_first=not time_first)[0]
    elif isinstance(raw, Tensor):
        yield raw
    else:
        if dataclasses.is_dataclass(raw) and not isinstance(raw, Mapping | type):
            raw = [getattr(raw, field.name) for field in dataclasses.fields(raw)]
        inner = raw.values() if isinstance(raw, Mapping) else raw
        for part in inner if isinstance(raw, Mapping | tuple | list) else ():
            yield from _tensors(part, time_first)


def carried(raw: Any) -> list[Tensor]:
    """Return the tensors of the second of two things that a model returned, as its state may be.

    Args:
        raw: all that the model returned; an empty list comes of anything else.
    """
    if not isinstance(raw, tuple | list) or len(raw) != 2:
        return []
    parts = raw[1] if isinstance(raw[1], tuple | list) else [raw[1]]
    if all(isinstance(part, Tensor) and part.is_floating_point() for part in parts):
        return list(parts)
    return []
