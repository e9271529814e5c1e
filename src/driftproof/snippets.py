"""What pages share under `snippets/`: programs, in regions, and prose that `--8<--` brings in."""

from __future__ import annotations

import re
from pathlib import Path

from driftproof.config import Config
from driftproof.fences import blanked, find_fences
from driftproof.options import OptionError, parse_header
from driftproof.page import Page
from driftproof.problem import Problem

_LONGEST = 20_000
"""Characters of a line: what searches it may take the square of their number in steps."""
INCLUDE = re.compile(r"^\s*-+8<-+(?:\s+(?P<quoted>\"[^\"]+\"|'[^']+'))?\s*$")
_REGION = re.compile(r"^\s*# --8<-- \[(start|end): *([\w-]+)\]\s*$")


def lines_of(content: bytes) -> list[str]:
    """Return the lines of a UTF-8 file without their endings; CR LF counts as one ending.

    A byte order mark is dropped.
    """
    return content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")


def unreadable(path: str, lines: list[str]) -> Problem | None:
    """Return why the lines of a file cannot be taken for a page, None where they can."""
    for i, text in enumerate(lines, 1):
        if "\r" in text:
            hint = "end lines with LF or CR LF"
            return Problem("encoding", path, i, "a carriage return stands alone", hint)
        if "\0" in text:
            return Problem("encoding", path, i, "a NUL character is in this line", "delete it")
        if len(text) > _LONGEST:
            message = f"this line has {len(text):,} characters; at most {_LONGEST:,} are read"
            hint = "break it, or keep its content in a file"
            return Problem("long-line", path, i, message, hint)
    return None


def read_region(config: Config, file: str) -> tuple[str, str, int] | str:
    """Return code, file and first line of `name.py` or `name.py:region`, or what is wrong."""
    name, _, region = file.partition(":")
    found = _read(config, name)
    if isinstance(found, str):
        return found
    path, lines = found
    start, end = 0, len(lines)
    if region:
        marks = {m[1]: i for i, t in enumerate(lines) if (m := _REGION.match(t)) and m[2] == region}
        if marks.keys() != {"start", "end"}:
            return f"{config.snippets}/{name} has no region {region!r} with a start and an end"
        start, end = marks["start"] + 1, marks["end"]
    kept = [text for text in lines[start:end] if not _REGION.match(text)]
    if len(kept) != end - start:
        return f"the region {region or name!r} of {config.snippets}/{name} holds another region"
    return "\n".join(kept).rstrip() + "\n", config.relative(path), start + 1


def _read(config: Config, name: str) -> tuple[Path, list[str]] | str:
    """Return the path and the lines of a file under `snippets/`, or what is wrong."""
    folder = config.root / config.snippets
    path = (folder / name).resolve()
    if not path.is_relative_to(folder) or not path.is_file():
        return f"there is no {config.snippets}/{name}"
    try:
        lines = lines_of(path.read_bytes())
    except UnicodeDecodeError:
        return f"{config.snippets}/{name} is not UTF-8"
    except OSError as error:
        return f"{config.snippets}/{name} cannot be read: {error.strerror}"
    if wrong := unreadable(f"{config.snippets}/{name}", lines):
        return f"{wrong.path}:{wrong.line}: {wrong.message}"
    return path, lines


def read_includes(config: Config, page: Page) -> None:
    """Read the prose that `page` includes into `page.shared`."""
    for i, content in enumerate(page.prose):
        if match := INCLUDE.match(content):
            if not match["quoted"]:
                page.problems.append(
                    Problem(
                        "include", page.path, i + 1, "`--8<--` without a file",
                        'write --8<-- "name.md"',
                    )
                )  # fmt: skip
                continue
            _include(config, page, match["quoted"][1:-1], f"{page.path}:{i + 1}", i + 1, ())


def _include(
    config: Config, page: Page, name: str, chain: str, line: int, inside: tuple[str, ...]
) -> None:
    def problem(message: str, hint: str) -> None:
        page.problems.append(Problem("include", page.path, line, f"{message} ({chain})", hint))

    if name in inside:
        problem(f"{config.snippets}/{name} includes itself", "take one of the `--8<--` lines out")
        return
    found = _read(config, name)
    if isinstance(found, str):
        problem(found, f"look for it under {config.snippets}/")
        return
    path, lines = found
    file = config.relative(path)
    try:
        fences, broken = find_fences(lines)
    except RecursionError:
        problem(f"{file} nests too deeply to be read", "use fewer levels")
        return
    bad = [fence.start for fence in broken]
    bad += [fence.start for fence in fences if fence.live and not _is_plain(fence.header)]
    if bad:
        problem(
            f"{file}:{min(bad) + 1} holds a fence that the page cannot run",
            "shared prose holds no blocks; put code into the page",
        )
        return
    for i, content in enumerate(blanked(lines, fences)):
        if match := INCLUDE.match(content):
            inner = (match["quoted"] or '""')[1:-1]
            _include(config, page, inner, f"{chain} > {file}:{i + 1}", line, (*inside, name))
        elif "<data" in content:
            hint = "bind it on the page, or print it there"
            problem(f"{file}:{i + 1} binds a number, which shared prose cannot", hint)
        else:
            page.shared.append((file, i + 1, content))


def _is_plain(header: str) -> bool:
    try:
        return parse_header(header)[0] not in ("python", "output")
    except OptionError:
        return False
