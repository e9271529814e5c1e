import re
import time
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftproof.numbers import find_numbers

PAGE = (Path(__file__).parents[2] / "docs/contributing/numbers.md").read_text("utf-8")
FOUND = [
    [side.strip() for side in line.replace("␣", "\u202f").split("⇒")]
    for line in PAGE.split("````")[1].splitlines()
    if "⇒" in line
]
READ = re.findall(r"^\| `(.+)` \| (\S+) \| (integer|float) \| (\d+) \|$", PAGE, re.MULTILINE)


def found(text: str) -> list[str]:
    return [number.text for number in find_numbers(text)]


def test_the_page_has_its_examples():
    assert len(FOUND) >= 40
    assert len(READ) >= 10


@pytest.mark.parametrize(("text", "numbers"), FOUND)
def test_the_numbers_of_the_page_are_found(text, numbers):
    assert [number for number in re.split(" {2,}", numbers) if number] == found(text)


@pytest.mark.parametrize(("text", "value", "kind", "digits"), READ)
def test_the_values_of_the_page_are_read(text, value, kind, digits):
    (number,) = find_numbers(text)
    assert Decimal(value) == number.value
    assert (kind == "integer") == number.is_integer
    assert int(digits) == number.digits


@pytest.mark.parametrize(
    "word",
    [
        *("version", "python", "torch", "pytorch", "numpy", "cuda", "cudnn", "mkdocs", "TORCH"),
        *("section", "chapter", "figure", "fig.", "table", "equation", "eq.", "page", "Sections"),
        *("appendix", "PEP", "RFC"),
    ],
)
def test_a_number_after_a_naming_word_is_text(word):
    assert found(f"{word} 3.11 3.12") == ["3.12"]
    assert found(f"{word}   2,101,248") == []
    assert found(f"{word}: 0.5" if word != "version" else "versed: 0.5") == ["0.5"]
    assert found(f"x{word} 0.5") == ["0.5"]


@pytest.mark.parametrize("number", ["49", "-0.25", "1e-05", "2,101,248", "6.5%", "nan", "-inf"])
@pytest.mark.parametrize(
    "around",
    [
        *("{}", "({})", "[{}]", "|{}|", "'{}'", "<{}>", "a{{{}}}", "={}", ":{}", "~{}", "/{}"),
        *("{},", "{};", "{}:", "{}?", "{}.", "{}/2", "{}\n"),
    ],
)
def test_punctuation_around_a_number_is_no_part_of_it(around, number):
    assert found(around.format(number))[0] == number


@pytest.mark.parametrize("number", ["49", "0.25", "1e-05", "2.5", "nan"])
@pytest.mark.parametrize(
    "around", ["a{}", "{}a", "é{}", "{}_", "_{}", "#{}", "{}-a", "a-{}", "{}-3", "3-{}", "{}.a"]
)
def test_digits_glued_to_a_word_are_text(around, number):
    assert found(around.format(number)) == []


def test_the_point_at_the_end_of_an_array_line_belongs_to_the_number():
    assert found("[0. 1.\n 2.]") == ["0.", "1.", "2."]
    assert found("It was 1.\n2 of them") == ["1", "2"]


def test_the_exponent_may_be_written_with_a_minus_sign():
    assert Decimal("1e-5") == find_numbers("1e−5")[0].value


def test_an_exponent_that_no_float_has_is_text():
    assert found("1e99999") == ["1e99999"]
    assert found("1e100000") == []


@given(st.floats(), st.sampled_from(["{!r}", "{:.3f}", "{:.4e}", "{:+.2e}", "{:,.2f}"]))
def test_every_printed_float_is_one_number(value, form):
    text = form.format(value)
    (number,) = find_numbers(f"x = {text}, y")
    assert text == number.text
    assert str(Decimal(text.replace(",", ""))) == str(number.value) or number.value.is_finite()
    assert Decimal(text.replace(",", "")) == number.value or number.value.is_nan()
    assert not number.is_integer


@given(st.integers(), st.sampled_from(["{}", "{:,}", "{:06d}"]))
def test_every_printed_integer_is_one_number(value, form):
    (number,) = find_numbers(form.format(value))
    assert value == number.value
    assert number.is_integer


@given(
    st.text(
        alphabet=st.sampled_from("0123456789.,-+−eE%_#:{}^×10⁻⁵\\ajnif \n\u202f") | st.characters()
    )
)
def test_numbers_are_in_order_and_apart_in_any_text(text):
    end = 0
    for number in find_numbers(text):
        assert end <= number.start < number.end <= len(text)
        assert number.text == text[number.start : number.end]
        assert "\n" not in number.text
        end = number.end


@pytest.mark.parametrize("character", ["7", "a", ",", " ", "-", "."])
def test_a_megabyte_is_read_in_less_than_a_second(character):
    text = character * 1_000_000
    started = time.process_time()
    find_numbers(text)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("before", ["", "1", "version ", "_{"])
@pytest.mark.parametrize("after", ["", "a", "%-1"])
def test_no_text_takes_quadratic_time(before, after):
    units = [
        *("1,111,", "111,", "{,}111", "\u202f111", "1-", "a-", "1.1.", "1e", "1%-", "1+", "1j+"),
        *("10^{", "_{", "_{{}", "version ", "table\t", "\\a", "1:11:", "1 ×", "²", "1. \n", " \n"),
        *("1" * 50 + " ", "0" * 50 + "x", "1." + " " * 50),
    ]
    started = time.process_time()
    for unit in units:
        find_numbers(before + unit * (50_000 // len(unit)) + after)
    assert time.process_time() - started < len(units)
