"""What a reader is told of the run behind a page: under each output, and at the page's foot."""

from __future__ import annotations

from dataclasses import dataclass

from driftproof import runner
from driftproof.compare import Tolerance
from driftproof.machine import HERE, Machine
from driftproof.page import Block
from driftproof.results import Report, Result, agreed
from driftproof.stamp import cpu_seconds, day, versions_now

_PENDING = "recorded, being verified"


@dataclass(frozen=True)
class Facts:
    """The run behind a page, as far as it is the same in every build on one machine.

    Attributes:
        verified: Whether the page has been compared; one that is served is shown before that.
        ran: Blocks that ran, or whose kept run still holds.
        agreed: Those of them with which nothing is wrong.
        bound: Bound numbers.
        shown: Blocks that are shown only.
        elsewhere: Blocks that need a device that is not here.
        machine: Processor and device.
        versions: What the page imports, with the versions that ran.
        recorded: The day on which the page was last recorded, "" if it never was.
        cpu_seconds: What its blocks took then, "" if that is not known.
    """

    verified: bool
    ran: int
    agreed: int
    bound: int
    shown: int
    elsewhere: int
    machine: str
    versions: tuple[str, ...]
    recorded: str
    cpu_seconds: str


def facts(result: Result, report: Report) -> Facts:
    """Return the facts of a page."""
    page, here = result.page, runner.steps_here(result.page, report.device)
    return Facts(
        verified=report.judged,
        ran=len(here),
        agreed=len(agreed(result, report.device)),
        bound=len(page.bounds),
        shown=len(page.blocks) - len(page.running),
        elsewhere=len(page.running) - len(here),
        machine=_where(result.machine, report),
        versions=tuple(f"{n} {v}" for n, v in versions_now(page, result.machine).items()),
        recorded=day(page),
        cpu_seconds=cpu_seconds(page),
    )


def output_stamp(block: Block, result: Result | None, report: Report) -> str:
    """Say where and when the output of a block was printed, and whether it still holds."""
    output = block.output
    if output is None:
        return ""
    if output.device not in ("", report.device):
        if not output.text.strip():
            return f"no recording from a {output.device} device exists yet"
        on = f", {output.measured}" if output.measured else ""
        return f"recorded on a {output.device} device{on}; not verified on this machine"
    holds = result is not None and block in agreed(result, report.device)
    if output.measured:
        checked = "each build checks the relations, not the digits"
        return f"recorded on {output.measured}; {checked if report.judged else 'being verified'}"
    if not report.judged:
        return _PENDING
    if not holds:
        return "recorded; it does not hold any more"
    at = result.machine if result else HERE
    return f"ran in this build on {_where(at, report)}{_within(output.tolerance)}"


def _within(tolerance: Tolerance) -> str:
    relative = f"{tolerance.rtol:g} of their size" if tolerance.rtol else ""
    parts = [part for part in (relative, f"{tolerance.atol:g}" if tolerance.atol else "") if part]
    return f"; floats within {' or '.join(parts)}" if parts else ""


def _where(at: Machine, report: Report) -> str:
    return f"{at.processor}, {report.device or 'CPU'}"
