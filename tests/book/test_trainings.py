"""No training is made twice in a build: a result that several pages need is one page's."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from driftproof.check import check
from driftproof.config import load
from onehop.trainings import FIRST

CONFIG = load(Path(__file__).parent)
(BEGUN,) = CONFIG.evaluate
LOOK = FIRST - 1
"""Updates of a training begun again in order to look at its first steps."""

Trainings = dict[str, list[tuple[str, int]]]


def made_twice(book: Trainings) -> list[str]:
    """What was trained once more, and for how many updates."""
    first: dict[str, tuple[str, int]] = {}
    again = []
    for page, trainings in book.items():
        for fingerprint, updates in trainings:
            if fingerprint not in first:
                first[fingerprint] = page, updates
                continue
            owner, before = first[fingerprint]
            if min(before, updates) > LOOK:
                again.append(f"{owner} and {page}: {min(before, updates)} updates of one training")
            first[fingerprint] = owner, max(before, updates)
    return again


@pytest.fixture(scope="module")
def book() -> Trainings:
    runs = {path: result.run for path, result in check(CONFIG).results.items() if result.run}
    return {
        path: ast.literal_eval(str(run.values[BEGUN])) for path, run in runs.items() if run.outputs
    }


def test_no_training_is_made_twice(book: Trainings) -> None:
    assert [] == made_twice(book)


def test_the_pages_that_train_are_seen(book: Trainings) -> None:
    updates = {Path(path).stem: sum(n for _, n in made) for path, made in book.items() if made}
    assert {
        "agreement-over-a-distance",
        "explosion-and-clipping",
        "reading-with-weights",
        "recurrence-returns",
        "the-translation-cliff",
    } <= updates.keys()
    assert min(updates.values()) > LOOK


def test_a_training_on_two_pages_or_twice_on_one_is_found() -> None:
    assert ["a and b: 300 updates of one training"] == made_twice(
        {"a": [("f", 300)], "b": [("g", 300), ("f", 400)]}
    )
    assert ["a and a: 300 updates of one training"] == made_twice({"a": [("f", 300), ("f", 300)]})


def test_a_look_at_the_first_steps_is_no_training() -> None:
    assert [] == made_twice({"a": [("f", 1), ("f", 300), ("f", 2)]})


def test_a_look_does_not_hide_the_training_before_it() -> None:
    assert ["a and b: 300 updates of one training"] == made_twice(
        {"a": [("f", 1), ("f", 300)], "b": [("f", 300)]}
    )
