import csv
import re
import time
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from driftproof.compare import EXACT, Difference, Tolerance, compare, remarks
from driftproof.numbers import find_numbers

PAIRS = [
    pytest.param(row, id=f"{path.stem}-{line}")
    for path in sorted((Path(__file__).parent / "pairs").glob("*.tsv"))
    for line, row in enumerate(
        csv.DictReader(path.open(encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE), start=2
    )
]
PAGE = (Path(__file__).parents[2] / "docs/contributing/numbers.md").read_text("utf-8")
AGREEMENT = re.findall(
    r"^\| `(.+)` \| `(.+)` \| (nothing|[ra]tol \S+) \| (yes|no) \|$", PAGE, re.MULTILINE
)


def reasons(recorded: str, got: str, **tolerance: float) -> list[str]:
    return [found.reason for found in compare(recorded, got, Tolerance(**tolerance))]


@pytest.mark.parametrize("row", PAIRS)
def test_a_pair_has_its_verdict(row):
    recorded, got = (
        row[side].replace(r"\n", "\n").replace(r"\r", "\r") for side in ("recorded", "got")
    )
    tolerance = Tolerance(float(row["rtol"] or 0), float(row["atol"] or 0))
    differences = compare(recorded, got, tolerance)
    if row["expected"] == "agree":
        assert [] == differences, row["because"]
    else:
        assert len(differences) == 1, row["because"]
        assert row["expected"] in differences[0].reason, row["because"]
    assert bool(differences) == bool(compare(got, recorded, tolerance)), "not symmetric"


def test_the_agreements_of_the_page_hold():
    assert len(AGREEMENT) >= 15
    for recorded, got, declared, agree in AGREEMENT:
        name, _, value = declared.partition(" ")
        tolerance = Tolerance(**{name: float(value)}) if value else EXACT
        assert (agree == "yes") == (not compare(recorded, got, tolerance)), (recorded, got)


def test_a_difference_says_where_and_by_how_much():
    recorded = "RNN 2.084e+00 5.540e-19\nGRU 1.309e+00 6.198e-11"
    got = "RNN 2.084e+00 5.540e-19\nGRU 1.309e+00 3.099e-11"
    (difference,) = compare(recorded, got, Tolerance(rtol=1e-3))
    assert difference == Difference(
        1, "6.198e-11", "3.099e-11", "relative change 5.0e-1, more than rtol 0.001", 0.5
    )


def test_every_number_that_moved_is_named():
    found = compare("0.5 0.25\n0.125 7", "0.4 0.25\n0.126 8")
    assert [(0, "0.5"), (1, "0.125"), (1, "7")] == [(each.line, each.recorded) for each in found]


def test_numbers_that_change_places_are_differences():
    assert [0.5, 0.5] == [found.change for found in compare("0.5 0.25", "0.25 0.5")]


def test_text_nan_and_inf_have_no_relative_change():
    for recorded, got in (("a", "b"), ("nan", "1.0"), ("inf", "1.0"), ("x 1", "x")):
        assert [None] == [found.change for found in compare(recorded, got)]
    assert [1.0] == [found.change for found in compare("0.0", "1e-400")]
    assert [0.0] == [found.change for found in compare("0.50", "0.5")]


def test_an_inserted_line_is_one_difference_at_its_place():
    (found,) = compare("a 1\nb 2\nc 3", "a 1\nnew\nb 2\nc 3")
    assert (1, "b 2", "new") == (found.line, found.recorded, found.got)
    (found,) = compare("a 1", "a 1\n\nb 2")
    assert (0, "", "b 2") == (found.line, found.recorded, found.got)


def test_a_wrapper_on_one_line_does_not_hide_a_change_on_the_next():
    assert [
        "only the wrapper around a scalar changed in the text; no number moved",
        "integers are compared exactly",
    ] == reasons("{'a': 0.5}\n3", "{'a': np.float64(0.5)}\n4")


@pytest.mark.parametrize("wrong", [-1.0, float("inf"), float("nan")])
def test_a_tolerance_that_is_no_tolerance_is_refused(wrong):
    with pytest.raises(ValueError, match="rtol must be finite and at least 0"):
        Tolerance(rtol=wrong)
    with pytest.raises(ValueError, match="atol must be finite and at least 0"):
        Tolerance(atol=wrong)


def test_nan_and_inf_are_remarked_on_once_per_line():
    text = "softmax nan nan\nok 0.5\nscore -inf"
    assert [(0, "nan is printed"), (2, "-inf is printed")] == remarks(text, EXACT)


@pytest.mark.parametrize("zero", ["0.00", "-0.00", "0.0000", ".00", "0.00%"])
def test_a_printed_zero_may_hide_a_value(zero):
    ((line, sentence),) = remarks(f"x\ny {zero}", EXACT)
    assert line == 1
    assert sentence.startswith(f"{zero} may hide a nonzero value")
    assert remarks(zero, Tolerance(rtol=1e-3))
    assert [] == remarks(zero, Tolerance(atol=1e-4))


@pytest.mark.parametrize("shown", ["0", "0.0", "0.", "0.000e+00", "0.001", "v0.00", "torch 0.00"])
def test_a_zero_that_hides_nothing_is_not_remarked_on(shown):
    assert [] == remarks(shown, EXACT)


@given(st.text(), st.floats(0, 10), st.floats(0, 10))
def test_a_text_agrees_with_itself(text, rtol, atol):
    assert [] == compare(text, text)
    assert [] == compare(text, text, Tolerance(rtol, atol))


numbers = st.one_of(
    st.builds(
        str.format,
        st.sampled_from(["{:.1f}", "{:.4f}", "{:.3e}", "{:,.2f}", "{:.1%}", "{:+.6f}", "{!r}"]),
        st.floats(-1e300, 1e300),
    ),
    st.builds(str.format, st.sampled_from(["{}", "{:,}", "{}%"]), st.integers()),
)
templates = st.sampled_from(
    ["tensor([{}, {}])", "loss {} step {}", "{{'a': {}, 'b': {}}}", "| {} | {} |\n|---|", "{}\n{}"]
)


@st.composite
def printed(draw) -> str:
    """Two numbers in a printed text."""
    return draw(templates).format(draw(numbers), draw(numbers))


def says_something(text: str, index: int) -> bool:
    """Whether a digit cannot be left out without a change of value or precision.

    The zero before a point and the zeros before an exponent can.
    """
    before, after = text[:index], text[index + 1 :]
    lone = re.search(r"(^|[^\d,.])$", before) and after.startswith(".")
    return text[index] != "0" or not (lone or re.search(r"e[-+]0*$", before))


@given(printed(), st.data())
def test_a_changed_digit_is_a_difference(text, data):
    index = data.draw(st.sampled_from([i for i, c in enumerate(text) if c.isdigit()]))
    digit = data.draw(st.sampled_from("0123456789"))
    assume(digit != text[index])
    changed = text[:index] + digit + text[index + 1 :]
    assert compare(text, changed)
    assert compare(changed, text)


@given(printed(), st.data())
def test_a_lost_digit_is_a_difference(text, data):
    index = data.draw(st.sampled_from([i for i, c in enumerate(text) if c.isdigit()]))
    assume(says_something(text, index))
    assert compare(text, text[:index] + text[index + 1 :])


@given(printed(), st.data())
def test_a_lost_number_is_a_difference(text, data):
    number = data.draw(st.sampled_from(find_numbers(text)))
    assert compare(text, text[: number.start] + text[number.end :])


@given(printed(), st.data())
def test_a_flipped_sign_is_a_difference(text, data):
    number = data.draw(st.sampled_from(find_numbers(text)))
    assume(number.value != 0)
    flipped = number.text[1:] if number.value < 0 else "-" + number.text.lstrip("+")
    assert compare(text, text[: number.start] + flipped + text[number.end :])


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-400, 400))
def test_another_exponent_is_a_difference(value, exponent):
    mantissa, _, old = f"{value:.3e}".partition("e")
    assume(exponent != int(old))
    assert compare(f"x {mantissa}e{old}", f"x {mantissa}e{exponent:+03d}")


