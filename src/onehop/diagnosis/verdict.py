"""Which constraint binds first for a task of a stated length, and what to try first.

What keeps a task from being learned comes before what only costs time or memory: a model that the
gradient does not reach is not helped by being fast. Within each of the two, the constraint that
leaves the smallest share of what the task needs comes first.
"""

import math
from dataclasses import dataclass

from onehop.diagnosis.depth import Depth, lengths_of
from onehop.diagnosis.reach import Reach
from onehop.diagnosis.recall import Memory

NONE, UNKNOWN = "none binds", "cannot tell"
ANOTHER = "diagnose at a number of steps of which the model takes a quarter and a half too"


@dataclass(frozen=True)
class Finding:
    """One constraint, held against the task."""

    constraint: str
    """`gradient reach`, `memory` or `sequential depth`."""
    binds: bool | None
    """None if that cannot be told."""
    share: float
    """What there is, over what the task needs; below 1 if it binds."""
    stops_learning: bool
    """Whether it keeps the task from being learned; otherwise it costs time or memory."""
    evidence: str
    """The numbers."""
    remedy: str
    """What to try first."""


@dataclass(frozen=True)
class Verdict:
    """Which constraint binds first, and all findings."""

    binding: str
    """A constraint, `none binds` or `cannot tell`."""
    evidence: str
    """The numbers that decide it."""
    remedy: str
    """What to try first."""
    findings: tuple[Finding, ...]


def judge(reach: Reach, depth: Depth, memory: Memory, *, steps: int, recall: int) -> Verdict:
    """Return which constraint binds first.

    Args:
        reach: how far a gradient reaches.
        depth: chains, work and traffic.
        memory: what the state holds and training keeps.
        steps: length of the task: its answer depends on an input `steps - 1` steps back.
        recall: how many numbers (tokens) of the past the answer needs at the same time.
    """
    findings = (
        _reach(reach, steps),
        _state(memory, recall),
        _training(memory),
        _depth(depth),
    )
    binding = [finding for finding in findings if finding.binds]
    if binding:
        first = min(binding, key=lambda f: (not f.stops_learning, f.share))
        return Verdict(first.constraint, first.evidence, first.remedy, findings)
    unknown = [finding for finding in findings if finding.binds is None]
    if unknown:
        first = unknown[0]
        return Verdict(UNKNOWN, first.evidence, first.remedy, findings)
    evidence = "; ".join(finding.evidence for finding in findings)
    return Verdict(NONE, evidence, "train it: data, width and layers come next", findings)


def _reach(reach: Reach, steps: int) -> Finding:
    lag = steps - 1
    rate = (
        "a factor for each step back cannot be fitted"
        if math.isnan(reach.multiplier)
        else f"a step back multiplies the gradient by {reach.multiplier:.4g}"
    )
    if reach.explodes:  # nothing else can be learned, or measured, before this is mended
        return Finding(
            "gradient reach",
            True,
            0.0,
            True,
            f"{rate}: it grows {reach.growth:.3g}-fold within {lag} steps",
            "clip the norm of the gradient, and scale the recurrent weights down",
        )
    if reach.field < lag and reach.is_cut:
        found = f"no gradient arrives from beyond lag {reach.field}, and lag {lag} is needed"
        remedy = (
            "widen the receptive field: layers, kernels, gaps between taps, or attention; "
            "or stop detaching the state"
        )
    elif reach.fades(lag):
        found = f"{rate}: at lag {reach.horizon} of the {lag} needed a thousandth still arrives"
        remedy = (
            "carry the state along an additive path: an LSTM with a forget bias of 3, "
            "a linear recurrence with poles near one, or attention"
        )
    elif reach.horizon < lag:
        found = f"{rate}: small beside a direct path from the last input, but not lost to distance"
        remedy = "none needed"
    else:
        found = f"{rate}: a thousandth arrives from lag {lag} and beyond"
        remedy = "none needed"
    share = min(reach.field, reach.horizon) / lag
    return Finding("gradient reach", reach.fades(lag), share, True, found, remedy)


def _state(memory: Memory, recall: int) -> Finding:
    doubt = max(2 * memory.error, 0.5)  # a number is a whole one
    enough = memory.capacity + doubt > recall
    share = memory.capacity / recall
    held = f"a linear readout of the {memory.state} recovers {memory.capacity:.3g} {memory.unit}"
    if memory.sequences < 2 * memory.floats and not enough:
        return Finding(
            "memory",
            None if recall > 1 else False,
            share,
            True,
            f"{held}, but {memory.floats} floats need more than {memory.sequences} probes",
            f"diagnose with probes={4 * memory.floats}",
        )
    if not memory.visible and not enough:
        return Finding(
            "memory",
            None if recall > 1 else False,
            share,
            True,
            f"{held}, and what else the model carries does not show",
            "return the state beside the outputs, or diagnose the trained model",
        )
    return Finding(
        "memory",
        not enough,
        share,
        True,
        f"{held} of the past, and {recall} {'is' if recall == 1 else 'are'} needed",
        f"widen the state beyond {recall} floats"
        if memory.floats < recall
        else "train, or start from an orthogonal recurrence: the state has room to spare",
    )


def _lengths(steps: int) -> str:
    quarter, half, _ = lengths_of(steps)
    return f"the model does not run at both {quarter} and {half} steps"


def _training(memory: Memory) -> Finding:
    saved, exponent = memory.saved, memory.saved.exponent
    megabytes = saved.values[-1] / 1e6
    at = f"{megabytes:,.3g} MB are kept for the backward pass at {saved.lengths[-1]} steps"
    if math.isnan(exponent):
        return Finding(
            "memory",
            None,
            1.0,
            False,
            f"{at}; {_lengths(saved.lengths[-1])}",
            ANOTHER,
        )
    # From here on, the part that grows with the square outweighs the part that grows with T.
    return Finding(
        "memory",
        exponent > 1.5,
        1.5 / exponent if exponent else 1.0,
        False,
        f"{at}, which grow like T^{exponent:.2f}",
        "a fused attention kernel, which keeps no T × T weights; then a window or chunks",
    )


def _depth(depth: Depth) -> Finding:
    work = max(depth.memory_seconds, depth.compute_seconds)
    chain, operations = depth.chain, depth.operations
    laws = f"in a row, products: {chain.law()}; operations: {operations.law()}"
    times = (
        f"on {depth.accelerator} {depth.launch_seconds * 1e3:.3g} ms of launches "
        f"against {work * 1e3:.3g} ms of work"
    )
    grows = operations.exponent
    unknown = math.isnan(grows) or (bool(depth.opaque) and grows <= 0.5)
    if unknown:
        reason = (
            f"cannot see inside {', '.join(depth.opaque)}"
            if depth.opaque
            else _lengths(chain.lengths[-1])
        )
        remedy = "time it at two lengths" if depth.opaque else ANOTHER
        return Finding("sequential depth", None, 1.0, False, f"{laws}; {reason}", remedy)
    return Finding(
        "sequential depth",
        grows > 0.5 and depth.launch_seconds > work,
        work / depth.launch_seconds,
        False,
        f"{laws}; {times}",
        "a fused layer or a recorded graph, a larger batch; then a recurrence that a scan can run",
    )
