"""The grammar of a page: blocks, their outputs, bound numbers. One parser for every use."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from driftproof.compare import Tolerance
from driftproof.config import Config
from driftproof.fences import Fence, blanked, find_fences, without_code_spans
from driftproof.mathematics import FORMULA
from driftproof.names import loaded
from driftproof.numbers import find_numbers
from driftproof.options import OptionError, Options, parse_header
from driftproof.page import Block, Bound, Output, Page
from driftproof.problem import Problem
from driftproof.snippets import INCLUDE, read_includes, read_lines, read_region

# A page may begin with a rule and hold another: between them, prose is no front matter.
FRONT_MATTER = re.compile(
    r"\A-{3}[ \t]*\n(?:(?:[\w\"' -]+:.*|[ \t#-].*)?\n)*?(?:\.{3}|-{3})[ \t]*(?:\n|\Z)"
)
DATA = re.compile(r"<data\b(?P<attributes>[^<>]*(?:\"[^\"]*\"[^<>\"]*)*)>(?P<text>[^<]*)</data>")
_ATTRIBUTE = re.compile(r"""\s+([a-z]+)=("[^"]*"|'[^']*')""")
_SLUG = re.compile(r"([a-z0-9][a-z0-9-]*):(.+)", re.DOTALL)


def parse_page(config: Config, path: str) -> Page:
    """Parse the page at `path` (relative to the root); what is wrong is in `page.problems`."""
    try:
        lines = read_lines(config.root / path)
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8"
        return Page(path, [], problems=[Problem("encoding", path, 1, f"not UTF-8: {error}", hint)])
    return parse_text(config, path, lines)


def parse_text(config: Config, path: str, lines: list[str]) -> Page:
    """Parse a page from its lines."""
    page = Page(path, lines, is_of_examples=path in config.examples)

    def problem(code: str, line: int, message: str, hint: str) -> None:
        page.problems.append(Problem(code, path, line, message, hint))

    for i, text in enumerate(lines, 1):
        if "\r" in text:
            problem("encoding", i, "a carriage return stands alone", "end lines with LF or CR LF")
            return page
    visible = list(lines)
    if match := FRONT_MATTER.match("\n".join(lines)):
        end = match.group(0).count("\n")
        visible[:end] = [""] * end
    fences, broken = find_fences(visible)
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
    _read_bounds(page)
    read_includes(config, page)
    _check_leaves(page)
    return page


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

    def problem(code: str, message: str, hint: str = "", at: int = line) -> None:
        page.problems.append(Problem(code, page.path, at, message, hint))

    if "exec" in options and "reason" not in options:
        problem("option-value", 'exec="off" needs a reason', 'add reason="…"')
    if "reason" in options and "exec" not in options:
        problem("option-value", 'reason="…" goes with exec="off"')
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

    def problem(code: str, message: str, hint: str = "") -> None:
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
        problem("surplus-output", "the block above does not run, so it prints nothing")
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
        problem("option-value", "because goes with rtol or atol")
    if "measured" in options and tolerant:
        problem("option-value", "a measured output has no tolerance: its digits are not compared")
    page.blocks[-1] = replace(block, output=Output(fence, options))


def _read_bounds(page: Page) -> None:
    text = without_code_spans("\n".join(page.prose))
    for line, content in enumerate(text.split("\n"), 1):
        formulas = [formula.span() for formula in FORMULA.finditer(content)]
        for match in DATA.finditer(content):
            if any(start <= match.start() < end for start, end in formulas):
                hint = "end the formula before it"
                page.problems.append(
                    Problem("bound-number", page.path, line, "<data> inside a formula", hint)
                )
            elif "|" in match[0] and "|" in DATA.sub("", content):
                hint = "give the expression a name without | in a block"
                page.problems.append(
                    Problem("bound-number", page.path, line, "| in <data> cuts a table row", hint)
                )
            else:
                _read_bound(page, match, line)
        if re.search(r"<data\b", DATA.sub("", content)):
            page.problems.append(
                Problem(
                    "bound-number",
                    page.path,
                    line,
                    "this <data> element is not understood",
                    'write <data value="expression">text</data> on one line, without < or > '
                    "in the expression",
                )
            )


def _read_bound(page: Page, match: re.Match[str], line: int) -> None:
    def problem(message: str, hint: str = "") -> None:
        page.problems.append(Problem("bound-number", page.path, line, message, hint))

    attributes = match["attributes"]
    values = {name: quoted[1:-1] for name, quoted in _ATTRIBUTE.findall(attributes)}
    unknown = sorted(values.keys() - {"value", "rtol", "because"})
    if unknown or _ATTRIBUTE.sub("", attributes).strip() or "value" not in values:
        problem(
            f"<data{attributes}> is not understood",
            'it takes value="expression" and, with a reason in because="…", rtol="…"',
        )
        return
    if "rtol" in values and not values.get("because", "").strip():
        problem("rtol needs a reason", 'add because="…"')
    try:
        rtol = float(values.get("rtol", 0.0))
    except ValueError:
        rtol = -1.0
    if not 0 <= rtol < 1:
        problem(f"rtol={values['rtol']!r} is not a number from 0 to 1")
        return
    expression, slug = values["value"], ""
    if owner := _SLUG.fullmatch(expression):
        slug, expression = owner.groups()
    try:
        ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError):
        problem(f"{expression!r} is not a Python expression")
        return
    if not match["text"].strip():
        problem("the element is empty", "write the number it stands for")
        return
    if len(find_numbers(match["text"])) > 1:
        problem(f"{match['text']!r} holds several numbers", "give each an element of its own")
        return
    page.bounds.append(
        Bound(expression, slug, match["text"], Tolerance(rtol), line, match.start("text"))
    )


def _check_leaves(page: Page) -> None:
    """Refuse what depends on a block whose numbers depend on the machine."""
    leaf: dict[str, Block] = {}

    def refuse(names: set[str], line: int) -> None:
        for name in sorted(names & leaf.keys()):
            page.problems.append(
                Problem(
                    "measured-leaf",
                    page.path,
                    line,
                    f"{name!r} comes from the block at line {leaf[name].line}, whose numbers "
                    "depend on the machine",
                    "only that block may use it; compute what others need before it",
                )
            )

    for block in page.running:
        if block.tree is None:
            continue
        refuse(loaded(block.tree), block.line)
        for name in block.assigned:
            leaf.pop(name, None)
        if block.output and block.output.is_leaf:
            leaf.update(dict.fromkeys(block.assigned, block))
    for bound in page.bounds:
        if not bound.slug:
            refuse(loaded(ast.parse(bound.expression.strip(), mode="eval")), bound.line)
