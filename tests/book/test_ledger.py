"""The ledger settles every claim, by a value that a page computes where one can be computed."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from driftproof.check import check
from driftproof.config import load
from driftproof.results import Report

CONFIG = load(Path(__file__).parent)
ROOT = CONFIG.root
SPEC = importlib.util.spec_from_file_location("ledger", ROOT / "snippets/ledger.py")
assert SPEC is not None
assert SPEC.loader is not None
ledger: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(ledger)

ROWS = ledger.read(str(ROOT / "docs/ledger.yml"))
SOURCES = ledger.read(str(ROOT / "docs/sources.yml"))
KINDS = dict(
    line.split()
    for line in (ROOT / "tests/book/claims.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
)
BOUND = [pytest.param(row, id=name) for name, row in ROWS.items() if "value" in row]
HOLDS = {
    "reproduced": True,
    "reproduced-with-conditions": True,
    "corrected": False,
    "refuted": False,
}


@pytest.fixture(scope="module")
def report() -> Report:
    return check(CONFIG)


def value(report: Report, row: dict[str, Any], expression: str) -> Any:
    path = report.owners[row["page"]]
    run = report.results[path].run
    assert run is not None
    return run.values[expression]


def holds(row: dict[str, Any], found: Any) -> bool:
    return bool(eval(row["check"], {"value": found}))


def test_every_claim_has_its_row_and_no_id_stands_twice() -> None:
    ids = re.findall(r"^- id: (\S+)$", (ROOT / "docs/ledger.yml").read_text("utf-8"), re.MULTILINE)
    assert [] == [name for name, times in Counter(ids).items() if times > 1]
    assert len(KINDS) == 162
    assert set(KINDS) == set(ids)


@pytest.mark.parametrize("name", KINDS)
def test_a_claim_that_can_be_computed_is_bound_to_a_block(name: str) -> None:
    row = ROWS[name]
    if KINDS[name] != "none":
        assert row["verdict"] in HOLDS
        assert {"page", "block", "value", "shown", "check", "tolerance"} <= row.keys()
    if row["verdict"] in ("citation-only", "not-checkable"):
        assert "value" not in row
    if row["verdict"] == "citation-only":
        assert row["cites"]


@pytest.mark.parametrize("row", BOUND)
def test_a_verdict_agrees_with_its_check(report: Report, row: dict[str, Any]) -> None:
    assert HOLDS[row["verdict"]] == holds(row, value(report, row, row["value"]))


@pytest.mark.parametrize("row", BOUND)
def test_conditions_are_shown_by_a_value_without_them(report: Report, row: dict[str, Any]) -> None:
    conditional = row["verdict"] == "reproduced-with-conditions"
    assert conditional == ("otherwise" in row)
    if conditional:
        assert not holds(row, value(report, row, row["otherwise"]))


@pytest.mark.parametrize("row", BOUND)
def test_a_tolerance_is_that_of_its_check(row: dict[str, Any]) -> None:
    kind = "rounded" if re.search(r"round\(|//", row["check"]) else "exact"
    assert row["tolerance"] == ("range" if "<=" in row["check"] else kind)


def test_the_pages_are_what_the_data_make() -> None:
    for path, text in ledger.pages_of(CONFIG).items():
        assert text == (ROOT / path).read_text("utf-8"), f"run python snippets/ledger.py: {path}"


def test_every_footnote_is_a_source_with_its_link_and_year(report: Report) -> None:
    wrong = []
    for path, result in report.results.items():
        for key, note in ledger.footnotes(result.page).items():
            means = [s for s in SOURCES.values() if ledger.is_source(s, key, note)]
            if len(means) != 1:
                wrong.append(f"{path}: [^{key}] is {len(means)} sources of docs/sources.yml")
            elif re.findall(r"\(((?:19|20)\d\d)\)", note) not in ([], [str(means[0]["year"])]):
                wrong.append(f"{path}: [^{key}] has another year than {means[0]['year']}")
    assert [] == wrong


@pytest.mark.parametrize("key", SOURCES)
def test_a_source_is_complete_and_cited(report: Report, key: str) -> None:
    source = SOURCES[key]
    assert {"key", "authors", "year", "title", "checked"} <= source.keys()
    assert source.keys() & {"doi", "arxiv", "url", "venue"}
    cited = [k for row in ROWS.values() for k in row.get("cites", [])]
    pages = [result.page for path, result in report.results.items() if "ledger" not in path]
    assert key in cited or any(
        ledger.is_source(source, k, note) for p in pages for k, note in ledger.footnotes(p).items()
    )


MISTAKES = [
    ("verdict: reproduced\n", "verdict: true\n", "verdict: True is none of reproduced, "),
    ("source: A\n", "source: D\n", "source: 'D' is none of A, B, C"),
    ("block: any-length\n", "block: any\n", "block: no block of 'one-state-one-loop' is called"),
    ("page: one-state-one-loop\n", "page: one\n", "page: there is no page called 'one'"),
    ("value: shared\n", "value: shared +\n", "value: does not fit the check: "),
    ("check: value == 2112", "check: value > 2112", "check: compare with ==, != and <= only"),
    (
        "note: The same",
        "cites: [nobody]\n  note: The same",
        "cites: docs/sources.yml has no source",
    ),
    ("  shown: 2,112\n", "", "shown: is missing, though the row has a value"),
    ("note: The same", "nota: The same", "note: is missing"),
]


@pytest.mark.parametrize(("right", "wrong", "message"), MISTAKES)
def test_a_mistake_is_named_by_row_and_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], right: str, wrong: str, message: str
) -> None:
    root = tmp_path.resolve()
    shutil.copy(ROOT / "pyproject.toml", root)
    shutil.copy(ROOT / "mkdocs.yml", root)
    shutil.copytree(ROOT / "docs", root / "docs")
    shutil.copytree(ROOT / "snippets", root / "snippets")
    text = ROW_TEXT
    assert right in text
    (root / "docs/ledger.yml").write_text(text.replace(right, wrong), "utf-8")
    assert 1 == ledger.main(root)
    assert f"docs/ledger.yml: 'a-one-weight': {message}" in capsys.readouterr().err


ROW_TEXT = """
- id: a-one-weight
  source: A
  page: one-state-one-loop
  block: any-length
  claim: One set of weights serves any length.
  verdict: reproduced
  value: shared
  shown: 2,112
  check: value == 2112
  tolerance: exact
  note: The same layer reads them all.
"""
