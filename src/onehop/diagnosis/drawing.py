"""Two small plots as SVG: the gradient that arrives, and the inputs that a state still holds."""

import math
from collections.abc import Sequence
from html import escape

from onehop.diagnosis.reach import LOST, Reach
from onehop.diagnosis.recall import HALF, Memory

WIDTH, HEIGHT = 300, 180
LEFT, TOP, GAP = 56, 34, 80


def draw(reach: Reach, memory: Memory) -> str:
    """Return an SVG that takes its colour from the page, with a title for those who do not see it.

    Args:
        reach: its profile is drawn on a logarithmic scale, relative to lag 0.
        memory: its scores.
    """
    first = reach.profile[0] or max(reach.profile)
    arriving = [
        (lag, math.log10(length / first))
        for lag, length in enumerate(reach.profile)
        if 0 < length < math.inf
    ]
    depth = math.floor(min(min(y for _, y in arriving), math.log10(LOST) - 1))
    height = math.ceil(max(max(y for _, y in arriving), 0.0))
    last = len(reach.profile) - 1
    powers = [height, (depth + height) // 2, depth]
    gradient = _panel(
        LEFT,
        "gradient, relative to lag 0",
        _points(arriving, last, depth, height),
        _level(math.log10(LOST), depth, height),
        [(f"1e{power}", _level(power, depth, height)) for power in powers],
        last,
    )
    scores = list(zip(memory.lags, memory.scores, strict=True))
    readout = _panel(
        LEFT + WIDTH + GAP,
        f"{memory.measure} of a linear readout",
        _points(scores, last, 0.0, 1.0),
        _level(HALF, 0.0, 1.0),
        [(text, _level(float(text), 0.0, 1.0)) for text in ("0", "0.5", "1")],
        last,
    )
    full_width, full_height = LEFT + 2 * WIDTH + GAP + 16, TOP + HEIGHT + 44
    title = (
        f"Gradient by lag: a thousandth arrives from lag {reach.horizon}. "
        f"Readout by lag: more than a half up to lag {memory.horizon}."
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {full_width} {full_height}" '
        f'role="img" fill="none" stroke="currentColor" font-size="12" '
        f'font-family="system-ui, sans-serif"><title>{escape(title)}</title>'
        f"{gradient}{readout}</svg>"
    )


def _level(value: float, low: float, high: float) -> float:
    return TOP + HEIGHT * (high - value) / ((high - low) or 1)


def _points(curve: Sequence[tuple[int, float]], last: int, low: float, high: float) -> str:
    return " ".join(
        f"{WIDTH * lag / last:.1f},{_level(value, low, high):.1f}" for lag, value in curve
    )


def _panel(
    x: float,
    title: str,
    points: str,
    border: float,
    ticks: Sequence[tuple[str, float]],
    last: int,
) -> str:
    """Axes, a curve, and a dashed line at the level where something counts as lost."""
    bottom = TOP + HEIGHT
    labels = "".join(
        f'<text x="-8" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>' for text, y in ticks
    )
    labels += "".join(
        f'<text x="{WIDTH * lag / last:.1f}" y="{bottom + 18}" text-anchor="middle">{lag}</text>'
        for lag in (0, last // 2, last)
    )
    return (
        f'<g transform="translate({x})">'
        f'<path d="M0 {TOP}V{bottom}H{WIDTH}" stroke-opacity="0.5"/>'
        f'<path d="M0 {border:.1f}H{WIDTH}" stroke-dasharray="4 4" stroke-opacity="0.5"/>'
        f'<polyline points="{points}" stroke-width="2"/>'
        f'<g stroke="none" fill="currentColor"><text x="0" y="18">{escape(title)}</text>{labels}'
        f'<text x="{WIDTH / 2}" y="{bottom + 36}" text-anchor="middle">lag</text></g></g>'
    )
