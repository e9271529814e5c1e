"""When a printed output agrees with the recorded one: text exactly, numbers by value."""

import re
from bisect import bisect_left
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from itertools import zip_longest

from driftproof.numbers import Number, find_numbers

# float32 below this keeps fewer digits, or becomes 0 where a flag or a device flushes it.
_SMALLEST_NORMAL = Decimal("1.1754943508222875e-38")
# Wide enough for every exponent that `find_numbers` reads: nothing underflows.
_ARITHMETIC = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
_NUMPY_SCALAR = re.compile(r"\b(?:np|numpy)\.(?:\w+\(([^()\s,]+)\)|(True|False)_)")


@dataclass(frozen=True)
class Tolerance:
    """What an author declared for the floats of one output; by default nothing may move.

    Attributes:
        rtol: allowed distance as a fraction of the larger of the two magnitudes.
        atol: allowed distance in the unit of the numbers.

    Raises:
        ValueError: if one of them is negative, infinite or nan.
    """

    rtol: float = 0.0
    atol: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name} must be finite and at least 0, got {value!r}")


EXACT = Tolerance()


@dataclass(frozen=True)
class Difference:
    """One place where an output does not agree with the recorded one.

    Attributes:
        line: line of the recorded text, counted from 0.
        recorded: what is recorded there: a number, or the whole line where text differs.
        got: what was printed instead.
        reason: why the two do not agree, a sentence without capital and full stop.
        change: |got - recorded| over the larger magnitude; None for text, nan and inf.
    """

    line: int
    recorded: str
    got: str
    reason: str
    change: float | None = None


_REMARKABLE = re.compile(r"nan|NaN|inf|\.00")
"""What stands in every text of which there is something to remark."""


@dataclass(frozen=True)
class _Line:
    """A line without trailing blanks, its numbers, and the texts before, between and after them."""

    text: str
    between: list[str]
    numbers: list[Number]


def compare(recorded: str, got: str, tolerance: Tolerance = EXACT) -> list[Difference]:
    """The places where a new output does not agree with the recorded one; none if it agrees.

    Args:
        recorded: the text on the page.
        got: the text printed now.
        tolerance: what is declared for the floats of this output.

    Returns:
        One difference per number that moved and per line whose text changed, but a single one if
        lines were added, lost or broken at other places.
    """
    old, new = _lines(recorded), _lines(got)
    differences = [
        difference
        for index, (a, b) in enumerate(zip_longest(old, new, fillvalue=_Line("", [""], [])))
        for difference in _line_differences(index, a, b, tolerance)
    ]
    if [line.between for line in old] == [line.between for line in new]:
        return differences
    one_old, one_new = _one_line(old), _one_line(new)
    if one_old.between == one_new.between:
        reason = f"only line breaks or indentation changed in the text; {_moved(one_old, one_new)}"
    elif len(old) != len(new):
        reason = f"{len(old)} lines recorded, {len(new)} printed; the two texts part here"
    else:
        return differences
    first = differences[0]
    line = min(first.line, max(len(old) - 1, 0))
    recorded_line = old[first.line].text if first.line < len(old) else ""
    got_line = new[first.line].text if first.line < len(new) else ""
    return [Difference(line, recorded_line, got_line, reason)]


def remarks(recorded: str, tolerance: Tolerance) -> list[tuple[int, str]]:
    """What an author should know about a recorded output although it is no failure.

    Args:
        recorded: the text on the page.
        tolerance: what is declared for it; a declared `atol` answers for printed zeros.

    Returns:
        Pairs of a line of the recorded text, counted from 0, and a sentence; no pair twice.
    """
    found: dict[tuple[int, str], None] = {}
    for index, line in enumerate(_lines(recorded) if _REMARKABLE.search(recorded) else ()):
        for number in line.numbers:
            if not number.value.is_finite():
                found[index, f"{number.text} is printed"] = None
            elif tolerance.atol == 0 and re.fullmatch(r"[-+−]?0*\.00+\\?%?", number.text):
                hint = "print it in scientific notation or declare atol"
                found[index, f"{number.text} may hide a nonzero value: {hint}"] = None
    return list(found)


def _lines(text: str) -> list[_Line]:
    """The lines of a text up to its last one that is not blank."""
    numbers, lines, start = find_numbers(text), [], 0
    for written in text.split("\n"):
        end = start + len(written)
        first, last = (
            bisect_left(numbers, cut, key=lambda number: number.start) for cut in (start, end)
        )
        lines.append(_split(text, start, end, numbers[first:last]))
        start = end + 1
    while lines and not lines[-1].text:
        lines.pop()
    return lines


