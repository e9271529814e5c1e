"""What a model returned, reduced to the one tensor that its outputs are in."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence


def tensor_of(raw: Any, *, time_first: bool) -> Tensor:
    """Return the first tensor of sequences in what a model returned.

    Args:
        raw: a tensor, a packed sequence, or a tuple, list or mapping that begins with one.
        time_first: the layout into which a packed sequence is unpacked.

    Raises:
        ValueError: there is none, or it holds no floating-point numbers.
    """
    found = _first(raw, time_first)
    if found is None:
        raise ValueError(
            "model: expected a tensor of outputs, or a tuple or mapping that begins with one, "
            f"got {type(raw).__name__}"
        )
    if found.is_complex():
        found = torch.view_as_real(found).flatten(-2)
    if found.ndim == 0 or not found.is_floating_point():
        raise ValueError(
            "model: expected floating-point outputs for each sequence, "
            f"got {found.dtype} of shape {tuple(found.shape)}"
        )
    return found


def _first(raw: Any, time_first: bool) -> Tensor | None:
    if isinstance(raw, PackedSequence):
        return pad_packed_sequence(raw, batch_first=not time_first)[0]
    if isinstance(raw, Tensor):
        return raw
    inner = raw.values() if isinstance(raw, Mapping) else raw
    if not isinstance(raw, Mapping | tuple | list):
        return None
    tensors = (_first(part, time_first) for part in inner)
    return next((tensor for tensor in tensors if tensor is not None), None)
