"""Tables of what was measured, with ratios and the targets that they are held to."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from book import Spec, name
from forms import DRIFTPROOF, EXECUTED, PLAIN

OURS, FLOOR, OTHER = DRIFTPROOF.name, PLAIN.name, EXECUTED.name
PURE = "pure compute"
BUILDS = ("cold", "unchanged", "sentence", "block", "helper")
_MB = 1e6


class Measured:
    """What was measured, by book, edit and tool.

    Args:
        records: As `builds.measure` and `serving.measure` return them.
    """

    def __init__(self, records: list[dict[str, Any]]) -> None:
        self.records = records

    def values(self, chapters: int, edit: str, tool: str, what: str = "cpu") -> list[Any]:
        """Return every measurement of one thing."""
        wanted = (chapters, edit, tool)
        found = [r for r in self.records if (r["chapters"], r["edit"], r["tool"]) == wanted]
        return [record[what] for record in found]

    def median(self, chapters: int, edit: str, tool: str, what: str = "cpu") -> float:
        """Return the median.

        Raises:
            LookupError: Nothing was measured.
        """
        values = self.values(chapters, edit, tool, what)
        if not values:
            raise LookupError(f"{edit} under {tool} at {chapters} chapters")
        return statistics.median(values)

    def compute(self, chapters: int, pages: list[str]) -> float:
        """Return the CPU seconds that the blocks of pages need; "imports" stands for imports."""
        runs = self.values(chapters, "cold", PURE, "seconds")
        if not runs:
            raise LookupError(f"{PURE} at {chapters} chapters")
        return statistics.median(sum(run[page] for page in pages) for run in runs)

    @property
    def chapters(self) -> list[int]:
        """Return the sizes of the books."""
        return sorted({record["chapters"] for record in self.records})


@dataclass(frozen=True)
class Target:
    """What a measurement is held to.

    Attributes:
        what: What is measured.
        value: Gives the figure that is held against the limit.
        limit: What it must not exceed.
        unit: What the figure and the limit are multiples of.
        decimals: How the figure is written.
    """

    what: str
    value: Callable[[Measured], float]
    limit: float
    unit: str
    decimals: int = 2


def _ratio(
    chapters: int,
    edit: str,
    what: str = "cpu",
    *,
    other: str = FLOOR,
    against: str = "",
) -> Callable[[Measured], float]:
    return lambda m: (
        m.median(chapters, edit, OURS, what) / m.median(chapters, against or edit, other, what)
    )


def _one_block(m: Measured) -> float:
    """Return what remains of an edited block's build when its page has run and torch is there."""
    page = f"docs/chapters/{name(Spec(12, 'full').edited)}.md"
    rest = m.median(12, "block", OURS) - m.compute(12, [page, "imports"])
    return rest / m.median(12, "block", FLOOR)


def _served_helper(m: Measured) -> float:
    pages = [f"docs/chapters/{name(n)}.md" for n in Spec(12, "full").importing]
    return m.median(12, "serve, helper verified", OURS, "wall") - m.compute(12, pages)


def _doc_tests(m: Measured) -> float:
    return m.median(12, "doc tests", OURS) - m.median(12, "doc tests", "pytest alone")


def _memory(chapters: int, edits: tuple[str, ...]) -> Callable[[Measured], float]:
    def most(m: Measured) -> float:
        found = [
            max(m.values(chapters, edit, OURS, what), default=0)
            for edit in edits
            for what in ("rss", "pss")
        ]
        if not any(found):
            raise LookupError(f"memory at {chapters} chapters")
        return max(found) / _MB

    return most


def _growth(edit: str) -> Callable[[Measured], float]:
    return lambda m: m.median(1000, edit, OURS) / m.median(200, edit, OURS)