def _split(text: str, start: int, end: int, numbers: list[Number]) -> _Line:
    """The line at `text[start:end]`; blanks that only align numbers and brackets do not count."""
    cuts = [start, *(cut for number in numbers for cut in (number.start, number.end)), end]
    between = []
    for first, last in zip(cuts[::2], cuts[1::2], strict=True):
        part = re.sub(r"\s+", " ", text[first:last])
        part = re.sub(r" ?([\[\](){}]) ?", r"\1", part).rstrip()
        # Indentation is kept before text, where it has a meaning.
        between.append(part.lstrip() if between else part)
    return _Line(text[start:end].rstrip(), between, numbers)


def _one_line(lines: list[_Line]) -> _Line:
    """All lines as if they had been printed as one."""
    text = " ".join(line.text for line in lines)
    return _split(text, 0, len(text), find_numbers(text))


def _line_differences(index: int, old: _Line, new: _Line, tolerance: Tolerance) -> list[Difference]:
    """The numbers of a line that moved, or one difference if its text changed."""
    if old.between != new.between:
        return [Difference(index, old.text, new.text, _why_text_differs(old, new))]
    return [
        Difference(index, a.text, b.text, reason, _relative_change(a.value, b.value))
        for a, b in zip(old.numbers, new.numbers, strict=True)
        if (reason := _why_numbers_differ(a, b, tolerance))
    ]


def _moved(old: _Line, new: _Line) -> str:
    """How many numbers moved between two lines with the same text, in words."""
    count = len(_line_differences(0, old, new, EXACT))
    return f"{count or 'no'} number{'s' if count > 1 else ''} moved"


def _why_text_differs(old: _Line, new: _Line) -> str:
    """The most precise sentence for two lines with different texts."""
    bare_old, bare_new = (_NUMPY_SCALAR.sub(r"\1\2", line.text) for line in (old, new))
    if (bare_old, bare_new) != (old.text, new.text):
        one_old, one_new = (_one_line(_lines(text)) for text in (bare_old, bare_new))
        if one_old.between == one_new.between:
            return (
                f"only the wrapper around a scalar changed in the text; {_moved(one_old, one_new)}"
            )
    if len(old.numbers) != len(new.numbers):
        return f"{len(old.numbers)} numbers recorded, {len(new.numbers)} printed"
    if re.sub(r"\d", "", old.text) == re.sub(r"\d", "", new.text):
        return "digits changed in a name, version, date or time, which is compared exactly"
    return "the text changed"


def _why_numbers_differ(old: Number, new: Number, tolerance: Tolerance) -> str | None:
    """Why two numbers do not agree, or None if they do."""
    a, b = old.value, new.value
    if old.is_percentage != new.is_percentage:
        return "one of the two is a percentage"
    if a.is_nan() or b.is_nan():
        return None if a.is_nan() and b.is_nan() else "nan agrees with nan only"
    if a.is_infinite() or b.is_infinite():
        return None if a == b else "inf agrees with inf of the same sign only"
    if old.is_integer and new.is_integer:
        same = a == b and old.digits == new.digits
        return None if same else "integers are compared exactly"
    if old.is_integer or new.is_integer:
        if a != b:
            return "one of the two is an integer, which is compared exactly"
        return "same value, but an integer and a float" if tolerance == EXACT else None
    if a == b and tolerance == EXACT:
        same = old.digits == new.digits
        return None if same else "same value, but with another number of digits"
    return _why_floats_differ(a, b, tolerance)


def _why_floats_differ(a: Decimal, b: Decimal, tolerance: Tolerance) -> str | None:
    """Why two finite floats are too far apart, or None if they are not."""
    rtol, atol = (Decimal(repr(allowed)) for allowed in (tolerance.rtol, tolerance.atol))
    with localcontext(_ARITHMETIC):
        apart, larger = abs(a - b), max(abs(a), abs(b))
        if apart <= rtol * larger or apart <= atol:
            return None
        relative = apart / larger
    if larger < _SMALLEST_NORMAL:
        return (
            f"subnormal in float32 (below {_SMALLEST_NORMAL:.2e}), which some settings flush to 0; "
            'atol="1.18e-38" declares that such values count as zero'
        )
    if atol:
        return f"{apart:.1e} apart, more than atol {tolerance.atol:g} or rtol {tolerance.rtol:g}"
    if a == 0:
        return "a printed zero accepts only zero unless atol is declared"
    if b == 0:
        return "the value became zero, which no rtol covers"
    limit = f"more than rtol {tolerance.rtol:g}" if rtol else "and no tolerance is declared"
    return f"relative change {relative:.1e}, {limit}"


def _relative_change(a: Decimal, b: Decimal) -> float | None:
    """|a - b| over the larger magnitude: 0 if they are equal, None if one is not finite."""
    if not (a.is_finite() and b.is_finite()):
        return None
    with localcontext(_ARITHMETIC):
        return float(abs(a - b) / max(abs(a), abs(b))) if a != b else 0.0
