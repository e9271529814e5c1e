"""What is trained or timed once and kept in a record has its spread there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from driftproof.config import load
from driftproof.grammar import parse_page

CONFIG = load(Path(__file__).parent)
RECORDS = sorted((CONFIG.root / CONFIG.snippets).glob("*_record.py"))
RUNS = 5
SPREAD = (" least", " greatest")


def is_axis(value: Any) -> bool:
    """Whether a record lists where it was measured: whole numbers that grow."""
    numbers = isinstance(value, list) and all(isinstance(n, int) for n in value)
    return numbers and value == sorted(set(value))


def without_spread(name: str, value: Any) -> list[str]:
    """The parts of a record that are neither five runs nor a median between two bounds."""
    if isinstance(value, list):
        return [] if len(value) >= RUNS else [name]
    if not isinstance(value, dict):
        return [name]
    keys = [key for key in value if not str(key).endswith(SPREAD)]
    if len(keys) == len(value):
        return [bad for key in keys for bad in without_spread(f"{name}[{key!r}]", value[key])]
    return [f"{name}[{key!r}]" for key in keys if not lies_between(value, key)]


def lies_between(value: dict[str, list[float]], key: str) -> bool:
    columns = [value.get(key + suffix, []) for suffix in (SPREAD[0], "", SPREAD[1])]
    return len({len(c) for c in columns}) == 1 and all(
        least <= median <= greatest for least, median, greatest in zip(*columns, strict=True)
    )


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_has_five_runs_or_the_median_and_both_ends(path: Path) -> None:
    found = {n: v for n, v in runpy.run_path(str(path)).items() if not n.startswith("_")}
    measured = {name: value for name, value in found.items() if not is_axis(value)}
    assert measured
    assert [] == [bad for name, value in measured.items() for bad in without_spread(name, value)]


@pytest.mark.parametrize("path", [path for path in CONFIG.pages() if "/chapters/" in path])
def test_measured_numbers_have_their_spread_beside_them_or_in_a_record(path: str) -> None:
    page = parse_page(CONFIG, path)
    outputs = [block.output for block in page.running if block.output]
    measured = [o for o in outputs if o.options.get("measured") and not o.device]
    recorded = any("_record.py" in str(b.options.get("file", "")) for b in page.blocks)
    assert recorded or all(re.search(r"\d to \d", output.text) for output in measured)


@pytest.mark.parametrize(
    "record",
    [
        {"loss": [0.1, 0.2, 0.3]},
        {"a": [1.0], "a least": [0.9]},
        {"a": [1.0], "a least": [1.1], "a greatest": [1.2]},
        {"a": [1.0, 2.0], "a least": [0.9], "a greatest": [1.2]},
        0.25,
    ],
    ids=["three-runs", "one-end", "outside", "shorter", "one-number"],
)
def test_a_record_without_spread_is_found(record: Any) -> None:
    assert without_spread("record", record)
