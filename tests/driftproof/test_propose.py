"""Recordings as data: what a report may change, and that it can change nothing else."""

from __future__ import annotations

import json

import pytest

from driftproof import cli
from driftproof.problem import DriftproofError
from driftproof.propose import accept
from driftproof.report import as_json

PAGE = """\
# Two blocks

```python id="counted"
print(26)
```

```output
26
```

> ```python id="timed"
> import os
> print(os.environ["DRIFTPROOF_DEVICE"], "took 1.5 s")
> ```
>
> ```output device="cuda" measured="pending"
> ```

The end.
"""
STAMP = "NVIDIA H200 · torch 2.13.0+cu130 · 2026-11-29"


@pytest.fixture
def book(project):
    project.write("docs/page.md", PAGE)
    project.write("docs/other.md", PAGE)
    return project


@pytest.fixture
def report(book):
    """The report of a run on a device, as a file of data."""
    file = book.root / "report.json"
    file.write_text(as_json(book.check("docs/page.md", device="cuda")), "utf-8")
    return file


def changed(file, **values):
    """Write other values into the one proposal of a report."""
    content = json.loads(file.read_text("utf-8"))
    content["proposals"][0] |= values
    file.write_text(json.dumps(content), "utf-8")
    return file


def test_a_device_proposes_its_own_outputs_and_no_others(report):
    proposals = json.loads(report.read_text("utf-8"))["proposals"]
    assert [("docs/page.md", "timed", "cuda took 1.5 s")] == [
        (p["page"], p["block"], p["text"]) for p in proposals
    ]


def test_a_drifted_block_is_proposed_by_the_cpu_and_never_by_a_device(book):
    book.write("docs/page.md", PAGE.replace("print(26)", "print(27)"))
    here = json.loads(as_json(book.check("docs/page.md")))["proposals"]
    assert ["27"] == [proposal["text"] for proposal in here]
    there = json.loads(as_json(book.check("docs/page.md", device="cuda")))["proposals"]
    assert ["timed"] == [proposal["block"] for proposal in there]


def test_recording_on_a_device_writes_what_only_it_can_print(book):
    text = PAGE.replace("print(26)", "print(27)")
    book.write("docs/page.md", text)
    book.record("docs/page.md", device="cuda")
    recorded = book.read("docs/page.md")
    assert "\n26\n" in recorded
    assert "> cuda took 1.5 s\n" in recorded


def test_an_accepted_text_is_recorded_between_its_fences_and_nothing_else_changes(book, report):
    done = accept(book.config, changed(report, measured=STAMP))
    assert [("docs/page.md", 17, "", "cuda took 1.5 s")] == [
        (change.path, change.line, change.old, change.new) for change in done.changes
    ]
    head, tail = PAGE.split('measured="pending"\n')
    after = book.read("docs/page.md")
    assert after.startswith(head + f'measured="{STAMP}" code="')
    assert after.endswith("> cuda took 1.5 s\n" + tail)
    assert len(PAGE.split("\n")) + 1 == len(after.split("\n"))
    assert [] == book.check("docs/page.md", release=True).problems
    assert [] == accept(book.config, report).written


def test_line_endings_stay(book, report):
    book.write("docs/page.md", PAGE.replace("\n", "\r\n"))
    accept(book.config, report)
    after = book.read("docs/page.md")
    assert after.count("\n") == after.count("\r\n") == PAGE.count("\n") + 1


def test_a_text_that_looks_like_a_fence_or_an_include_stays_inside(book, report):
    text = '```\n````\n```python\nprint(1)\n```\n--8<-- "pyproject.toml"\n<script>1</script>\n> x'
    accept(book.config, changed(report, text=text))
    page = book.parse(path="docs/page.md")
    assert [] == page.problems
    assert 2 == len(page.blocks)
    assert text == page.blocks[1].output.text


