"""How much of the past a linear readout recovers from a model's state, and what training keeps.

The measure is the memory capacity of Jaeger (2001) as Dambre et al. (2012, doi:10.1038/srep00514)
have it: independent inputs, a linear readout of each past input, and the sum over lags of the share
of its variance that is recovered. No linear readout recovers more numbers than the state has.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from onehop.diagnosis.depth import Growth, at_lengths
from onehop.diagnosis.outputs import carried
from onehop.diagnosis.subject import Subject
from onehop.memory import saved_bytes

HALF = 0.5
"""The score below which an input counts as forgotten."""
TARGETS = 16
"""Features that are read out, and tokens that are told apart, at most."""
LAGS = 48
"""Lags that are scored, near either end; all of them if the sequences are shorter."""
FEWEST_PROBES = 16
"""Below this there is nothing to hold out."""
CHUNK = 32
"""Sequences that are read at once, unless the model takes no other number than the batch's."""
ROUNDING = 1e-6
"""Parts of a state below this share of the largest one are what single precision leaves."""
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
    """Numbers of the past recovered in all: the sum over all lags and features of R², corrected
    for what a fit finds by chance; for tokens, the sum of scores."""
    error: float
    """Standard error of the capacity; of tokens, 0."""
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
        chunk = _chunk(subject, probes)
        for _ in range(math.ceil(probes / chunk)):
            pick = torch.randint(len(values), (chunk, subject.steps), generator=rng)
            state, name, visible = _state(subject, values[pick.to(values.device)])
            states.append(state.cpu().double())
            picks.append(pick)
    state, pick = torch.cat(states), torch.cat(picks)
    lags = _lags(subject.steps)
    codes, features = _codes(subject, values)
    scores = _scores(state, codes[pick], lags, is_tokens=subject.is_tokens)
    if subject.is_tokens:
        capacity, error = _area(lags, scores), 0.0
    else:
        capacity, error = (features * found for found in _recovered(state, codes, pick))
    return Memory(
        lags=tuple(lags),
        scores=tuple(scores.clamp(0, 1).tolist()),
        measure="accuracy above chance" if subject.is_tokens else "R²",
        capacity=min(capacity, float(state.shape[1])),
        error=error,
        floats=state.shape[1],
        state=name,
        visible=visible,
        sequences=len(state),
        saved=_saved(subject),
    )


def _chunk(subject: Subject, probes: int) -> int:
    """How many sequences the model reads at once; some keep a state for those of the batch."""
    count = min(probes, CHUNK)
    rows = torch.arange(count, device=subject.batch.device) % subject.sequences
    try:
        subject.run(subject.batch.index_select(1 - subject.time, rows))
    except Exception:  # whatever a model says to another number of sequences
        return subject.sequences
    return count


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


def _codes(subject: Subject, values: Tensor) -> tuple[Tensor, int]:
    """What is read out for each input to draw, and how many numbers an input is.

    For tokens, a number for each. Features are turned until none says anything of another: of two
    that are copies, recovering both is recovering one.
    """
    if subject.is_tokens:
        return torch.eye(len(values), dtype=torch.float64), 1
    centred = values.cpu().double()
    centred = centred - centred.mean(0)
    variances, directions = torch.linalg.eigh(centred.T @ centred / len(centred))
    differ = variances > ROUNDING**2 * variances[-1]
    codes = (centred @ directions / variances.clamp(min=1e-300).sqrt())[:, differ]
    return codes[:, -TARGETS:], int(differ.sum())


def _lags(steps: int) -> list[int]:
    """Dense near the last input, and near the first, which a second direction reads last."""
    if steps <= LAGS:
        return list(range(steps))
    spread = torch.logspace(0, math.log10(steps), LAGS // 2, dtype=torch.float64)
    near = {round(lag) - 1 for lag in spread.tolist()}
    return sorted(near | {steps - 1 - lag for lag in near})


def _state(subject: Subject, batch: Tensor) -> tuple[Tensor, str, bool]:
    """The state after the last step, `(batch, floats)`, what it is, and whether it is all of it."""
    model = subject.fresh(precise=False)
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
    if subject.carries:
        parts = [part.movedim(part.shape.index(len(batch)), 0) for part in carried(run.raw)]
        state = torch.cat([part.flatten(1) for part in parts], 1)
        return state, "state that the model returns", True
    return subject.final(run.outputs), "last output", False


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


def _recovered(state: Tensor, codes: Tensor, pick: Tensor) -> tuple[float, float]:
    """The sum over all lags of the mean share of a code's variance that the state determines.

    The second number is its standard error if the shares are small.

    By least squares on all sequences, less what as many random floats would explain; so what is
    spread thinly over many lags counts in full, as it would not with a held-out score.
    """
    count = len(state)
    U, S, _ = torch.linalg.svd(state - state.mean(0), full_matrices=False)
    U = U[:, ROUNDING * S[0] < S][:, : count // 2]
    free = count - 1 - U.shape[1]
    total = 0.0
    for picked in pick.split(LAGS, 1):
        targets = codes[picked].flatten(1)
        targets = targets - targets.mean(0)
        explained = (U.T @ targets).square().sum(0) / targets.square().sum(0)
        total += float((1 - (1 - explained) * (count - 1) / free).sum()) / codes.shape[1]
    of_one = 2 * U.shape[1] / ((count + 1) * free)
    return max(total, 0.0), math.sqrt(of_one * pick.shape[1] / codes.shape[1])


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

    with subject.conditions(unfused=False):
        lengths, kept = at_lengths(subject.steps, at)
    return Growth(lengths, tuple(kept))
