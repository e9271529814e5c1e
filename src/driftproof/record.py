"""Recording: accept what a run printed into the page, and touch nothing else in it."""

from __future__ import annotations

import codecs
import datetime
import os
import re
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, field

from driftproof import runner
from driftproof.bound import agrees, shown
from driftproof.check import check
from driftproof.compare import compare
from driftproof.config import Config
from driftproof.failure import Failure
from driftproof.fences import Fence
from driftproof.grammar import FRONT_MATTER, parse_page, parse_text
from driftproof.kept import write_aside
from driftproof.machine import Machine
from driftproof.page import Block, Page
from driftproof.problem import DriftproofError, Problem
from driftproof.results import Report, is_stale, printed, seal, value_of
from driftproof.runs import Run
from driftproof.snippets import read_region
from driftproof.stamp import recorded, stamp


@dataclass(frozen=True)
class Change:
    """One thing recorded anew, at a line of a page as it was: old text, new text."""

    path: str
    line: int
    old: str
    new: str
    relative: float | None = None


@dataclass
class Recording:
    """What recording changed, which pages it wrote, and which it left, with what is wrong."""

    changes: list[Change] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    left: dict[str, list[Problem]] = field(default_factory=dict)


def record(
    config: Config,
    paths: Iterable[str] | None = None,
    *,
    device: str = "",
    executor: Executor | None = None,
) -> Recording:
    """Run pages and rewrite the outputs and bound numbers that drifted.

    A page with a block that fails, or that is not understood, is left as it is. With a device,
    only what that device alone can print is written: everything else is recorded on the CPU.

    Raises:
        DriftproofError: Under continuous integration, where nobody would read the change.
    """
    refuse_under_ci()
    raw = {path: raw_lines(config, path) for path in config.pages()}
    pages = {path: _with_files(config, path, lines) for path, lines in raw.items()}
    wanted = list(pages) if paths is None else list(paths)
    measured = {path for path in wanted if any(map(_needs_measuring, pages[path].running))}
    report = check(config, wanted, device=device, pages=pages, anew=measured, executor=executor)
    done = Recording()
    for path in wanted:
        run = report.results[path].run
        if run is None or run.failure is not None or pages[path].problems:
            done.left[path] = pages[path].problems or [
                problem
                for problem in report.results[path].problems
                if problem.code == "block-failed"
            ]
            continue
        done.changes += _record_page(config, pages[path], run, report, raw[path])
        if write_lines(config, path, raw[path]):
            done.written.append(path)
    return done


def refuse_under_ci() -> None:
    """Raise a DriftproofError under continuous integration."""
    if os.environ.get("CI"):
        hint = "record locally, read the change and commit it"
        raise DriftproofError("ci", "recording is refused under CI", hint)


def _needs_measuring(block: Block) -> bool:
    """Whether a block's measurement is to be recorded, so that a kept run of it is too old."""
    return bool(block.output and block.output.measured) and is_stale(block)


def raw_lines(config: Config, path: str) -> list[str]:
    """Return the lines of a page with the carriage returns that some of them end in."""
    return (config.root / path).read_bytes().decode("utf-8-sig", "replace").split("\n")


def write_lines(config: Config, path: str, lines: list[str]) -> bool:
    """Write a page that `raw_lines` has read; return whether that changed it."""
    file = config.root / path
    before = file.read_bytes()
    mark = codecs.BOM_UTF8 if before.startswith(codecs.BOM_UTF8) else b""
    content = mark + "\n".join(lines).encode()
    if content == before:
        return False
    mode = file.stat().st_mode
    write_aside(file, content)
    file.chmod(mode)
    return True


def _with_files(config: Config, path: str, lines: list[str]) -> Page:
    """Fill in the bodies of the page's `file=` blocks; return the page that `lines` then are."""
    page = parse_page(config, path)
    if any(problem.code == "encoding" for problem in page.problems):
        return page
    for block in reversed(page.blocks):
        found = read_region(config, str(block.options["file"])) if "file" in block.options else ""
        if not isinstance(found, str) and not block.fence.shows(found[0]):
            _fill(lines, block.fence, found[0].rstrip("\n"))
    return parse_text(config, path, [line.removesuffix("\r") for line in lines])


