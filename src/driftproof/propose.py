"""Recordings as data: what a run printed on another machine, and accepting it here.

A report comes from a machine that nobody here can vouch for. So it names a page, a block and a
text, and nothing else of it is used: which file is written, between which lines and under which
seal is decided here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from driftproof.compare import compare
from driftproof.config import Config
from driftproof.grammar import parse_page, parse_text
from driftproof.page import Block, Page
from driftproof.problem import DriftproofError
from driftproof.reader import clean
from driftproof.record import (
    Change,
    Recording,
    measured_on,
    raw_lines,
    refuse_under_ci,
    write_lines,
    write_output,
)
from driftproof.results import Report, is_stale, printed

_LARGEST = 20_000_000
_STAMP = re.compile(r"[\w.,+()/ ·-]{1,120} · \d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class Proposal:
    """A text for an output.

    Attributes:
        page: The page, relative to the root.
        block: The anchor of the block that printed it.
        code: SHA-256 of that block's code.
        text: What the block printed.
        measured: On what and when.
    """

    page: str
    block: str
    code: str
    text: str
    measured: str


def proposals(report: Report) -> list[Proposal]:
    """Return a text for each output that the run would change.

    On another device only outputs of that device count, and those that were measured anew.
    """
    found = []
    for path in sorted(report.wanted):
        result = report.results[path]
        page, run = result.page, result.run
        if run is None or run.failure is not None:
            continue
        for block in page.running:
            output = block.output
            if output is None or block.number not in run.outputs:
                continue
            got = printed(run, block)
            if report.device:
                is_new = output.device == report.device and output.text != got
            elif output.is_leaf:
                is_new = False
            else:
                is_new = bool(compare(output.text, got, output.tolerance))
            if got and (is_new or (is_stale(block) and output.device == report.device)):
                measured = measured_on(output.device, result.machine)
                found.append(Proposal(path, block.anchor, _digest(block), got, measured))
    return found


def as_data(report: Report) -> list[dict[str, str]]:
    """Return the proposals as they stand in a report."""
    return [asdict(proposal) for proposal in proposals(report)]


def accept(config: Config, file: Path, only: Collection[str] | None = None) -> Recording:
    """Write the proposals of a report into the pages, all of them or, where one is wrong, none.

    Args:
        config: The project's settings.
        file: The report.
        only: The pages to write; every page that the report names by default.

    Raises:
        DriftproofError: The report is not understood, or does not fit the pages as they are.
    """
    refuse_under_ci()
    named = [p for p in _read(file) if only is None or p.page in only]
    known = set(config.pages())
    done, lines = Recording(), {}
    for path in sorted({proposal.page for proposal in named}):
        if path not in known or (config.root / path).is_symlink():
            raise _refused(file, f"{path!r} is not a page of this project")
        page = parse_page(config, path)
        mine = [(_block(file, page, p), p) for p in named if p.page == path]
        if len({block.number for block, _ in mine}) < len(mine):
            raise _refused(file, f"{path}: two texts for one block")
        lines[path] = raw_lines(config, path)
        changes = []
        for block, proposal in sorted(mine, key=lambda each: each[0].number, reverse=True):
            assert block.output is not None
            if block.output.text == proposal.text and not is_stale(block):
                continue
            write_output(lines[path], block, proposal.text, proposal.measured)
            at = block.output.fence.start + 2
            changes.append(Change(path, at, block.output.text, proposal.text))
        _confirm(config, file, page, lines[path], {b.number: p.text for b, p in mine})
        done.changes += reversed(changes)
    done.written = [path for path in lines if write_lines(config, path, lines[path])]
    return done


def _read(file: Path) -> list[Proposal]:
    try:
        if file.stat().st_size > _LARGEST:
            raise _refused(file, f"larger than {_LARGEST:,} bytes; no report is")
        content = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise _refused(file, f"{error.strerror}") from None
    except (ValueError, RecursionError):
        raise _refused(file, "not JSON; `driftproof check --report` writes it") from None
    entries = content.get("proposals") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise _refused(file, "no list of proposals; is this a report of driftproof?")
    return [_proposal(file, number, entry) for number, entry in enumerate(entries, 1)]


def _proposal(file: Path, number: int, entry: Any) -> Proposal:
    names = {field.name for field in fields(Proposal)}
    if not isinstance(entry, dict) or entry.keys() != names:
        raise _refused(file, f"proposal {number}: needs {', '.join(sorted(names))}")
    if not all(isinstance(value, str) for value in entry.values()):
        raise _refused(file, f"proposal {number}: every value has to be text")
    proposal = Proposal(**entry)
    if not _STAMP.fullmatch(proposal.measured):
        raise _refused(
            file, f"proposal {number}: {proposal.measured!r} is not a stamp of machine and date"
        )
    if not proposal.text or proposal.text != clean(proposal.text):
        raise _refused(
            file,
            f"proposal {number}: its text is not what a run records: it is empty, "
            "or has control characters or blanks at the end of a line",
        )
    return proposal


def _block(file: Path, page: Page, proposal: Proposal) -> Block:
    """Return the block that a proposal is for, if it still has the code that was run."""
    where = f"{page.path}#{proposal.block}"
    found = [block for block in page.running if block.anchor == proposal.block]
    if page.problems or len(found) != 1 or found[0].output is None:
        raise _refused(file, f"{where}: the page has no such block with an output")
    if _digest(found[0]) != proposal.code:
        raise _refused(file, f"{where}: its code is not the code that was run")
    return found[0]


def _confirm(
    config: Config, file: Path, page: Page, lines: list[str], texts: dict[int, str]
) -> None:
    """Raise a DriftproofError unless the page now is what it was, with these texts in it."""
    after = parse_text(config, page.path, [line.removesuffix("\r") for line in lines])
    expected = [_seen(block, texts.get(block.number)) for block in page.blocks]
    prose = [line for line in page.prose if line.strip()]
    if (
        [_seen(block, None) for block in after.blocks] != expected
        or [line for line in after.prose if line.strip()] != prose
        or len(after.problems) > len(page.problems)
    ):
        raise _refused(file, f"{page.path}: a text would change more than its output")


def _seen(block: Block, text: str | None) -> tuple[str, str | None]:
    """Return the code of a block and its output, which may be `text`."""
    return block.code, text or (block.output.text if block.output else None)


def _digest(block: Block) -> str:
    return hashlib.sha256(block.code.encode()).hexdigest()


def _refused(file: Path, message: str) -> DriftproofError:
    hint = "nothing was written; run `driftproof check --report` again on that machine"
    return DriftproofError("report", message, hint, str(file))
