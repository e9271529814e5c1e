"""The benchmark still measures what it says, and reports a wrong site instead of its speed."""

import re
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import builds
import serving
import table
import usage
import verify
from book import Spec, record, write
from forms import DRIFTPROOF, EXECUTED, PLAIN

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")
BLOCKS = 6  # of two light chapters; the front page has none


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A book of two light chapters in our form, and one edit of a block."""
    work = tmp_path_factory.mktemp("shelf")
    return builds.Shelf(work, Spec(2, "light"), (DRIFTPROOF, PLAIN), ("block",))


@pytest.fixture(scope="module")
def records(shelf):
    """One turn of everything that is timed in builds."""
    return builds.measure(shelf, {DRIFTPROOF: 1}, lambda text: None, memory=False)


def test_every_build_of_a_turn_is_timed_and_right(records):
    expected = ["cold", "cold", "unchanged", "block", "doc tests", "doc tests"]
    assert expected == [record["edit"] for record in records]
    assert all(record["cpu"] > 0 and record["wall"] > 0 for record in records)
    assert not any(record.get("wrong") for record in records)


def test_the_tables_hold_what_was_measured(records):
    measured = table.Measured(records)
    cold = next(r["cpu"] for r in records if (r["edit"], r["tool"]) == ("cold", "driftproof"))
    assert f"| 2 | cold | {cold:.2f} |" in table.seconds(measured, "cpu")
    twelve = [record | {"chapters": 12} for record in records]
    assert "| cold, CPU |" in table.targets(table.Measured(twelve))
    assert "serve" not in table.targets(table.Measured(twelve))


def test_a_site_that_was_tampered_with_stops_the_benchmark(shelf, records):
    used = shelf.build(DRIFTPROOF)
    assert [] == builds.held(shelf, DRIFTPROOF, None, used)
    page = shelf.folder(DRIFTPROOF) / "site/chapters/chapter-0001/index.html"
    page.write_text(re.sub(r"\d</code>", "</code>", page.read_text(), count=1))
    named = r"chapters/chapter-0001/index\.html: not the bytes of a build from nothing$"
    with pytest.raises(builds.WrongError, match=named):
        builds.held(shelf, DRIFTPROOF, None, used)


def test_a_page_that_shows_old_numbers_is_wrong(shelf):
    edit = shelf.edits["block"]
    path = "docs/index.md"
    (old,), (new,) = edit.gone[path], edit.shown[path]
    assert [] == verify.shown(f"<p>says {new}%</p>", edit, path)
    expected = [f"{path} does not show {new}", f"{path} still shows {old}"]
    assert expected == verify.shown(f"<p>says {old}%</p>", edit, path)


def test_a_server_that_lies_stops_the_benchmark(shelf):
    edit = shelf.edits["block"]  # nobody makes it here, and every page passes for verified
    for folder in ("docs", "docs/chapters/chapter-0001"):
        status = shelf.folder(PLAIN) / folder / "driftproof-status.json"
        status.parent.mkdir(exist_ok=True)
        status.write_text('{"state": "agreed"}')
    with serving.Server(shelf, PLAIN) as server:
        server.until(lambda: server.get("/"), "up")
        now = time.perf_counter()
        assert not serving.Watched(server, edit, saved=now).agree()
        with pytest.raises(builds.WrongError, match="passes for verified, and shows old numbers"):
            serving.Watched(server, edit, saved=now - 60).agree()


def test_a_build_that_runs_other_blocks_is_wrong(shelf):
    edit = shelf.edits["block"]
    summary = "6 blocks expected, {} ran, {} from cache, 6 agreed".format
    assert [] == verify.counts(summary(3, 3), edit, BLOCKS)
    assert ["0 blocks ran instead of 3"] == verify.counts(summary(0, 6), edit, BLOCKS)
    assert ["6 blocks ran instead of 3"] == verify.counts(summary(6, 0), edit, BLOCKS)
    assert verify.counts(summary(3, 2), edit, BLOCKS)


def test_what_a_command_leaves_behind_is_part_of_its_cost(tmp_path):
    orphan = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while time.process_time() < 0.5: pass
    os._exit(0)
"""
    used = usage.run([sys.executable, "-S", "-c", orphan], tmp_path, {})
    assert 0 == used.status
    assert 0.5 <= used.cpu < 1


def test_a_full_chapter_can_be_recorded_and_has_two_other_forms(tmp_path):
    spec = Spec(1, "full")
    write(tmp_path / "book", spec)
    record(tmp_path / "book")
    path = "docs/chapters/chapter-0001.md"
    text = (tmp_path / "book" / path).read_text()
    assert 8 == text.count("```python")
    for form in (PLAIN, EXECUTED):
        form.copy(tmp_path / "book", tmp_path / form.name, spec)
        page = (tmp_path / form.name / path).read_text()
        assert 8 == page.count("```python")
        assert (8 if form.runs else 0) == page.count('exec="1"')
        assert "<data" not in page
