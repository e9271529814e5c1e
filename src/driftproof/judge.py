"""Judging a page: what its run printed against what it says."""

from __future__ import annotations

import re
from dataclasses import replace

from driftproof import borrowed
from driftproof.bound import agrees, shown
from driftproof.compare import Difference, compare, remarks
from driftproof.failure import Failure
from driftproof.page import Block, Bound, Page
from driftproof.problem import Problem
from driftproof.results import Report, Result, is_stale, printed, value_of
from driftproof.runs import Run
from driftproof.stamp import drifted_versions

_STALE = "the code or the recorded text changed since it was recorded"
_CORRECT = 'correct the code; what belongs to the page is declared by raises="…"'
_HINTS = {
    "Deadline": 'compute less, or allow more by timeout="…"',
    "TooMuchOutput": "print less, or raise the setting `max_output`",
    "ThreadLeft": "join it before the block ends",
    "ProcessLeft": "wait for it before the block ends",
    "Exited": "let the block end at its last line",
    "Killed": "see what the block asks of the machine",
    "NotRaised": "leave raises out, or correct the code",
    "FigureError": "give each figure a block of its own",
    "Interfered": "leave the descriptors alone that the block has not opened",
}
"""What to do about a block that ended otherwise than by an exception of its own."""
_TABLE = re.compile(r"\|.*\|\n\|(?:\s*:?-+:?\s*\|)+(?:\n\|.*\|)*")


def judge(result: Result, report: Report) -> None:
    """Add to `result` where its page and its run disagree, and what its author should know."""
    page, run = result.page, result.run
    result.problems += borrowed.problems(page, report)
    if run is None:
        return
    if run.failure is not None:
        result.problems.append(_failed(page, run))
    for block in page.running:
        if block.number in run.outputs and block.number != run.failed:
            judge_block(result, block, printed(run, block))
        elif block.output and block.output.device not in ("", report.device):
            _judge_unverified(result, block, report)
    for bound in page.bounds:
        judge_bound(result, bound, report)


def judge_block(result: Result, block: Block, got: str) -> None:
    """Add what is wrong with a block of which `got` is what it prints now."""
    page, output, run = result.page, block.output, result.run
    figure = run.figures.get(block.number) if run else None

    def problem(code: str, line: int, message: str, hint: str, *detail: str) -> None:
        result.problems.append(Problem(code, page.path, line, message, hint, detail))

    if figure and run and run.outputs[block.number]:
        problem("figure", block.line, "a block that shows a figure prints nothing else", "split it")
        return
    if output is None:
        if got:
            hint = "run `driftproof record` to write one"
            problem("missing-output", block.line, "the block prints, but has no output", hint)
        return
    line = output.fence.start + 1
    if (output.show == "figure") != bool(figure):
        hint = 'a figure\'s output says show="figure", and no other does'
        problem("figure", line, "block and output disagree on whether this is a figure", hint)
        return
    if output.show == "table" and not _TABLE.fullmatch(got):
        hint = "print a header line, a line of dashes and rows, each between |"
        problem("table", block.line, 'what the block prints is not the table of show="table"', hint)
        return
    if not got:
        problem("surplus-output", line, "the block prints nothing", "remove this output")
        return
    if is_stale(block):
        hint = f"run `driftproof record {page.path}`, and read what it changes"
        problem("seal", line, _STALE, hint)
    if output.is_leaf:
        return
    differences = got != output.text and compare(output.text, got, output.tolerance)
    if differences:
        for difference in differences:
            result.problems.append(_drift(page, output.fence.start + 2, difference))
        versions = drifted_versions(page, result.machine)
        if versions:
            last = result.problems.pop()
            result.problems.append(replace(last, detail=(*last.detail, *versions)))
    for at, text in remarks(output.text, output.tolerance):
        line, hint = output.fence.start + 2 + at, "see that a reader cannot take it for a value"
        result.notes.append(Problem("remark", page.path, line, text, hint))


def _judge_unverified(result: Result, block: Block, report: Report) -> None:
    output, page = block.output, result.page
    assert output is not None
    line = output.fence.start + 1
    elsewhere = f"check it with --device {output.device} where there is one"
    if not output.text.strip():
        text = f"no recording from a {output.device} device exists yet"
        if report.is_release:
            hint = f"a release has one: run `driftproof record --device {output.device}` there"
            result.problems.append(Problem("no-recording", page.path, line, text, hint))
        else:
            result.notes.append(Problem("unverified", page.path, line, text, elsewhere))
    elif is_stale(block):
        hint = f"record it again on a machine with a {output.device} device"
        result.problems.append(Problem("seal", page.path, line, _STALE, hint))
    else:
        text = f"recorded on another device ({output.device}); not verified here"
        result.notes.append(Problem("unverified", page.path, line, text, elsewhere))


def judge_bound(result: Result, bound: Bound, report: Report) -> None:
    """Add what is wrong with a bound number."""
    path = result.page.path

    def problem(code: str, message: str, hint: str) -> None:
        result.problems.append(Problem(code, path, bound.line, message, hint))

    if bound.slug and bound.slug not in report.owners:
        known = ", ".join(sorted(report.owners))
        problem(
            "bound-number",
            f"no page, or more than one, is called {bound.slug!r}",
            f"pages: {known}",
        )
        return
    owner = report.results.get(report.owners[bound.slug]) if bound.slug else result
    if owner and not owner.page.writes(bound.expression):
        problem(
            "bound-number",
            f"{bound.expression} is bound to itself, and no block writes it",
            "bind what the code computes, or cite its source on this line",
        )
        return
    value = value_of(bound, result.page, report)
    if value is None:
        if bound.slug:
            message = f"the page {bound.slug!r} did not run to its end"
            problem("bound-number", message, "see what stopped it")
    elif isinstance(value, Failure):
        message = f"{bound.expression!r} fails: {value.kind}: {value.message}"
        problem("bound-number", message, "it is evaluated after the last block; print it there")
    elif not agrees(bound.text, value, bound.tolerance):
        problem(
            "drift",
            f"{bound.text!r} should read {shown(bound.text, value)!r}: "
            f"{bound.expression} is {value!r}",
            f"if the new value is right, run `driftproof record {path}`",
        )


def _failed(page: Page, run: Run) -> Problem:
    failure = run.failure
    assert failure is not None
    block = next((b for b in page.blocks if b.number == run.failed), None)
    file, line = failure.file or page.path, failure.line or (block.line if block else 1)
    detail = list(failure.frames)
    if block:
        later = len([b for b in page.running if b.number > block.number])
        lines = block.code.rstrip("\n").split("\n")
        detail = [f"{i}: {text}" for i, text in enumerate(lines, block.first)][:40]
        detail += [frame for frame in failure.frames if not frame.startswith(f"{block.file}:")]
        if later:
            detail.append(f"blocks after it, not run: {later}")
    if run.stderr:
        detail += [f"stderr: {text}" for text in run.stderr.splitlines()[-5:]]
    message = f"{failure.kind}: {failure.message}" if failure.message else failure.kind
    hint = _HINTS.get(failure.kind, _CORRECT)
    if file != page.path and block:
        hint = f"run by the block at {page.path}:{block.line}; {hint}"
    return Problem("block-failed", file, line, message, hint, tuple(detail), run.failed)


def _drift(page: Page, first: int, difference: Difference) -> Problem:
    return Problem(
        "drift",
        page.path,
        first + difference.line,
        difference.reason,
        f"if the new output is right, run `driftproof record {page.path}`",
        (f"recorded: {difference.recorded}", f"printed:  {difference.got}"),
    )
