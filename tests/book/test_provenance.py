"""Every output says where it ran, and every bound number leads to the block behind it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from driftproof.bound import agrees
from driftproof.check import check
from driftproof.config import load
from driftproof.failure import Failure
from driftproof.provenance import facts, output_stamp
from driftproof.results import Report, value_of

CONFIG = load(Path(__file__).parent)
CHAPTERS = [path for path in CONFIG.pages() if "/chapters/" in path]
RAN = r"ran in this build on \S.*, CPU(; floats within [\de.-]+( of their size)?)?"
MEASURED = r"recorded on \S+.* · torch [\d.]+\S* · \d{4}-\d\d-\d\d; .*"
ELSEWHERE = r"recorded on a cuda device, .*; not verified .*|no recording from a cuda device .*"


@pytest.fixture(scope="module")
def report() -> Report:
    return check(CONFIG)


@pytest.mark.parametrize("path", CONFIG.pages())
def test_every_output_says_where_it_ran(report: Report, path: str) -> None:
    result = report.results[path]
    for block in result.page.blocks:
        if block.output:
            stamp = output_stamp(block, result, report)
            measured = MEASURED if block.output.measured else RAN
            assert re.fullmatch(ELSEWHERE if block.output.device else measured, stamp), stamp


@pytest.mark.parametrize("path", CONFIG.pages())
def test_every_bound_number_has_its_block_and_rounds_to_what_is_shown(
    report: Report, path: str
) -> None:
    for bound in report.results[path].page.bounds:
        owner = report.results[report.owners[bound.slug] if bound.slug else path].page
        assert owner.block_computing(bound.expression), f"{path}:{bound.line}"
        value = value_of(bound, report.results[path].page, report)
        assert value is not None
        assert not isinstance(value, Failure)
        assert agrees(bound.text, value, bound.tolerance), f"{path}:{bound.line}"


@pytest.mark.parametrize("path", CHAPTERS)
def test_the_foot_of_a_chapter_has_every_fact(report: Report, path: str) -> None:
    found = facts(report.results[path], report)
    assert found.verified
    assert found.ran == found.agreed > 0
    assert found.bound > 0
    assert any(version.startswith("torch ") for version in found.versions)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found.recorded)
    assert float(found.cpu_seconds) > 0


@pytest.mark.parametrize("path", CONFIG.pages())
def test_ids_of_blocks_and_outputs_are_unique(report: Report, path: str) -> None:
    blocks = report.results[path].page.blocks
    anchors = [block.anchor for block in blocks] + [b.output_anchor for b in blocks if b.output]
    assert sorted(set(anchors)) == sorted(anchors)
