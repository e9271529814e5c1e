"""Which trainings a process made, so that a book can show that none is made twice.

A training is known by its first update: the rule of the optimizer, the weights that it starts from
and the gradient that it is given, which depends on data, loss and clipping.
"""

import hashlib
import weakref
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

_begun: list[tuple[str, int]] = []
_place: weakref.WeakKeyDictionary[Optimizer, int] = weakref.WeakKeyDictionary()
_watched: list[Any] = []


def watch() -> None:
    """Note, from now on, each training of any torch optimizer; forget those noted before."""
    _begun.clear()
    _place.clear()
    if not _watched:
        _watched.append(register_optimizer_step_pre_hook(_note))


def begun() -> list[tuple[str, int]]:
    """Return the trainings since `watch`, in the order of their first updates.

    Returns:
        For each a fingerprint of its first update, 16 hexadecimal digits, and how many updates it
        made. Equal fingerprints are one training made twice, as far as the shorter one went.
    """
    return list(_begun)


def _note(optimizer: Optimizer, *_: object) -> None:
    if optimizer not in _place:
        _place[optimizer] = len(_begun)
        _begun.append((_fingerprint(optimizer), 0))
    place = _place[optimizer]
    fingerprint, updates = _begun[place]
    _begun[place] = fingerprint, updates + 1


def _fingerprint(optimizer: Optimizer) -> str:
    start = hashlib.sha256(f"{type(optimizer).__name__} {optimizer.defaults}".encode())
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            for tensor in (parameter, parameter.grad):
                if tensor is not None:
                    start.update(str(tuple(tensor.shape)).encode())
                    start.update(tensor.detach().to(torch.float64).cpu().numpy().tobytes())
    return start.hexdigest()[:16]
