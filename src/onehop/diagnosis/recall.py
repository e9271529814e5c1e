"""How much of the past a linear readout recovers from a model's state, and what training keeps.

The measure is the memory capacity of Jaeger (2001) as Dambre et al. (2012, doi:10.1038/srep00514)
have it: independent inputs, a linear readout of each past input, and the sum over lags of the share
of its variance that is recovered. No linear readout recovers more numbers than the state has.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from onehop.diagnosis.depth import Growth, lengths_of
from onehop.diagnosis.subject import Subject
from onehop.memory import saved_bytes

HALF = 0.5
"""The score below which an input counts as forgotten."""
TARGETS = 16
"""Features that are read out, and tokens that are told apart, at most."""
LAGS = 48
"""Lags that are read out, at most; all of them if the sequences are shorter."""
CHUNK = 32
RIDGES = 10.0 ** torch.arange(-10, 7, 2, dtype=torch.float64)
"""Penalties tried, relative to the mean variance of the state."""


@dataclass(frozen=True)
class Memory:
    """What a state holds of the past, and what a forward pass keeps for the backward pass."""

    lags: tuple[int, ...]
    """Where the readout was tried."""
    scores: tuple[float, ...]
    """Held-out share of the variance recovered, R²; for tokens the share of sequences in which the
    right one is found, counted from chance (0) to always (1)."""
    measure: str
    """`R²` or `accuracy above chance`."""
    capacity: float
    """Numbers of the past recovered in all: the sum of scores over all lags and features; for
    tokens, the number of tokens."""
    floats: int
    """Numbers that the state has."""
    state: str
    """What was taken for the state."""
    visible: bool
    """Whether that is all the model carries; if not, the capacity is a lower bound."""
    sequences: int
    """Random sequences that the readout was fitted to and judged on."""
    saved: Growth
    """Bytes kept for the backward pass of the whole batch, weights included, by length."""

    @property
    def unit(self) -> str:
        """Return what is recovered: `numbers` or `tokens`."""
        return "numbers" if self.measure == "R²" else "tokens"

    @property
    def horizon(self) -> int:
        """The farthest lag up to which every score is at least a half; -1 if none is."""
        horizon = -1
        for lag, score in zip(self.lags, self.scores, strict=True):
            if score < HALF:
                break
            horizon = lag
        return horizon


def measure_memory(subject: Subject, probes: int) -> Memory:
    """Return how much of the past the state holds, and the bytes that training keeps.

    Args:
        subject: the model.
        probes: how many random sequences are read; their inputs are drawn, one by one, from the
            inputs of the batch. Twice the floats of the state at least, or the readout guesses.

    Raises:
        ValueError: the inputs of the batch are all alike.
    """
    rng = torch.Generator().manual_seed(0)
    values = _values(subject, rng)
    states, picks, name, visible = [], [], "", False
    with subject.conditions(unfused=False), torch.no_grad():
        model = subject.fresh(precise=False)
        for count in _chunks(probes):
            pick = torch.randint(len(values), (count, subject.steps), generator=rng)
            state, name, visible = _state(subject, model, values[pick.to(values.device)])
            states.append(state.cpu().double())
            picks.append(pick)
    state, pick = torch.cat(states), torch.cat(picks)
    lags = _lags(subject.steps)
    codes = _codes(subject, values)
    scores = _scores(state, codes[pick], lags, is_tokens=subject.is_tokens)
    features = 1 if subject.is_tokens else values.shape[1]
    return Memory(
        lags=tuple(lags),
        scores=tuple(scores.clamp(0, 1).tolist()),
        measure="accuracy above chance" if subject.is_tokens else "R²",
        capacity=features * _area(lags, scores),
        floats=state.shape[1],
        state=name,
        visible=visible,
        sequences=probes,
        saved=_saved(subject),
    )


def _chunks(count: int) -> Iterator[int]:
    while count > 0:
        yield min(count, CHUNK)
        count -= CHUNK


def _values(subject: Subject, rng: torch.Generator) -> Tensor:
    """The inputs to draw from: `(inputs, features)`, or the token ids that are told apart."""
    if subject.is_tokens:
        found = subject.batch.unique()
        order = torch.randperm(len(found), generator=rng)[:TARGETS].to(found.device)
        found = found[order]
    else:
        batch = subject.batch if subject.time == 1 else subject.batch.transpose(0, 1)
        found = batch.flatten(0, 1)
    if len(found) < 2 or (found == found[0]).all():
        raise ValueError("batch: expected inputs that differ, got the same one at every step")
    return found


def _codes(subject: Subject, values: Tensor) -> Tensor:
    """What is read out for each input to draw: its features, or one number for each token."""
    if subject.is_tokens:
        return torch.eye(len(values), dtype=torch.float64)
    values = values.cpu().double()
    return values[:, values.std(0) > 0][:, :TARGETS]


def _lags(steps: int) -> list[int]:
    if steps <= LAGS:
        return list(range(steps))
    spread = torch.logspace(0, math.log10(steps), LAGS, dtype=torch.float64)
    return sorted({round(lag) - 1 for lag in spread.tolist()})


def _state(subject: Subject, model: nn.Module, batch: Tensor) -> tuple[Tensor, str, bool]:
    """The state after the last step, `(batch, floats)`, what it is, and whether it is all of it."""
    found: dict[nn.Module, Tensor] = {}

    def keep(module: nn.Module, _arguments: Any, result: Any) -> None:
        is_cell = isinstance(module, nn.RNNCellBase)
        ends = result if is_cell else result[1]
        parts = ends if isinstance(ends, tuple) else (ends,)
        found[module] = torch.cat(
            [part if is_cell else part.transpose(0, 1).flatten(1) for part in parts], 1
        )

    recurrent = [m for m in model.modules() if isinstance(m, nn.RNNBase | nn.RNNCellBase)]
    hooks = [module.register_forward_hook(keep) for module in recurrent]
    try:
        run = subject.run(batch if subject.time == 1 else batch.transpose(0, 1), model=model)
    finally:
        for hook in hooks:
            hook.remove()
    if found and all(len(state) == len(batch) for state in found.values()):
        kinds = sorted({type(module).__name__ for module in found})
        return torch.cat(list(found.values()), 1), f"state of {', '.join(kinds)}", True
    carried = _carried(run.raw, len(batch), subject.steps)
    if carried is not None:
        return carried, "state that the model returns", True
    return subject.final(run.outputs), "last output", False


def _carried(raw: Any, sequences: int, steps: int) -> Tensor | None:
    """The second thing that a model returns, if it has a size for each sequence and none for T."""
    if not isinstance(raw, tuple | list) or len(raw) != 2:
        return None
    parts = raw[1] if isinstance(raw[1], tuple | list) else (raw[1],)
    if not parts or not all(isinstance(p, Tensor) and p.is_floating_point() for p in parts):
        return None
    flat = []
    for part in parts:
        axes = [axis for axis, size in enumerate(part.shape) if size == sequences]
        if not axes or steps in part.shape:
            return None
        flat.append(part.movedim(axes[0], 0).flatten(1))
    return torch.cat(flat, 1)


def _scores(state: Tensor, inputs: Tensor, lags: list[int], *, is_tokens: bool) -> Tensor:
    """The held-out score of a ridge regression from states to the inputs at each lag.

    The penalty of each lag is the one with the least error of leaving one out among the two thirds
    of sequences that are fitted; the last third is held out.
    """
    held = len(state) // 3
    targets = inputs.flip(1)[:, lags]  # (sequences, lags, codes)
    mean = state[:-held].mean(0)
    centred = state - mean
    U, S, Vh = torch.linalg.svd(centred[:-held], full_matrices=False)
    base = targets[:-held].mean(0)
    fitted = targets[:-held] - base
    rotated = torch.einsum("nk,nlc->klc", U, fitted)
    best = torch.full((len(lags),), math.inf, dtype=torch.float64)
    guesses = torch.zeros_like(targets[-held:])
    scale = (S**2).mean()
    for ridge in RIDGES:
        shrink = S**2 / (S**2 + ridge * scale + 1e-300)
        leverage = (U**2 @ shrink).clamp(max=1 - 1e-9) + 1 / len(U)
        residual = fitted - torch.einsum("nk,klc->nlc", U * shrink, rotated)
        error = (residual / (1 - leverage).clamp(min=1e-9)[:, None, None]).square().sum((0, 2))
        weights = torch.einsum(
            "kd,klc->dlc", Vh, (shrink / S.clamp(min=1e-150))[:, None, None] * rotated
        )
        better = error < best
        best = torch.where(better, error, best)
        guess = base + torch.einsum("hd,dlc->hlc", centred[-held:], weights)
        guesses[:, better] = guess[:, better]
    truth = targets[-held:]
    if is_tokens:
        right = (guesses.argmax(2) == truth.argmax(2)).double().mean(0)
        chance = 1 / truth.shape[2]
        return (right - chance) / (1 - chance)
    return 1 - (truth - guesses).square().sum((0, 2)) / (truth - base).square().sum((0, 2))


def _area(lags: list[int], scores: Tensor) -> float:
    """The sum of scores over all lags; between those tried, the curve is taken to be straight.

    Scores that are below zero by chance balance those above it.
    """
    every = np.interp(range(lags[-1] + 1), lags, scores.numpy())
    return max(float(every.sum()), 0.0)


def _saved(subject: Subject) -> Growth:
    """Bytes kept for the backward pass as the model runs, at three lengths."""

    def at(steps: int) -> int:
        model, batch = subject.fresh(precise=False), subject.last(steps)
        return saved_bytes(lambda: subject.call(model, batch))

    lengths = lengths_of(subject.steps)
    with subject.conditions(unfused=False):
        full = at(subject.steps)
        try:
            return Growth(lengths, (at(lengths[0]), at(lengths[1]), full))
        except (RuntimeError, ValueError, AssertionError, IndexError):
            return Growth((subject.steps,), (full,))
