"""What a check found: pages, their runs, what is wrong with them, and the counts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from driftproof import runner
from driftproof.bound import Value
from driftproof.failure import Failure
from driftproof.machine import HERE, Machine
from driftproof.page import Block, Bound, Page
from driftproof.problem import Problem
from driftproof.runs import Run


@dataclass
class Result:
    """A page, its run and what is wrong with it.

    Attributes:
        page: The page.
        run: What happened when it ran, or None where it could not be run.
        cached: Whether the run was recalled rather than made.
        problems: What keeps the page from being published.
        notes: What its author should know.
        machine: Where the run was made; a kept run holds only where it would be the same.
        conditions: Under what it was made, as `cache.conditions` says, if that was elsewhere.
    """

    page: Page
    run: Run | None = None
    cached: bool = False
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    machine: Machine = HERE
    conditions: dict[str, Any] | None = None


@dataclass
class Report:
    """The results of the pages that were checked and of those that they name, by path.

    The counts are of blocks: `found` = `shown` + `elsewhere` + `expected`; a build is right when
    `expected` = `ran` + `recalled` = `agreed` and there are no problems. A report that is not
    `judged` knows only kept runs, which nobody has compared yet. A release has a recording of every
    device that a page shows.
    """

    results: dict[str, Result]
    wanted: set[str]
    owners: dict[str, str]
    device: str = ""
    judged: bool = True
    is_release: bool = False

    @property
    def problems(self) -> list[Problem]:
        """What keeps the book from being published, by page and line."""
        found = [p for r in self.results.values() for p in r.problems]
        return sorted(found, key=lambda problem: (problem.path, problem.line))

    @property
    def notes(self) -> list[Problem]:
        """What authors should know."""
        return [note for result in self.results.values() for note in result.notes]

    @property
    def counts(self) -> dict[str, int]:
        """How many blocks were found, shown only, left to another device, expected, and so on."""
        counts = dict.fromkeys(
            ("found", "shown", "elsewhere", "expected", "ran", "recalled", "agreed", "bound"), 0
        )
        for result in (self.results[path] for path in self.wanted):
            page, here = result.page, runner.steps_here(result.page, self.device)
            done = len(result.run.outputs) if result.run else 0
            counts["found"] += len(page.blocks)
            counts["shown"] += len(page.blocks) - len(page.running)
            counts["elsewhere"] += len(page.running) - len(here)
            counts["expected"] += len(here)
            counts["recalled" if result.cached else "ran"] += done
            counts["agreed"] += len(agreed(result, self.device))
            counts["bound"] += len(page.bounds)
        return counts

    @property
    def summary(self) -> str:
        """One line for the end of a build."""
        c = self.counts
        text = (
            f"{c['expected']} blocks expected, {c['ran']} ran, {c['recalled']} from cache, "
            f"{c['agreed']} agreed; {c['bound']} bound numbers"
        )
        if c["shown"]:
            text += f'; {c["shown"]} shown only (exec="off")'
        if c["elsewhere"]:
            text += f"; {c['elsewhere']} not verified here (other device)"
        return text


def agreed(result: Result, device: str) -> list[Block]:
    """Return the blocks of a page that ran here and with which nothing is wrong."""
    at_fault = [block_of(result.page, problem) for problem in result.problems]
    ran = result.run.outputs if result.run else {}
    here = runner.steps_here(result.page, device)
    return [block for block in here if block.number in ran and block not in at_fault]


def block_of(page: Page, problem: Problem) -> Block | None:
    """Return the block of `page` that a problem concerns, None where it is in the prose."""
    if problem.block:
        return page.blocks[problem.block - 1]
    return page.block_at(problem.line) if problem.path == page.path else None


def value_of(bound: Bound, page: Page, report: Report) -> Value | Failure | None:
    """Return the value of a bound number, a Failure, or None where its page did not run."""
    owner = report.owners.get(bound.slug, "") if bound.slug else page.path
    result = report.results.get(owner)
    return result.run.values.get(bound.expression) if result and result.run else None


def printed(run: Run, block: Block) -> str:
    """Return what is recorded for a block: what it printed, or the columns of its figure."""
    figure = run.figures.get(block.number)
    return figure.columns if figure else run.outputs[block.number]


def is_stale(block: Block) -> bool:
    """Whether a sealed output's code or text changed since it was recorded."""
    output = block.output
    if output is None or not output.is_sealed:
        return False
    return output.options.get("code") != seal(block, output.text)


def seal(block: Block, text: str) -> str:
    """Return the short hash that stands for digits which are not compared one by one."""
    return hashlib.sha256(f"{block.code}\0{text}".encode()).hexdigest()[:8]
