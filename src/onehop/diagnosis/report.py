"""The findings about a model, as a table, as data and as a picture."""

import dataclasses
import math
import textwrap
from dataclasses import dataclass
from typing import Any

from onehop.diagnosis.depth import Depth
from onehop.diagnosis.drawing import draw
from onehop.diagnosis.reach import Reach
from onehop.diagnosis.recall import Memory
from onehop.diagnosis.verdict import Verdict

COLUMNS = 84
"""Width of the table; names of layers may make it wider."""


@dataclass(frozen=True)
class Report:
    """What was found about a model, at one length of the task."""

    model: str
    """Name of its class."""
    steps: int
    """Length of the task."""
    sequences: int
    """How many the batch holds."""
    time_first: bool
    """Whether the first axis of the batch is time."""
    reach: Reach
    layers: dict[str, Reach]
    """The reach into each layer, where that was asked for."""
    depth: Depth
    memory: Memory
    verdict: Verdict

    def __str__(self) -> str:
        """The report as a table of plain text."""
        return "\n".join(_lines(self))

    def figure(self) -> str:
        """Return an SVG of the gradient by lag and of what the state holds by lag."""
        return draw(self.reach, self.memory)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as data that JSON can hold; what is not finite is None."""
        plain = _plain(dataclasses.asdict(self))
        plain["reach"]["explodes"] = self.reach.explodes
        plain["depth"]["bound"] = self.depth.bound
        plain["memory"]["horizon"] = self.memory.horizon
        for part, growth in (
            ("depth", "chain"),
            ("depth", "operations"),
            ("depth", "flops"),
            ("memory", "saved"),
        ):
            found = getattr(getattr(self, part), growth)
            plain[part][growth] |= _plain({"exponent": found.exponent, "slope": found.slope})
        return plain


def _lines(report: Report) -> list[str]:
    """The table's lines: a title, then section, quantity and value in columns."""
    layout = "time first" if report.time_first else "batch first"
    title = f"{report.model}: {report.sequences} sequences of {report.steps} steps, {layout}"
    sections = {
        "gradient reach": _reach_rows(report.reach, report.layers),
        "sequential depth": _depth_rows(report.depth),
        "memory": _memory_rows(report.memory),
        "verdict": {
            "binds first": report.verdict.binding,
            "evidence": report.verdict.evidence,
            "first remedy": report.verdict.remedy,
        },
    }
    names = [name for rows in sections.values() for name in rows]
    wide, wider = max(map(len, sections)), max(map(len, names))
    blank = " " * (wide + wider + 4)
    lines = [title]
    for section, rows in sections.items():
        for number, (name, value) in enumerate(rows.items()):
            head = f"{'' if number else section:<{wide}}  {name:<{wider}}  "
            room = max(COLUMNS - len(blank), 40)
            first, *others = textwrap.wrap(value, room)
            lines += [head + first, *(blank + other for other in others)]
    return lines


def _reach_rows(reach: Reach, layers: dict[str, Reach]) -> dict[str, str]:
    fitted = "" if math.isnan(reach.multiplier) else ", lags {} to {}".format(*reach.fitted)
    rows = {
        "factor per step": f"{_interval(reach)}{fitted}",
        "a thousandth arrives": f"from lag {reach.horizon} of {len(reach.profile) - 1}",
        "numbers": f"{reach.precision}, {reach.samples} gradients",
    }
    if reach.explodes:
        rows["warning"] = f"explodes: {reach.growth:.3g}-fold"
    for name, layer in layers.items():
        rows[f"into {name}"] = f"{_interval(layer)}, lag {layer.horizon}"
    return rows


def _interval(reach: Reach) -> str:
    if math.isnan(reach.multiplier):
        return "none: too few lags have a gradient"
    return f"{reach.multiplier:.6g} (95%: {reach.low:.6g} to {reach.high:.6g})"


def _depth_rows(depth: Depth) -> dict[str, str]:
    fast, slow = depth.step_seconds[0] * 1e6, depth.step_seconds[-1] * 1e6
    median = depth.step_seconds[len(depth.step_seconds) // 2] * 1e6
    times = (
        f"launch {depth.launch_seconds * 1e3:.3g} ms, memory {depth.memory_seconds * 1e3:.3g} ms, "
        f"compute {depth.compute_seconds * 1e3:.3g} ms"
    )
    rows = {
        "products in a row": depth.chain.law(),
        "operations in a row": depth.operations.law(),
        "multiply-adds abreast": f"{depth.width:,.0f}",
        "intensity": f"{depth.intensity:.3g} FLOP/byte",
        f"on {depth.accelerator}": f"{depth.bound}-bound: {times}",
        f"measured on {depth.device}": f"{median:.3g} µs a step ({fast:.3g} to {slow:.3g})",
    }
    if depth.opaque:
        rows["warning"] = f"cannot see inside {', '.join(depth.opaque)}"
    return rows


def _memory_rows(memory: Memory) -> dict[str, str]:
    saved = memory.saved
    part = "" if memory.visible else "; more may be carried than shows"
    return {
        "state": f"{memory.state}, {memory.floats} floats{part}",
        "recovered": f"{memory.capacity:.3g} {memory.unit}"
        f"{f' ± {memory.error:.1g}' if memory.error else ''} by a linear readout, "
        f"{memory.sequences} probes",
        "at least half of it": f"up to lag {memory.horizon} ({memory.measure})"
        if memory.horizon >= 0
        else f"at no lag ({memory.measure})",
        "kept for backward": f"{saved.values[-1]:,} bytes, like T^{saved.exponent:.2f}",
    }


def _plain(value: Any) -> Any:
    """The same with lists for tuples and None for what JSON has no number for."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
