"""What can be wrong with a page that is well formed: numbers that nothing keeps, lone formulas."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from decimal import Context, Decimal, InvalidOperation

from driftproof.bound import DATA
from driftproof.fences import without_code_spans
from driftproof.mathematics import FORMULA, MathematicsError, render
from driftproof.names import loaded, parsed
from driftproof.numbers import Number, find_numbers
from driftproof.page import Block, Page
from driftproof.problem import Problem

_CITED = re.compile(r"\[\^[^\]]+\]|\[@[^\]]+\]|doi\.org|arxiv", re.IGNORECASE)
_DIGIT = re.compile(r"[0-9]")
_NOT_PROSE = (
    DATA,
    re.compile(r"(?<=\])\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)"),
    re.compile(r"^\s*\[[^\]]+\]:\s.*"),
    re.compile(r"<https?:[^>]*>|https?://\S+"),
    re.compile(r"\{:?\s*(?:[#.]|[\w-]+=\")[^{}]*\}"),
    re.compile(r"</?[A-Za-z][^<>]*>"),
    re.compile(r"^[\s>]*(?:(?:[-*+]\s+)?\d+|#+\s+\d+(?:\.\d+)*)[.)](?=\s)"),
)
_PARAGRAPH = re.compile(r"(?:^.*\S.*(?:\n|\Z))+", re.MULTILINE)
_PRECISE = Context(prec=400)
_SMALL = 10
_YEARS = range(1940, 2031)


def problems(page: Page) -> list[Problem]:
    """Return what is wrong with a page that runs and whose outputs agree."""
    return misused_measurements(page) + unbound_numbers(page) + malformed_formulas(page)


def unbound_numbers(page: Page) -> list[Problem]:
    """Return a problem for each number in the page's prose that could go stale unnoticed."""
    if page.is_of_examples:
        return []
    lines = [(page.path, i, text) for i, text in enumerate(page.prose, 1)]
    for fence in (fence for language, fence in page.fences if language == "math" and fence.live):
        body = enumerate((f"${text}$" for text in fence.body), fence.start + 2)
        lines += [(page.path, i, text) for i, text in body]
    found = [
        (path, line, text[number.start : number.end], number)
        for path, line, text in lines + page.shared
        for number in checked_numbers(text)
    ]
    known = list(known_numbers(page)) if found else []
    return [
        Problem(
            "unbound-number",
            path,
            line,
            f"{written} is neither bound, printed, in the code, nor cited",
            'write <data value="expression">…</data>, or print it, or cite its source on this line',
        )
        for path, line, written, number in found
        if not is_known(number, known)
    ]


def malformed_formulas(page: Page) -> list[Problem]:
    """Return a problem for each formula of the page that cannot be converted."""
    found = []
    for path, line, tex, display in formulas(page):
        if tex is None:
            hint = "close the formula with $$ in the same paragraph"
            found.append(Problem("formula", path, line, "this `$$` has no partner", hint))
            continue
        try:
            render(tex, display)
        except MathematicsError as error:
            hint = f"correct {tex.strip()!r}"
            found.append(Problem("formula", path, line + error.line, error.message, hint))
    return found


def formulas(page: Page) -> Iterator[tuple[str, int, str | None, bool]]:
    """Yield file, line and TeX of each formula, None for a lone `$$`, and whether it is display."""
    for language, fence in page.fences:
        if language == "math" and fence.live:
            yield page.path, fence.start + 2, "\n".join(fence.body), True
    lines = [(page.path, i, text) for i, text in enumerate([*page.prose, ""], 1)] + page.shared
    for paragraph in _PARAGRAPH.finditer("\n".join(text for *_, text in lines)):
        text = paragraph[0]
        for match in FORMULA.finditer(without_code_spans(text)) if "$" in text else ():
            index = paragraph.string.count("\n", 0, paragraph.start() + match.start())
            path, line, _ = lines[index]
            yield path, line, match["display"] or match["inline"], match["inline"] is None


def misused_measurements(page: Page) -> list[Problem]:
    """Return a problem for what depends on a block whose numbers depend on the machine."""
    problems: list[Problem] = []
    leaf: dict[str, Block] = {}

    def refuse(names: set[str], line: int) -> None:
        problems.extend(
            Problem(
                "measured-leaf",
                page.path,
                line,
                f"{name!r} comes from the block at line {leaf[name].line}, whose numbers "
                "depend on the machine",
                "only that block may use it; compute what others need before it",
            )
            for name in sorted(names & leaf.keys())
        )

    for block in page.running:
        if block.is_too_deep:
            message = "the code of this block nests too deeply to be looked at"
            hint = "give its parts names"
            problems.append(Problem("nesting", page.path, block.line, message, hint))
        if block.tree is None:
            continue
        refuse(loaded(block.tree), block.line)
        for name in block.assigned:
            leaf.pop(name, None)
        if block.output and block.output.is_leaf:
            leaf.update(dict.fromkeys(block.assigned, block))
    for bound in page.bounds:
        if not bound.slug:
            refuse(loaded(parsed(bound.expression.strip(), "eval")), bound.line)
    return problems


def checked_numbers(text: str) -> list[Number]:
    """Return the numbers of a line of prose that need to be known.

    Small integers, years and lines with a citation are left out; positions are those in `text`.
    """
    if not _DIGIT.search(text) or _CITED.search(text):
        return []
    text = FORMULA.sub(lambda m: m[0].replace("-", "\u2212"), text)  # there, no hyphen
    for pattern in _NOT_PROSE:
        text = pattern.sub(lambda m: " " * len(m.group(0)), text)
    return [number for number in find_numbers(text) if not _is_free(number)]


def known_numbers(page: Page) -> Iterator[Decimal]:
    """Yield the numbers that a page's outputs and code hold."""
    for block in page.blocks:
        if block.output:
            yield from (n.value for n in find_numbers(block.output.text) if n.value.is_finite())
        for node in ast.walk(block.tree or ast.Module([], [])):
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
                yield from (-value for value in _literal(node.operand))
            yield from _literal(node)


def is_known(number: Number, known: Iterable[Decimal]) -> bool:
    """Whether one of `known`, rounded as `number` is printed, is that number.

    A single digit is too easily the rounding of something else: it has to be there as it is.
    """
    same = _rounds_to if number.digits > 1 else Decimal.__eq__
    printed = [number.value]
    if number.text.endswith("%"):
        printed.append(number.value / 100)
    return any(same(value, candidate) for candidate in printed for value in known)


def _rounds_to(value: Decimal, printed: Decimal) -> bool:
    try:
        return value.quantize(printed, context=_PRECISE) == printed
    except InvalidOperation:
        return False


def _literal(node: ast.AST) -> Iterator[Decimal]:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        value = Decimal(str(node.value))
        if value.is_finite():
            yield value


def _is_free(number: Number) -> bool:
    if not number.value.is_finite():
        return True
    if not number.is_integer or number.text.endswith("%"):
        return False
    is_year = number.text.isdigit() and number.value in _YEARS
    return is_year or abs(number.value) < _SMALL
