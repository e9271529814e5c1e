"""The promise itself: no number of the book can change without a check that fails.

Every number in every recorded output and every bound number is changed in each way that could
happen by a slip or by age, and so is every number in prose that is held by an output or by code.
The pages' runs come from the cache, so this takes seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from driftproof.check import check
from driftproof.config import load
from driftproof.judge import judge_block, judge_bound
from driftproof.lint import checked_numbers, is_known, known_numbers
from driftproof.numbers import Number, find_numbers
from driftproof.page import Block, Page
from driftproof.results import Report, Result, printed

CONFIG = load(Path(__file__).parent)


@pytest.fixture(scope="module")
def report() -> Report:
    return check(CONFIG)


def mutants(text: str, number: Number) -> Iterator[str]:
    """Yield `text` with one number changed: each digit, its sign, its exponent; and without it."""
    before, after = text[: number.start], text[number.end :]
    spelled = number.text
    for i, character in enumerate(spelled):
        if character in "0123456789":
            digit = str(int(character) % 9 + 1)  # never a leading zero
            yield before + spelled[:i] + digit + spelled[i + 1 :] + after
        elif character in "⁰¹²³⁴⁵⁶⁷⁸⁹":
            superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹"
            digit = superscripts[superscripts.index(character) % 9 + 1]
            yield before + spelled[:i] + digit + spelled[i + 1 :] + after
    if number.value and not number.value.is_nan():
        flipped = spelled[1:] if spelled[0] in "-+\u2212" else f"-{spelled}"
        yield before + flipped + after
    for sign, other in (("e-", "e+"), ("e+", "e-"), ("⁻", "")):
        if sign in spelled and number.value and not spelled.endswith("00"):
            yield before + spelled.replace(sign, other, 1) + after
    yield before + after


def survives_in_output(result: Result, block: Block, text: str) -> bool:
    assert block.output is not None
    assert result.run is not None
    fence = replace(block.output.fence, body=tuple(text.split("\n")))
    mutant = replace(block, output=replace(block.output, fence=fence))
    judged = Result(result.page, result.run)
    judge_block(judged, mutant, printed(result.run, block))
    return not judged.problems


def output_numbers(page: Page) -> Iterator[tuple[Block, Number]]:
    for block in page.running:
        if block.output:
            yield from ((block, number) for number in find_numbers(block.output.text))


def test_the_book_as_it_stands_has_no_problem(report: Report) -> None:
    assert [str(problem) for problem in report.problems] == []


@pytest.mark.parametrize("path", CONFIG.pages())
def test_every_changed_number_in_an_output_is_caught(report: Report, path: str) -> None:
    result = report.results[path]
    survivors = [
        f"{path}:{block.line}: {number.text} became {text[number.start :][:24]!r}"
        for block, number in output_numbers(result.page)
        for text in mutants(block.output.text if block.output else "", number)
        if survives_in_output(result, block, text)
    ]
    assert survivors == []


@pytest.mark.parametrize("path", CONFIG.pages())
def test_every_changed_bound_number_is_caught(report: Report, path: str) -> None:
    result = report.results[path]
    survivors = []
    for bound in result.page.bounds:
        for number in find_numbers(bound.text):
            for text in mutants(bound.text, number):
                judged = Result(result.page, result.run)
                judge_bound(judged, replace(bound, text=text), report)
                if not judged.problems:
                    survivors.append(f"{path}:{bound.line}: {bound.text} became {text!r}")
    assert survivors == []


@pytest.mark.parametrize("path", CONFIG.pages())
def test_no_changed_number_in_prose_matches_another_by_chance(report: Report, path: str) -> None:
    page = report.results[path].page
    if page.is_of_examples:
        pytest.skip("its numbers are examples, run by tests of their own")
    known = list(known_numbers(page))
    survivors = [
        f"{path}:{line}: {number.text} became {changed}: bind it"
        for line, text in enumerate(page.prose, 1)
        for number in checked_numbers(text)
        for changed in mutants(number.text, replace(number, start=0, end=len(number.text)))
        for mutant in checked_numbers(changed)
        if is_known(mutant, known)
    ]
    assert survivors == []


def test_there_are_numbers_to_change(report: Report) -> None:
    chapters = [r.page for path, r in report.results.items() if "/chapters/" in path]
    for page in chapters:
        assert list(output_numbers(page)), page.path
        assert page.bounds, page.path
    assert sum(len(list(output_numbers(page))) for page in chapters) > 20 * len(chapters)
    assert sum(len(page.bounds) for page in chapters) > 10 * len(chapters)
