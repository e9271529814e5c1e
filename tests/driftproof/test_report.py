"""Claims about verdicts: every mistake has a page, a line and a block, and the counts add up."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from driftproof.problem import Problem
from driftproof.report import as_annotations, as_json, as_junit, as_summary, as_text
from driftproof.results import Report, Result
from driftproof.runs import Run

GOOD = "```python\nx = 1\nprint(x)\n```\n\n```output\n1\n```\n"
DRIFTED = "\nText 0.123.\n\n```python\nprint(2)\n```\n\n```output\n3\n```\n"
FAILING = "\n```python\n1 / 0\n```\n\n```python\nprint(3)\n```\n\n```output\n3\n```\n"
SHOWN = '\n```python exec="off" reason="slow"\nx = 1\n```\n'
ELSEWHERE = '\n```python\nprint(4)\n```\n\n```output device="cuda"\n```\n'


@pytest.fixture
def report(project) -> Report:
    """Three pages: `good` agrees, `drift` drifts at 16, `fails` stops at its second block."""
    project.write("docs/good.md", GOOD + SHOWN)
    project.write("docs/drift.md", GOOD + DRIFTED + ELSEWHERE)
    project.write("docs/sub/fails.md", GOOD + FAILING)
    return project.check()


def test_problems_come_by_page_and_line(report):
    assert [
        ("docs/drift.md", 10, "unbound-number"),
        ("docs/drift.md", 17, "drift"),
        ("docs/sub/fails.md", 11, "block-failed"),
    ] == [(problem.path, problem.line, problem.code) for problem in report.problems]


def test_the_counts_add_up(report):
    assert {
        "found": 8,
        "shown": 1,
        "elsewhere": 1,
        "expected": 6,
        "ran": 5,
        "recalled": 0,
        "agreed": 3,
        "bound": 0,
    } == report.counts
    assert (
        "6 blocks expected, 5 ran, 0 from cache, 3 agreed; 0 bound numbers; "
        '1 shown only (exec="off"); 1 not verified here (other device)'
    ) == report.summary


def test_a_second_check_recalls_what_agreed_and_reruns_what_failed(project, report):
    before, after = report.counts, project.check().counts
    assert (5, 0) == (before["ran"], before["recalled"])
    assert (2, 3) == (after["ran"], after["recalled"])
    assert before["agreed"] == after["agreed"]


def test_the_counts_of_a_right_book_are_equal(project):
    project.write("docs/page.md", f'{GOOD}\nSo <data value="x">1</data>.\n')
    counts = project.check().counts
    assert 1 == counts["expected"] == counts["ran"] == counts["agreed"] == counts["bound"]


def test_a_page_named_by_another_is_neither_counted_nor_judged(project):
    project.write("docs/owner.md", "```python\nx = 1\nprint(x)\n```\n")
    project.write("docs/page.md", 'So <data value="owner:x">1</data>.\n')
    report = project.check("docs/page.md")
    assert [] == report.problems
    assert (0, 1) == (report.counts["expected"], report.counts["bound"])
    assert ["missing-output"] == [problem.code for problem in project.check().problems]


def test_the_text_ends_with_the_verdict(report):
    lines = as_text(report).split("\n")
    assert (
        "docs/drift.md:10: 0.123 is neither bound, printed, in the code, nor cited [unbound-number]"
    ) == lines[0]
    assert lines[1].startswith('    write <data value="expression">')
    assert "    | recorded: 3" in lines
    assert "    | printed:  2" in lines
    assert f"{report.summary}; 3 problems" == lines[-1]


def test_the_text_of_a_right_book_says_so(project):
    project.write("docs/page.md", GOOD)
    assert (
        "1 blocks expected, 1 ran, 0 from cache, 1 agreed; 0 bound numbers; no problems"
    ) == as_text(project.check())


def test_json_holds_problems_notes_and_counts(report):
    found = json.loads(as_json(report))
    assert ["unbound-number", "drift", "block-failed"] == [p["code"] for p in found["problems"]]
    assert ["unverified"] == [note["code"] for note in found["notes"]]
    assert report.counts == found["counts"]
    assert 2 == found["problems"][-1]["block"]


def test_junit_has_a_case_for_each_block_and_one_for_the_prose(report):
    suites = ElementTree.fromstring(as_junit(report))
    cases = {
        (case.get("classname"), case.get("name")): [f.get("type") for f in case]
        for case in suites.iter("testcase")
    }
    assert {
        ("docs/drift.md", "block 1, line 1"): [],
        ("docs/drift.md", "block 2, line 12"): ["drift"],
        ("docs/drift.md", "block 3, line 20"): [],
        ("docs/drift.md", "prose"): ["unbound-number"],
        ("docs/good.md", "block 1, line 1"): [],
        ("docs/good.md", "prose"): [],
        ("docs/sub/fails.md", "block 1, line 1"): [],
        ("docs/sub/fails.md", "block 2, line 10"): ["block-failed"],
        ("docs/sub/fails.md", "block 3, line 14"): [],
        ("docs/sub/fails.md", "prose"): [],
    } == cases
    assert [("4", "2"), ("2", "0"), ("4", "1")] == [
        (suite.get("tests"), suite.get("failures")) for suite in suites
    ]


def test_annotations_stand_on_one_line_with_file_and_line(report):
    lines = as_annotations(report).split("\n")
    assert 3 == len(lines)
    assert lines[1].startswith("::error file=docs/drift.md,line=17,title=drift::integers are")
    assert lines[1].endswith("%0Arecorded: 3%0Aprinted:  2")


def of(problem: Problem, project) -> Report:
    """A report of one page with one problem."""
    page = project.parse("Text.\n")
    result = Result(page, Run(), problems=[problem])
    return Report({page.path: result}, {page.path}, {})


def test_what_a_problem_says_cannot_break_a_report(project):
    nasty = Problem(
        "a,b:c", "docs/page.md", 1, '100% <b> & "q"\r\n::error::', "50%\n", ("]]>\x0c",)
    )
    report = of(nasty, project)
    assert (
        "::error file=docs/page.md,line=1,title=a%2Cb%3Ac::"
        '100%25 <b> & "q"%0D%0A::error::%0A50%25%0A%0A]]>\x0c'
    ) == as_annotations(report)
    assert '100% <b> & "q"\r\n::error::' == json.loads(as_json(report))["problems"][0]["message"]
    (failure,) = ElementTree.fromstring(as_junit(report)).iter("failure")
    assert "a,b:c" == failure.get("type")
    assert "50%" in (failure.text or "")


def test_a_failed_block_shows_its_code_frames_and_what_was_not_run(project):
    project.write(
        "src/helper.py", "def half(x):\n    return inner(x)\n\n\ndef inner(x):\n    return x / 0\n"
    )
    code = 'import sys\nfrom helper import half\nprint("careful", file=sys.stderr)\nhalf(1)'
    lines = ["```python", *code.split("\n"), "```", "", "```python", "x = 1", "```", ""]
    text = "---\ntitle: x\n---\n\n!!! note\n\n" + "\n".join(f"    {line}" for line in lines)
    project.write("docs/page.md", text)
    (problem,) = project.check().problems
    assert ("docs/page.md", 11) == (problem.path, problem.line)
    assert "ZeroDivisionError: division by zero" == problem.message
    assert (
        "8: import sys",
        "9: from helper import half",
        '10: print("careful", file=sys.stderr)',
        "11: half(1)",
        "src/helper.py:2, in half: return inner(x)",
        "src/helper.py:6, in inner: return x / 0",
        "blocks after it, not run: 1",
        "stderr: careful",
    ) == problem.detail


def test_a_message_can_be_printed_whatever_is_in_it(project):
    project.write("docs/page.md", '```python\nraise ValueError("\\udc80 \\x1b[31m")\n```\n')
    report = project.check()
    assert "ValueError: \\udc80 \x1b[31m" == report.problems[0].message
    assert as_text(report).encode()
    assert ElementTree.fromstring(as_junit(report)) is not None


def test_line_numbers_of_code_count_lines_as_python_does(project):
    project.write("docs/page.md", '```python\nx = "a\x0cb\u2028c"\n1 / 0\n```\n')
    (problem,) = project.check().problems
    assert 3 == problem.line
    assert "3: 1 / 0" == problem.detail[-1]


@pytest.mark.parametrize(
    ("block", "line", "code", "message"),
    [
        ("```python\nprint(1)\n```", 3, "missing-output", "the block prints, but has no output"),
        ("```python\nx = 1\n```\n\n```output\n1\n```", 7, "surplus-output", "prints nothing"),
        ("```python\nprint(1)\n```\n\n```output\n```", 8, "drift", ""),
        ("```python\nprint('a b')\n```\n\n```output\nz\na b\n```", 8, "drift", "lines recorded"),
        (
            "```python\nprint('| a |')\n```\n\n```output show=\"table\"\n| a |\n```",
            3,
            "table",
            "is not the table of",
        ),
        (
            '```python raises="ValueError"\nx = 1\n```',
            4,
            "block-failed",
            "NotRaised: ValueError was declared",
        ),
        (
            '```python raises="ValueError"\nx = 1 / 0\n```',
            4,
            "block-failed",
            "ZeroDivisionError",
        ),
    ],
)
def test_a_block_that_disagrees_with_its_output_is_an_error_at_its_line(
    project, block: str, line: int, code: str, message: str
):
    for before, prefix in (("Text.\n\n", ""), ("- item\n\n", "    "), (">\n>\n", "> ")):
        text = before + "\n".join((prefix + row).rstrip() for row in block.split("\n"))
        project.write("docs/page.md", text + "\n")
        (problem,) = project.check().problems
        assert ("docs/page.md", line, code) == (problem.path, problem.line, problem.code)
        assert message in problem.message


def test_every_problem_names_a_file_and_a_line_that_exist(project, report):
    for problem in report.problems:
        lines = (Path(project.root) / problem.path).read_text("utf-8").splitlines()
        assert 1 <= problem.line <= len(lines)
        assert re.match(rf"{problem.path}:{problem.line}: .* \[{problem.code}\]", str(problem))


# GitHub's summary of a run


def test_the_summary_has_a_table_for_each_page_with_old_and_new(report):
    text = as_summary(report)
    assert text.startswith("### driftproof: 3 problems\n\n6 blocks expected, 5 ran")
    assert re.findall(r"(?m)^#### (.*)$", text) == ["docs/drift.md", "docs/sub/fails.md"]
    drift = next(line for line in text.split("\n") if line.startswith("| 17 "))
    assert [" 3 ", " 2 "] == drift.split("|")[3:5]


def test_nothing_that_a_page_prints_is_markup_in_the_summary(project):
    hostile = r"<img src=x> | [a](b) ![c](d) `e` \| *f* @team #1 https://x ::error:: www.x.org"
    project.write(
        "docs/page.md",
        f"```python\nprint({hostile!r}, 2)\n```\n\n```output\n{hostile} 3\n```\n",
    )
    text = as_summary(project.check())
    row = next(line for line in text.split("\n") if line.startswith("| 6 "))
    assert 5 == row.count("|")
    for markup in ("<", "[", "`", "*", "@team", " #1", "://", "!", "::", "www."):
        assert markup not in row, markup


def test_the_summary_names_both_versions_once_a_page(project):
    stamp = "---\nrecorded: Python 3.0.0, numpy 1.0.0; x86_64, 1 thread; 2026-01-02\n---\n"
    project.write("docs/page.md", stamp + GOOD + DRIFTED.replace("Text 0.123.\n", ""))
    text = as_summary(project.check())
    assert re.search(r"\n- recorded with numpy 1\.0\.0, ran with numpy 2\.", text)
    assert 1 == text.count("recorded with Python 3.0.0")


def test_a_long_summary_ends_before_github_drops_it(project):
    numbers = "\n".join(str(n) for n in range(600))
    project.write(
        "docs/page.md",
        f"```python\nfor n in range(600):\n    print(n + 1)\n```\n\n```output\n{numbers}\n```\n",
    )
    text = as_summary(project.check())
    assert 500 == len(re.findall(r"(?m)^\| \d+ \|", text))
    assert text.endswith("100 more are in the log.")