_X = "× plain MkDocs"
TARGETS = (
    Target("cold, CPU", _ratio(12, "cold", other=PURE), 1.10, "× pure compute"),
    Target("cold, wall", _ratio(12, "cold", "wall", other=PURE), 0.65, "× pure compute"),
    Target("nothing changed", _ratio(12, "unchanged"), 0.5, _X),
    Target("nothing changed, memory", _memory(12, ("unchanged", "memory, unchanged")), 80, "MB", 0),
    Target("one sentence", _ratio(12, "sentence"), 0.6, _X),
    Target("one block, without its page's compute and the import of torch", _one_block, 1.0, _X),
    Target(
        "serve: start to first page", _ratio(12, "serve, first page", "wall"), 1.2, f"{_X}, wall"
    ),
    Target("serve: one sentence", _ratio(12, "serve, sentence", "wall"), 0.3, f"{_X}, wall"),
    Target(
        "serve: last block, 3 s before it",
        _ratio(12, "serve, last block verified", against="build, with the slow page"),
        1.0,
        _X,
    ),
    Target("serve: a helper module, without its pages' compute", _served_helper, 1.0, "s, wall"),
    Target("200 chapters, nothing changed", _ratio(200, "unchanged"), 0.4, _X),
    Target("200 chapters, one sentence", _ratio(200, "sentence"), 0.4, _X),
    *(Target(f"1,000 chapters, {edit}", _growth(edit), 5.0, "× 200 chapters") for edit in BUILDS),
    Target(
        "1,000 chapters, memory",
        _memory(1000, (*BUILDS, "memory, cold", "memory, unchanged")),
        1.5 * 1024**3 / _MB,
        "MB",
        0,
    ),
    Target("doc tests after a build, beyond pytest's start", _doc_tests, 3.0, "CPU s"),
)


def targets(m: Measured) -> str:
    """Return the table of targets; what was not measured is not in it."""
    lines = ["| what | measured | target | met |", "| --- | ---: | ---: | --- |"]
    for target in TARGETS:
        try:
            value = target.value(m)
        except LookupError:
            continue
        d = target.decimals
        met = "yes" if value <= target.limit else "**no**"
        figure = f"{value:,.{d}f}"
        lines.append(
            f"| {target.what} | {figure} {target.unit} | ≤ {target.limit:,.{d}f} | {met} |"
        )
    return "\n".join(lines)


def seconds(m: Measured, what: str) -> str:
    """Return the table of CPU or wall seconds: the median, least and most, by book and edit."""
    lines = [
        f"| chapters | edit | {OURS} | {FLOOR} | {OTHER} | ratio |",
        "| ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for chapters in m.chapters:
        alone = _spread(m.values(chapters, "cold", PURE, what))
        lines.append(f"| {chapters:,} | {PURE} | {alone} | | | |")
        for edit in dict.fromkeys(r["edit"] for r in m.records if r["chapters"] == chapters):
            if edit == "doc tests" or edit.startswith("memory"):
                continue
            cells = [_spread(m.values(chapters, edit, tool, what)) for tool in (OURS, FLOOR, OTHER)]
            try:
                ratio = f"{_ratio(chapters, edit, what)(m):.2f}"
            except LookupError:
                ratio = ""
            lines.append(f"| {chapters:,} | {edit} | {' | '.join(cells)} | {ratio} |")
    return "\n".join(lines)


def memory(m: Measured) -> str:
    """Return the table of memory: the largest process, and all of them together."""
    lines = [
        f"| chapters | build | {OURS} | {FLOOR} | {OTHER} |",
        "| ---: | --- | ---: | ---: | ---: |",
    ]
    for chapters in m.chapters:
        for build in ("cold", "unchanged"):
            cells = []
            for tool in (OURS, FLOOR, OTHER):
                largest = max(m.values(chapters, build, tool, "rss"), default=0) / _MB
                sampled = m.values(chapters, f"memory, {build}", tool, "pss")
                together = f" / {max(sampled) / _MB:,.0f}" if sampled else ""
                cells.append(f"{largest:,.0f}{together}" if largest else "")
            if any(cells):
                lines.append(f"| {chapters:,} | {build} | {' | '.join(cells)} |")
    return "\n".join(lines)


def wrong(m: Measured) -> str:
    """Say which builds of other tools did not show what their sources say."""
    found = {
        f"{r['tool']}, {r['chapters']:,} chapters, {r['edit']}": r["wrong"]
        for r in m.records
        if r.get("wrong")
    }
    if not found:
        return "Every site showed what its sources say, under each tool."
    return "\n".join(
        f"- {what}: {len(which)} wrong, first {which[0]}" for what, which in found.items()
    )


def _spread(values: list[float]) -> str:
    if not values:
        return ""
    middle = f"{statistics.median(values):.2f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.2f}–{max(values):.2f})"
