"""How the longest chain, the work and the traffic of a model grow with the length of a sequence."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch

from onehop.diagnosis.stepped import step_by_step
from onehop.diagnosis.subject import Subject
from onehop.diagnosis.trace import Trace, trace
from onehop.roofline import Accelerator
from onehop.timing import seconds_per_call

LAUNCH = 5e-6
"""Seconds from a program to a running operation: the lower end of what a loop in Python takes;
for whose measurements these are, see the chapter on an idle accelerator."""
ROUNDS = 5
T = TypeVar("T")


@dataclass(frozen=True)
class Growth:
    """A quantity at several lengths, and the power of the length with which its increments grow."""

    lengths: tuple[int, ...]
    values: tuple[int, ...]

    @property
    def exponent(self) -> float:
        """1 if the values lie on a straight line, 2 on a parabola, 0 if constant or a logarithm."""
        if len(self.values) < 3:
            return math.nan
        near, far = self.values[1] - self.values[0], self.values[2] - self.values[1]
        return max(math.log2(max(far, 1) / max(near, 1)), 0.0) if far > 0 else 0.0

    @property
    def slope(self) -> float:
        """Increment for each further step, between the last two lengths."""
        if len(self.values) < 3:
            return math.nan
        return (self.values[2] - self.values[1]) / (self.lengths[2] - self.lengths[1])

    def law(self, of: str = "T") -> str:
        """Return the law in words, such as `T + 3`, `6`, or `2 more at each doubling`."""
        last = self.values[-1]
        if len(self.values) < 3:
            return f"{last:,} (one length only)"
        if self.values[0] == last:
            return f"{last:,} at any length"
        if last <= self.values[1]:  # as where a length had to be padded
            return f"at most {max(self.values):,}"
        if self.exponent < 0.5:
            doublings = math.log2(self.lengths[2] / self.lengths[1])
            return f"{(last - self.values[1]) / doublings:.3g} more at each doubling"
        if abs(self.exponent - 1) < 0.05:
            offset = round(last - self.slope * self.lengths[2])
            factor = "" if math.isclose(self.slope, 1) else f"{self.slope:.4g} "
            rest = f" {'+' if offset > 0 else '−'} {abs(offset):,}" if offset else ""
            return f"{factor}{of}{rest}"
        return f"grows like {of}^{self.exponent:.2f}"


@dataclass(frozen=True)
class Depth:
    """What a forward pass asks of a machine."""

    chain: Growth
    """Longest chain of dependent products; a fused layer of torch counts cell by cell."""
    operations: Growth
    """Longest chain of operations of any kind, views left out."""
    flops: Growth
    """Of all products, for the whole batch."""
    width: float
    """Multiply-adds that could run side by side, on average over the chain."""
    intensity: float
    """FLOPs for each byte moved in half precision, if no operation is fused with another."""
    accelerator: str
    """Whose data sheet the three times below are taken from."""
    launch_seconds: float
    """The chain of operations, at one launch each."""
    memory_seconds: float
    """All operations' traffic at the full bandwidth."""
    compute_seconds: float
    """All products at the peak."""
    opaque: tuple[str, ...]
    """Operators that hide what they do; with any, the chains are lower bounds."""
    device: str
    """Where the time below was measured."""
    step_seconds: tuple[float, ...]
    """Time of a forward pass as the model runs, divided by its steps; from fast to slow."""

    @property
    def bound(self) -> str:
        """Return which of launch, memory and compute takes longest on the accelerator."""
        times = {
            "launch": self.launch_seconds,
            "memory": self.memory_seconds,
            "compute": self.compute_seconds,
        }
        return max(times, key=lambda name: times[name])


def lengths_of(steps: int) -> tuple[int, int, int]:
    """Return three lengths up to `steps` whose second distance is twice the first."""
    quarter = steps // 4
    return steps - 3 * quarter, steps - 2 * quarter, steps


def at_lengths(steps: int, measure: Callable[[int], T]) -> tuple[tuple[int, ...], list[T]]:
    """Return three lengths up to `steps` and what is measured at each; the last alone if need be.

    Args:
        steps: the longest; what goes wrong at this one is raised.
        measure: takes a length.
    """
    lengths, full = lengths_of(steps), measure(steps)
    try:
        return lengths, [*map(measure, lengths[:2]), full]
    except Exception:  # whatever a model says to another length
        return (steps,), [full]


def measure_depth(subject: Subject, accelerator: Accelerator) -> Depth:
    """Return chains, work, traffic, what an accelerator makes of them, and the time of a step.

    Args:
        subject: the model.
        accelerator: from `onehop.roofline`.
    """

    def at(steps: int) -> Trace:
        model, batch = step_by_step(subject.fresh(precise=True)), subject.last(steps)
        return trace(lambda: subject.run(batch, precise=True, model=model))

    with subject.conditions(precise=True):
        lengths, traces = at_lengths(subject.steps, at)
    full = traces[-1]
    half_precision = 2 * full.numbers
    times = _step_seconds(subject)
    return Depth(
        chain=Growth(lengths, tuple(t.products for t in traces)),
        operations=Growth(lengths, tuple(t.operations for t in traces)),
        flops=Growth(lengths, tuple(t.flops for t in traces)),
        width=full.width,
        intensity=full.flops / half_precision,
        accelerator=accelerator.name,
        launch_seconds=LAUNCH * full.operations,
        memory_seconds=half_precision / accelerator.bandwidth,
        compute_seconds=full.flops / accelerator.peak,
        opaque=full.opaque,
        device=str(subject.batch.device),
        step_seconds=tuple(sorted(times)),
    )


def _step_seconds(subject: Subject) -> list[float]:
    with subject.conditions(unfused=False), torch.no_grad():
        model = subject.fresh(precise=False)

        def call() -> object:
            return subject.call(model, subject.last(subject.steps))

        device = subject.batch.device
        clock = device if device.type in ("cpu", "cuda") else getattr(torch, device.type)
        call()
        passes = [seconds_per_call(call, clock, rounds=1, warmup=0) for _ in range(ROUNDS)]
    return [seconds / subject.steps for seconds in passes]
