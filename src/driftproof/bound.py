"""Bound numbers: reading `<data>` elements, and what one must show for its value."""

from __future__ import annotations

import re
from decimal import Decimal

from driftproof.compare import Tolerance
from driftproof.fences import without_code_spans
from driftproof.mathematics import FORMULA
from driftproof.names import parsed
from driftproof.numbers import Number, find_numbers
from driftproof.page import Bound, Page
from driftproof.problem import Problem

DATA = re.compile(r"<data\b(?P<attributes>[^<>]*(?:\"[^\"]*\"[^<>\"]*)*)>(?P<text>[^<]*)</data>")
_ATTRIBUTE = re.compile(r"""\s+([a-z]+)=("[^"]*"|'[^']*')""")
_SLUG = re.compile(r"([a-z0-9][a-z0-9-]*):(.+)", re.DOTALL)

Value = bool | int | float | str

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_POWER = re.compile(r"(?P<mantissa>.*?)(?P<times>\s*[×·]\s*)10(?P<power>[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)$")
_EXPONENT = re.compile(r"(?P<mantissa>.*?)(?P<e>[eE])(?P<sign>[+−-]?)(?P<power>\d+)$")
_SEPARATORS = re.compile(r"[,\u00a0\u2009\u202f]")


def shown(text: str, value: Value) -> str:
    """Return `text` with its number replaced by `value`, rounded and written in the same way.

    The text may hold words around one number; `%` shows a hundredfold, `×10⁻³` and `e-03` keep
    their notation, thousands keep their separator. A text without a number stands for itself.

    Examples:
        `shown("6.5%", 0.0646)` is `"6.5%"`; `shown("1,000", 2101248)` is `"2,101,248"`.
    """
    numbers = find_numbers(text)
    if isinstance(value, bool | str) or len(numbers) != 1:
        return str(value)
    number = numbers[0]
    finite = Decimal(value).is_finite() and number.value.is_finite()
    written = _write(number, value) if finite else str(value)
    return text[: number.start] + written + text[number.end :]


def agrees(text: str, value: Value, tolerance: Tolerance) -> bool:
    """Whether `text` is `value` rounded as printed, or lies within the declared tolerance."""
    if shown(text, value) == text:
        return True
    numbers = find_numbers(text)
    if isinstance(value, bool | str) or len(numbers) != 1 or not tolerance.rtol:
        return False
    number = numbers[0]
    exact = Decimal(value) * (100 if number.text.endswith("%") else 1)
    if not (exact.is_finite() and number.value.is_finite()):
        return False
    return abs(number.value - exact) <= Decimal(tolerance.rtol) * abs(exact)


def _write(number: Number, value: int | float) -> str:
    text = number.text
    percent = text.endswith("%")
    digits = text.rstrip("% \u00a0\u202f")
    tail = text[len(digits) :]
    exact = Decimal(value) * (100 if percent else 1)
    if power := _POWER.match(digits):
        mantissa, exponent = _scientific(exact, _places(power["mantissa"]))
        raised = str(exponent).translate(_SUPERSCRIPTS)
        return _signed(mantissa, digits) + f"{power['times']}10{raised}" + tail
    if scientific := _EXPONENT.match(digits):
        mantissa, exponent = _scientific(exact, _places(scientific["mantissa"]))
        power_text = f"{abs(exponent):0{len(scientific['power'])}d}"
        if exponent < 0:
            power_text = ("−" if scientific["sign"] == "−" else "-") + power_text
        elif scientific["sign"]:
            power_text = "+" + power_text
        return _signed(mantissa, digits) + scientific["e"] + power_text + tail
    separator = match[0] if (match := _SEPARATORS.search(digits)) else ""
    written = f"{exact:z{',' if separator else ''}.{_places(digits)}f}"
    return _signed(written.replace(",", separator), digits) + tail


def _scientific(exact: Decimal, places: int) -> tuple[str, int]:
    mantissa, _, exponent = f"{exact:z.{places}e}".partition("e")
    return mantissa, int(exponent) if exact else 0


def _places(digits: str) -> int:
    return len(digits.partition(".")[2])


def _signed(written: str, like: str) -> str:
    """Write the sign as in `like`: with a true minus sign, or a plus, if it has one."""
    negative = written.startswith("-")
    bare = written.lstrip("-")
    if negative:
        return ("\u2212" if like.startswith("\u2212") else "-") + bare
    return ("+" if like.startswith("+") else "") + bare


def read_bounds(page: Page) -> None:
    """Read the `<data>` elements in the prose of `page` into `page.bounds`."""
    text = without_code_spans("\n".join(page.prose))
    for line, content in enumerate(text.split("\n"), 1):
        if "<data" not in content:
            continue
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
    def problem(message: str, hint: str) -> None:
        page.problems.append(Problem("bound-number", page.path, line, message, hint))

    attributes = match["attributes"]
    values = {name: quoted[1:-1] for name, quoted in _ATTRIBUTE.findall(attributes)}
    unknown = sorted(values.keys() - {"value", "rtol", "because"})
    if unknown or _ATTRIBUTE.sub("", attributes).strip() or "value" not in values:
        problem(
            f"<data{attributes}> is not understood",
            'it takes value="expression", without < or > and with \' for quotes inside, '
            'and rtol="…" because="…"',
        )
        return
    if "rtol" in values and not values.get("because", "").strip():
        problem("rtol needs a reason", 'add because="…"')
    try:
        rtol = float(values.get("rtol", 0.0))
    except ValueError:
        rtol = -1.0
    if not 0 <= rtol < 1:
        problem(f"rtol={values['rtol']!r} is not a number from 0 to 1", "write it as 1e-3")
        return
    expression, slug = values["value"], ""
    if owner := _SLUG.fullmatch(expression):
        slug, expression = owner.groups()
    try:
        parsed(expression.strip(), "eval")
    except SyntaxError:
        problem(f"{expression!r} is not a Python expression", "try it in Python; name its parts")
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
