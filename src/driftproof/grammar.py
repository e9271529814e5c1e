"""The grammar of a page: blocks, their outputs, bound numbers. One parser for every use."""

from __future__ import annotations

import re
from dataclasses import replace

from driftproof.bound import read_bounds
from driftproof.config import Config
from driftproof.fences import Fence, blanked, find_fences, without_code_spans
from driftproof.options import OptionError, Options, parse_header
from driftproof.page import Block, Output, Page
from driftproof.problem import Problem
from driftproof.snippets import INCLUDE, lines_of, read_includes, read_region, unreadable

# A page may begin with a rule and hold another: between them, prose is no front matter.
FRONT_MATTER = re.compile(
    r"\A-{3}[ \t]*\n(?:(?:[\w\"' -]+:.*|[ \t#-].*)?\n)*?(?:\.{3}|-{3})[ \t]*(?:\n|\Z)"
)


def parse_page(config: Config, path: str) -> Page:
    """Parse the page at `path` (relative to the root); what is wrong is in `page.problems`."""
    try:
        content = (config.root / path).read_bytes()
    except OSError as error:
        message, hint = f"cannot be read: {error.strerror}", "see to it that it is a readable file"
        return Page(path, [], problems=[Problem("encoding", path, 1, message, hint)])
    return parse_bytes(config, path, content)


def parse_bytes(config: Config, path: str, content: bytes) -> Page:
    """Parse a page from what its file holds."""
    try:
        lines = lines_of(content)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        message, hint = f"not UTF-8: {error.reason}", "save it as UTF-8"
        return Page(path, [], problems=[Problem("encoding", path, line, message, hint)])
    return parse_text(config, path, lines)


def parse_text(config: Config, path: str, lines: list[str]) -> Page:
    """Parse a page from its lines."""
    page = Page(path, lines, is_of_examples=path in config.examples)

    def problem(code: str, line: int, message: str, hint: str) -> None:
        page.problems.append(Problem(code, path, line, message, hint))

    if wrong := unreadable(path, lines):
        page.problems.append(wrong)
        return page
    visible = list(lines)
    if match := FRONT_MATTER.match("\n".join(lines)):
        end = match.group(0).count("\n")
        visible[:end] = [""] * end
    try:
        fences, broken = find_fences(visible)
    except RecursionError:
        deepest = max(range(len(visible)), key=lambda i: _depth(visible[i])) + 1
        message = "lists, quotes or boxes lie too deep inside each other to be read"
        problem("nesting", deepest, message, "use fewer levels")
        return page
    if broken:
        hint = "close it with the same ticks at the same indent; use more ticks outside than inside"
        problem("unclosed-fence", broken[0].start + 1, f"the fence {broken[0].reason}", hint)
        return page
    page.prose = blanked(visible, fences)
    for i, text in enumerate(without_code_spans("\n".join(page.prose)).split("\n"), 1):
        if "<!--" in text:
            hint = "close it with -->; one that holds blank lines must begin its line"
            problem("unclosed-comment", i, "this comment is never closed", hint)
    _read_fences(config, page, fences)
    read_bounds(page)
    read_includes(config, page)
    return page


def _depth(line: str) -> int:
    """Return how far a line is indented, by blanks and `>`."""
    return len(line) - len(line.lstrip(" \t>"))


def _read_fences(config: Config, page: Page, fences: list[Fence]) -> None:
    previous: Block | None = None
    understood = True
    seen: dict[str, int] = {}
    for fence in fences:
        language, was_understood, understood = "", understood, True
        try:
            language, options = parse_header(fence.header)
        except OptionError as error:
            if fence.live:
                page.problems.append(
                    Problem(error.code, page.path, fence.start + 1, error.message, error.hint)
                )
            understood, options = False, {}
        page.fences.append((language, fence))
        if not fence.live:
            continue
        if language == "python":
            previous = _read_block(config, page, fence, options)
            page.blocks.append(previous)
            first = seen.setdefault(previous.anchor, previous.line)
            if first < previous.line:
                page.problems.append(
                    Problem(
                        "duplicate-id",
                        page.path,
                        previous.line,
                        f"the id {previous.anchor!r} is already that of the block at line {first}",
                        "ids are unique on a page",
                    )
                )
        elif language == "output" and was_understood:
            _read_output(page, fence, options, previous)
            previous = None
        else:
            previous = None


def _read_block(config: Config, page: Page, fence: Fence, options: Options) -> Block:
    line = fence.start + 1

    def problem(code: str, message: str, hint: str, at: int = line) -> None:
        page.problems.append(Problem(code, page.path, at, message, hint))

    if "exec" in options and "reason" not in options:
        problem("option-value", 'exec="off" needs a reason', 'add reason="…"')
    if "reason" in options and "exec" not in options:
        problem("option-value", 'reason="…" goes with exec="off"', "leave the reason out")
    for i, text in enumerate(fence.body):
        if INCLUDE.match(text):
            problem(
                "include-in-code",
                "`--8<--` brings in prose, not code",
                'use file="name.py" on the fence: recording fills in the code',
                line + 1 + i,
            )
    code, file, first = "\n".join(fence.body) + "\n", page.path, line + 1
    if "file" in options:
        found = read_region(config, str(options["file"]))
        if isinstance(found, str):
            problem("file", found, f"look for it under {config.snippets}/")
        else:
            text, file, first = found
            if not fence.shows(text):
                problem(
                    "file",
                    f"the code shown is not that of {options['file']}",
                    "run `driftproof record` to fill it in",
                )
            code = text
    return Block(len(page.blocks) + 1, fence, options, code, file, first)


def _read_output(page: Page, fence: Fence, options: Options, block: Block | None) -> None:
    line = fence.start + 1

    def problem(code: str, message: str, hint: str) -> None:
        page.problems.append(Problem(code, page.path, line, message, hint))

    between = page.lines[block.fence.end + 1 : fence.start] if block else []
    if block is None or "".join(between).strip(" >\t"):
        problem(
            "surplus-output",
            "this `output` fence does not follow a block",
            "it belongs right after the block that prints it",
        )
        return
    if not block.runs:
        hint = "show it in a `text` fence"
        problem("surplus-output", "the block above does not run, so it prints nothing", hint)
        return
    if fence.prefix != block.fence.prefix:
        problem(
            "surplus-output",
            "this `output` fence is not indented like its block",
            "give both the same indent",
        )
        return
    tolerant = options.keys() & {"rtol", "atol"}
    if tolerant and "because" not in options:
        problem("option-value", f"{min(tolerant)} needs a reason", 'add because="…"')
    if "because" in options and not tolerant:
        hint = "leave it out, or declare a tolerance"
        problem("option-value", "because goes with rtol or atol", hint)
    if "measured" in options and tolerant:
        message = "a measured output has no tolerance: its digits are not compared"
        problem("option-value", message, "leave the tolerance out")
    if options.get("show") == "figure" and options.keys() & {"measured", "device"}:
        problem(
            "option-value",
            "a figure cannot be a measurement: each build would draw another under an old date",
            "draw it from numbers that a script recorded",
        )
    page.blocks[-1] = replace(block, output=Output(fence, options))
