"""Which trainings a process made, so that a book can show that none is made twice.

A training is known by its first updates: the rule of the optimizer, the weights that it starts from
and the gradients that it is given, which depend on data, loss and clipping.
"""

import hashlib
import weakref
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

FIRST = 3
"""How many updates tell one training from another."""

_begun: list[tuple[Any, int]] = []
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
        For each a fingerprint of its first three updates, 16 hexadecimal digits, and how many
        updates it made. Equal fingerprints are one training made twice.
    """
    return [(first.hexdigest()[:16], updates) for first, updates in _begun]


def _note(optimizer: Optimizer, *_: object) -> None:
    if optimizer not in _place:
        _place[optimizer] = len(_begun)
        rule = f"{type(optimizer).__name__} {optimizer.defaults}"
        _begun.append((hashlib.sha256(rule.encode()), 0))
    place = _place[optimizer]
    first, updates = _begun[place]
    if updates < FIRST:
        for tensor in _weights_and_gradients(optimizer):
            first.update(f"{tuple(tensor.shape)}".encode())
            first.update(tensor.detach().to(torch.float64).cpu().numpy().tobytes())
    _begun[place] = first, updates + 1


def _weights_and_gradients(optimizer: Optimizer) -> list[torch.Tensor]:
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    return [*weights, *(weight.grad for weight in weights if weight.grad is not None)]