@given(numbers, numbers, st.floats(0, 1), st.floats(0, 1))
def test_the_order_of_the_two_outputs_does_not_matter(a, b, rtol, atol):
    tolerance = Tolerance(rtol, atol)
    forth, back = compare(a, b, tolerance), compare(b, a, tolerance)
    assert [found.change for found in forth] == [found.change for found in back]


@given(st.floats(1e-300, 1e300), st.floats(-0.1, 0.1))
def test_the_relative_tolerance_means_what_it_says(value, shift):
    a, b = repr(value), repr(value * (1 + shift))
    exact_a, exact_b = Decimal(a), Decimal(b)
    apart = abs(exact_a - exact_b) / max(exact_a, exact_b)
    assert (apart <= Decimal("0.05")) == (not compare(a, b, Tolerance(rtol=0.05)))


@pytest.mark.parametrize("unit", ["7", "a", ",", " ", "[ ", "\n", "7 ", "a b ", "7\n"])
def test_no_comparison_takes_quadratic_time(unit):
    text = unit * (40_000 // len(unit))
    started = time.process_time()
    compare(text + "\n0.5", text + "\n0.6")
    compare(text + "\n0.5", text + unit)
    assert time.process_time() - started < 5


# Any change of a text is drift, but for the sign of a zero.


WORDS = st.sampled_from(["loss", "gate", "nan", "inf", "step", "a-b", "torch 2.1", "[", "]", "|"])
DIGITS = st.from_regex(
    r"[-+−]?(0|[1-9][0-9]{0,5})(\.[0-9]{1,6})?(e[-+][0-9]{2})?%?", fullmatch=True
)
TEXTS = st.lists(
    st.lists(st.one_of(WORDS, DIGITS), min_size=1, max_size=5).map(" ".join), min_size=1, max_size=4
).map("\n".join)


@given(TEXTS, st.data())
def test_a_changed_digit_is_drift(text, data):
    places = [i for i, character in enumerate(text) if character in "0123456789"]
    assume(places)
    at = data.draw(st.sampled_from(places))
    digit = data.draw(st.sampled_from(sorted(set("0123456789") - {text[at]})))
    changed = text[:at] + digit + text[at + 1 :]
    assert compare(text, changed), changed
    assert compare(changed, text), changed


@given(TEXTS, st.data())
def test_a_changed_sign_point_or_exponent_is_drift(text, data):
    places = [
        (m.start(), m.end())
        for m in re.finditer(r"[-−](?=[0-9.]*[1-9])|(?<=[0-9])[.e%](?=[-+0-9]|)", text)
    ]
    assume(places)
    start, end = data.draw(st.sampled_from(places))
    changed = text[:start] + text[end:]
    assert compare(text, changed), changed
    assert compare(changed, text), changed


@given(TEXTS, st.data())
def test_a_word_or_number_more_or_less_is_drift(text, data):
    parts = re.split(r"([ \n])", text)
    at = 2 * data.draw(st.integers(0, len(parts) // 2))
    assume(parts[at] not in ("[", "]"))  # at the end of a line, brackets are compared as well
    fewer = "".join(parts[:at] + parts[at + 2 :])
    assert compare(text, fewer), fewer
    assert compare(fewer, text), fewer


@given(TEXTS, st.data())
def test_two_parts_in_another_order_are_drift(text, data):
    parts = re.split(r"([ \n])", text)
    first, second = (2 * data.draw(st.integers(0, len(parts) // 2)) for _ in range(2))
    assume(parts[first] != parts[second])
    parts[first], parts[second] = parts[second], parts[first]
    assert compare(text, "".join(parts)), parts


@given(
    DIGITS.filter(lambda text: "." in text),
    DIGITS.filter(lambda text: "." in text),
    st.floats(1e-9, 0.5),
)
def test_a_tolerance_accepts_what_it_covers_and_nothing_else(recorded, got, rtol):
    a, b = (Decimal(text.replace("−", "-").rstrip("%")) for text in (recorded, got))
    covered = abs(a - b) <= Decimal(repr(rtol)) * max(abs(a), abs(b))
    same_kind = recorded.endswith("%") == got.endswith("%")
    assert (covered and same_kind) == (not compare(recorded, got, Tolerance(rtol=rtol)))


@given(TEXTS, st.floats(0.001, 0.5))
def test_a_tolerance_never_accepts_another_word_or_integer(text, rtol):
    tolerance = Tolerance(rtol=rtol, atol=rtol)
    assert compare(text, f"{text} more", tolerance)
    assert compare(f"{text}\n7 rows", f"{text}\n8 rows", tolerance)
    assert compare(f"{text}\ngate on", f"{text}\ngate off", tolerance)


@settings(deadline=None)
@given(st.text(max_size=300), st.text(max_size=300))
def test_any_two_texts_are_compared_and_agree_only_as_numbers_and_words(recorded, got):
    if not compare(recorded, got):
        blank = str.maketrans("", "", "".join({c for c in recorded + got if c.isspace()}))
        assert recorded.translate(blank).replace("−", "-") == got.translate(blank).replace("−", "-")


@pytest.mark.parametrize(
    "part", ["1", "1 ", "1,", "1,000,", "1.", "1e", "-", "[", "a-", "$", "_{", "1:2"]
)
def test_comparing_takes_time_in_proportion_to_the_text(part):
    def seconds(length):
        text = part * (length // len(part))
        began = time.process_time()
        compare(text, text + "x")
        return time.process_time() - began

    seconds(1000)
    assert seconds(100_000) < 10