STAMP_MESSAGE = "is not a stamp of machine and date"
REFUSED = {
    "a page outside": ({"page": "../outside.md"}, "'../outside.md' is not a page of this project"),
    "an absolute path": ({"page": "/etc/passwd"}, "'/etc/passwd' is not a page"),
    "no page": ({"page": "pyproject.toml"}, "'pyproject.toml' is not a page of this project"),
    "another spelling": ({"page": "docs/../docs/page.md"}, "is not a page of this project"),
    "no such block": ({"block": "timed2"}, "docs/page.md#timed2: the page has no such block"),
    "other code": ({"code": "0" * 64}, "its code is not the code that was run"),
    "an option in the stamp": ({"measured": 'a" code="b · 2026-11-29'}, STAMP_MESSAGE),
    "a line in the stamp": ({"measured": "a\n· 2026-11-29"}, STAMP_MESSAGE),
    "no date": ({"measured": "a fast machine"}, STAMP_MESSAGE),
    "no text": ({"text": ""}, "its text is not what a run records"),
    "a carriage return": ({"text": "1\r2"}, "its text is not what a run records"),
    "colours": ({"text": "\x1b[31m1"}, "its text is not what a run records"),
    "another separator": ({"text": "1\u20282"}, "its text is not what a run records"),
    "a number": ({"text": 5}, "every value has to be text"),
    "a list": ({"page": ["docs/page.md"]}, "every value has to be text"),
    "another key": ({"path": "x"}, "proposal 2: needs block, code, measured, page, text"),
}


@pytest.mark.parametrize(("values", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_report_that_does_not_fit_is_refused_whole(book, report, values, message):
    good = json.loads(report.read_text("utf-8"))
    good["proposals"].append(good["proposals"][0] | values)
    report.write_text(json.dumps(good), "utf-8")
    before = {path: path.read_bytes() for path in book.root.rglob("*") if path.is_file()}
    with pytest.raises(DriftproofError, match=message.replace("(", r"\(")):
        accept(book.config, report)
    changed(report, **values)
    with pytest.raises(DriftproofError):
        accept(book.config, report)
    after = {path: path.read_bytes() for path in book.root.rglob("*") if path.is_file()}
    assert before | {report: report.read_bytes()} == after


def test_two_texts_for_one_block_are_refused(book, report):
    content = json.loads(report.read_text("utf-8"))
    content["proposals"] *= 2
    report.write_text(json.dumps(content), "utf-8")
    with pytest.raises(DriftproofError, match=r"docs/page\.md: two texts for one block"):
        accept(book.config, report)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no list of proposals"),
        ('{"proposals": {"page": "x"}}', "no list of proposals"),
        ('{"proposals": [1]}', "proposal 1: needs"),
    ],
)
def test_what_is_no_report_is_refused(book, content, message):
    file = book.root / "report.json"
    file.write_text(content, "utf-8")
    with pytest.raises(DriftproofError, match=message):
        accept(book.config, file)
    with pytest.raises(DriftproofError, match="No such file"):
        accept(book.config, book.root / "missing.json")


def test_a_page_linked_from_outside_is_not_written(book, report, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "page.md"
    outside.write_text(PAGE, "utf-8")
    (book.root / "docs/page.md").unlink()
    (book.root / "docs/page.md").symlink_to(outside)
    with pytest.raises((DriftproofError, ValueError)):
        accept(book.config, report)
    assert outside.read_text("utf-8") == PAGE


def test_the_command_accepts_chosen_pages_and_never_under_ci(book, report, monkeypatch, capsys):
    monkeypatch.chdir(book.root)
    assert 0 == cli.main(["record", "--from", "report.json", "other"])
    assert "nothing to record\n" == capsys.readouterr().out
    monkeypatch.setenv("CI", "true")
    assert 2 == cli.main(["record", "--from", "report.json"])
    monkeypatch.delenv("CI")
    assert 0 == cli.main(["record", "--from", "report.json"])
    assert "  + cuda took 1.5 s\nwrote docs/page.md\n" in capsys.readouterr().out


# A device


def test_a_release_needs_a_recording_of_every_device(book):
    assert [] == book.check().problems
    assert [("docs/other.md", 16), ("docs/page.md", 16)] == [
        (problem.path, problem.line) for problem in book.check(release=True).problems
    ]
    assert {"no-recording"} == {problem.code for problem in book.check(release=True).problems}


def test_a_block_that_prints_two_texts_on_a_device_is_unsteady(project):
    text = (
        '```python\nimport os\nprint(os.environ.get("DRIFTPROOF_DEVICE"), {code})\n```\n\n'
        '```output rtol="1" because="b"\n{printed}\n```\n'
    )
    unsteady = text.format(code='os.urandom(6).hex("-")', printed="cuda 7.5")
    project.write("docs/page.md", unsteady)
    assert "unsteady" in [problem.code for problem in project.check(device="cuda").problems]
    assert "unsteady" in [problem.code for problem in project.check(device="cuda").problems]
    assert "unsteady" not in [problem.code for problem in project.check().problems]
    project.write("docs/page.md", text.format(code="7.5", printed="cuda 7.5"))
    assert "unsteady" not in [problem.code for problem in project.check(device="cuda").problems]
