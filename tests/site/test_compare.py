"""The comparer in the reader's browser gives the verdicts of driftproof's own."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from quickjs import Context

from driftproof.compare import Tolerance, compare
from driftproof.config import load
from driftproof.grammar import parse_page
from driftproof.numbers import find_numbers

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs/assets/javascripts/run/compare.js"
PAIRS = sorted((ROOT / "tests/driftproof/pairs").glob("*.tsv"))
PAGE = (ROOT / "docs/contributing/numbers.md").read_text("utf-8")
AGREEMENT = re.findall(
    r"^\| `(.+)` \| `(.+)` \| (?:nothing|([ra]tol) (\S+)) \| (?:yes|no) \|$", PAGE, re.MULTILINE
)


@pytest.fixture(scope="module")
def call() -> Callable[..., Any]:
    """Call a function of the script with plain values."""
    context = Context()
    context.eval(SCRIPT.read_text("utf-8"))

    def call(function: str, *values: Any) -> Any:
        given = ", ".join(json.dumps(value) for value in values)
        show = "(_, value) => typeof value === 'bigint' ? String(value) : value"
        return json.loads(context.eval(f"JSON.stringify(comparer.{function}({given}), {show})"))

    return call


def both(call: Callable[..., Any], recorded: str, got: str, **declared: float) -> tuple[Any, Any]:
    """Return the differences that Python and the script find."""
    python = compare(recorded, got, Tolerance(**declared))
    wanted = [{"line": d.line, "recorded": d.recorded, "got": d.got} for d in python]
    return wanted, call("compare", recorded, got, declared)


@pytest.mark.parametrize("table", PAIRS, ids=lambda path: path.stem)
def test_both_say_the_same_of_every_pair(call: Callable[..., Any], table: Path) -> None:
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert rows
    for row in rows:
        recorded, got = (
            row[side].replace(r"\n", "\n").replace(r"\r", "\r") for side in ("recorded", "got")
        )
        declared = {name: float(row[name]) for name in ("rtol", "atol") if row[name]}
        wanted, found = both(call, recorded, got, **declared)
        assert wanted == found, row


def test_both_say_the_same_of_the_pages_table(call: Callable[..., Any]) -> None:
    assert len(AGREEMENT) >= 15
    for recorded, got, name, value in AGREEMENT:
        wanted, found = both(call, recorded, got, **({name: float(value)} if name else {}))
        assert wanted == found, (recorded, got)


def test_both_find_the_same_numbers_in_every_output_and_example(call: Callable[..., Any]) -> None:
    config = load(ROOT)
    pages = [parse_page(config, path) for path in config.pages()]
    texts = [block.output.text for page in pages for block in page.blocks if block.output]
    texts += PAGE.replace("␣", "\u202f").splitlines()
    assert len(texts) > 300
    for text in texts:
        wanted = [(n.text, n.is_integer, n.digits) for n in find_numbers(text)]
        found = call("findNumbers", text)
        assert wanted == [(n["text"], n["isInteger"], n["digits"]) for n in found], text


@pytest.mark.parametrize(
    ("recorded", "answer", "strangers"),
    [
        ("feed-forward over scores: 3.0\nequal at T = 3,072", "3,072", []),
        ("equal at T = 3,072", "3072", []),
        ("equal at T = 3,072", "3071", ["3071"]),
        ("ratio 0.4567", "0.457, 0.46", ["0.46"]),
        ("ratio 3.0", "3", []),
        ("36.8%", "0.368 36.8%", ["0.368"]),
        ("loss 5.54e-19", "5.54×10⁻¹⁹", []),
        ("two of three", "nan", ["nan"]),
    ],
)
def test_a_readers_answer_is_held_to_the_same_rules(
    call: Callable[..., Any], recorded: str, answer: str, strangers: list[str]
) -> None:
    python = [
        number.text
        for number in find_numbers(answer)
        if all(
            compare(known.text, number.text, Tolerance(rtol=0.005))
            for known in find_numbers(recorded)
        )
    ]
    assert strangers == python
    assert strangers == [number["text"] for number in call("strangers", recorded, answer)]