def _record_page(
    config: Config, page: Page, run: Run, report: Report, lines: list[str]
) -> list[Change]:
    """Rewrite `lines`, from the bottom up; return what changed, from the top down."""
    changes: list[Change] = []
    device, at = report.device, report.results[page.path].machine
    bounds = [] if device else page.bounds
    for bound in sorted(bounds, key=lambda b: (b.line, b.start), reverse=True):
        value = value_of(bound, page, report)
        if value is None or isinstance(value, Failure):
            continue
        if not agrees(bound.text, value, bound.tolerance):
            new, line = shown(bound.text, value), lines[bound.line - 1]
            after = line[bound.start + len(bound.text) :]
            lines[bound.line - 1] = line[: bound.start] + new + after
            changes.append(Change(page.path, bound.line, bound.text, new))
    for block in reversed(runner.steps_here(page, device)):
        if not device or (block.output and block.output.device):
            changes += _record_block(lines, page, block, run, at)
    if device:
        return sorted(changes, key=lambda change: change.line)
    if changes or (recorded(page) is None and page.running):
        _write_stamp(lines, page, f"recorded: {stamp(config, page, run, at)}")
    return sorted(changes, key=lambda change: change.line)


def _record_block(
    lines: list[str], page: Page, block: Block, run: Run, machine: Machine
) -> list[Change]:
    """Put what a block printed into its output; return what changed."""
    got, output, fence = printed(run, block), block.output, block.fence
    if not got:
        return []
    if output is None:
        show = ' show="figure"' if block.number in run.figures else ""
        ticks, at = _ticks(got, "```"), fence.end + 1
        new = f"\n{ticks}output{show}\n{got}\n{ticks}"
        added = _indented(fence.prefix, new, lines[fence.start])
        if at == len(lines):  # no line ending after the block
            lines[-1] += _ending(lines[fence.start])
            added[-1] = added[-1].removesuffix("\r")
        lines[at:at] = added
        return [Change(page.path, at + 1, "", got)]
    differences = [] if output.is_leaf else compare(output.text, got, output.tolerance)
    if not differences and not is_stale(block):
        return []
    write_output(lines, block, got, measured_on(output.device, machine))
    first = output.fence.start + 2
    if not differences:
        return [Change(page.path, first, output.text, got)]
    return [Change(page.path, first + d.line, d.recorded, d.got, d.change) for d in differences]


def write_output(lines: list[str], block: Block, text: str, measured: str) -> None:
    """Put `text` between the fences of a block's output, and renew the stamps of its header."""
    output = block.output
    assert output is not None
    start = output.fence.start
    _fill(lines, output.fence, text)
    header = lines[start].removesuffix("\r")
    if output.measured:
        header = _with_option(header, "measured", measured)
    if output.is_sealed:
        header = _with_option(header, "code", seal(block, text))
    lines[start] = header + _ending(lines[start])


def _fill(lines: list[str], fence: Fence, text: str) -> None:
    """Put `text` into a fence, with more ticks where it would end it."""
    longer = _ticks(text, fence.ticks)
    lines[fence.end] = lines[fence.end].replace(fence.ticks, longer, 1)
    lines[fence.start + 1 : fence.end] = _indented(fence.prefix, text, lines[fence.start])
    lines[fence.start] = lines[fence.start].replace(fence.ticks, longer, 1)


def _write_stamp(lines: list[str], page: Page, text: str) -> None:
    ending = _ending(lines[0])
    if found := recorded(page):
        lines[found[0]] = text + _ending(lines[found[0]])
    elif FRONT_MATTER.match("\n".join(page.lines)):
        lines.insert(1, text + ending)
    else:
        lines[:0] = [line + ending for line in ("---", text, "---", "")]


def _ticks(text: str, ticks: str) -> str:
    """Return `ticks`, made longer until no line of `text` could close the fence."""
    while re.search(rf"^\s*{re.escape(ticks)}", text, re.MULTILINE):
        ticks += ticks[0]
    return ticks


def _with_option(header: str, name: str, value: str) -> str:
    pattern = re.compile(rf"""\b{name}=("[^"]*"|'[^']*')""")
    if pattern.search(header):
        return pattern.sub(lambda _: f'{name}="{value}"', header, count=1)
    body, brace = (header.rstrip()[:-1], "}") if header.rstrip().endswith("}") else (header, "")
    return f'{body.rstrip()} {name}="{value}"{brace}'


def measured_on(device: str, at: Machine) -> str:
    """Return processor or accelerator, version of torch and date, as the page will show them."""
    torch = at.version("torch")
    today = datetime.date.today().isoformat()
    where = (device and at.accelerator) or at.processor
    return " · ".join(part for part in (where, torch and f"torch {torch}", today) if part)


def _indented(prefix: str, text: str, like: str) -> list[str]:
    """Return the lines of `text` behind `prefix`, ended as the line `like` is."""
    return [(prefix + line).rstrip() + _ending(like) for line in text.split("\n")]


def _ending(line: str) -> str:
    return "\r" if line.endswith("\r") else ""
