"""The project's files at one time: the pages made of them, and what is known of these so far."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from driftproof import cache, runner
from driftproof.config import Config
from driftproof.judge import judge_block
from driftproof.page import Page
from driftproof.problem import Problem
from driftproof.provenance import output_stamp
from driftproof.results import Report, Result, agreed, block_of, printed
from driftproof.runs import Run

Status = dict[str, Any]
Signatures = dict[str, tuple[int, int, int]]


@dataclass(eq=False)
class State:
    """The pages as they were at one time, and what has been found out about them.

    Attributes:
        report: What is known of the runs, nothing judged: what is recalled, and what ran since.
        signatures: Files that make up pages, as they were just before these were parsed.
        needs: The pages whose runs are behind each page, itself among them.
        waiting: Pages that have to run.
        ran: Pages that have run.
        unjudged: Pages to be compared, once all they need is known.
        judged: Results with what is wrong.
        statuses: What is said of the pages that are judged.
        is_told: Whether the terminal has been told that all agrees.
    """

    config: Config
    pages: dict[str, Page]
    report: Report
    signatures: Signatures
    expressions: dict[str, list[str]]
    needs: dict[str, set[str]]
    waiting: set[str]
    ran: set[str] = field(default_factory=set)
    unjudged: set[str] = field(default_factory=set)
    judged: dict[str, Result] = field(default_factory=dict)
    statuses: dict[str, Status] = field(default_factory=dict)
    is_told: bool = False

    def behind(self, path: str) -> list[tuple[Page, Run | None]]:
        """Return all that the verdict on a page depends on."""
        return [(self.pages[p], self.report.results[p].run) for p in sorted(self.needs[path])]

    def is_current(self, path: str) -> bool:
        """Whether the files behind a page are still those of this state."""
        files = {"pyproject.toml"}
        for page, run in self.behind(path):
            files |= {page.path, *(b.file for b in page.blocks), *(f for f, _, _ in page.shared)}
            if run and not cache.holds(self.config, run):
                return False
        root = self.config.root
        return all(_signature(root / name) == self.signatures.get(name) for name in files)

    def status(self, path: str) -> Status:
        """Return what can be said of a page: never that it agrees, when a file is newer."""
        if path not in self.pages:
            return {"state": "unknown", "problems": []}
        if not self.is_current(path):
            return {"state": "checking", "problems": []}
        return self.statuses.get(path) or _so_far(self, path)

    def link(self, path: str) -> str:
        """Return a hash of all the blocks of a page."""
        return cache.chain(runner.steps_here(self.pages[path], ""))[-1]


def signatures(config: Config, *others: str) -> Signatures:
    """Return the files that make up pages, and those of other folders, with what changes in them.

    Folders are named from the root.
    """
    folders = (config.docs, config.snippets, "pyproject.toml", *others)
    return {name: found for folder in folders for name, found in _walk(config.root, folder)}


def status_of(result: Result, report: Report) -> Status:
    """Return what is said of a page that has been judged."""
    figures = result.run.figures if result.run else {}
    outputs = [block for block in result.page.blocks if block.output]
    return {
        "state": "problems" if result.problems else "agreed",
        "problems": [_shown(problem, result.page) for problem in result.problems],
        "figures": {
            block.output_anchor: figures[block.number].svg
            for block in outputs
            if block.number in figures
        },
        "stamps": {block.output_anchor: output_stamp(block, result, report) for block in outputs},
    }


def _so_far(state: State, path: str) -> Status:
    """Return the status of a page that is being verified: which of its blocks agree already."""
    page, config = state.pages[path], state.config
    runs = [running.run.copy() for running in runner.running() if running.path == path]
    runs.append(cache.known(config, page, ""))
    numbers = [block.number for block in runner.steps_here(page, "")]
    runs = [
        run
        for run in runs
        if [*run.outputs] == numbers[: len(run.outputs)]  # those of the page as it is now
        and run.failure is None
        and cache.holds(config, run)
    ]
    run = max(runs, key=lambda run: len(run.outputs), default=Run())
    result = Result(page, run)
    for block in page.running:
        if block.number in run.outputs:
            judge_block(result, block, printed(run, block))
    report = replace(state.report, results={path: result}, wanted={path})
    here = agreed(result, "")
    stamps = {b.output_anchor: output_stamp(b, result, report) for b in here if b.output}
    return {"state": "checking", "problems": [], "stamps": stamps}


def _shown(problem: Problem, page: Page) -> dict[str, Any]:
    block = block_of(page, problem)
    return {
        "where": f"{problem.path}:{problem.line}",
        "message": problem.message,
        "hint": problem.hint,
        "detail": list(problem.detail),
        "anchor": block.anchor if block else "",
    }


def _walk(root: Path, name: str) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Yield the files of a folder by their path from the root, with what changes when they do."""
    path = root / name
    if path.is_dir():
        for entry in os.scandir(path):
            if entry.name != "__pycache__":
                yield from _walk(root, f"{name}/{entry.name}")
    elif signature := _signature(path):
        yield name, signature


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
