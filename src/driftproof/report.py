"""The verdict for people and machines: text, JSON, JUnit XML, what GitHub shows of a run."""

from __future__ import annotations

import dataclasses
import json
import re
from html import escape
from itertools import groupby
from xml.etree import ElementTree

from driftproof.problem import Problem
from driftproof.propose import as_data
from driftproof.results import Report, block_of

_ROWS = 500
"""Rows of a summary; GitHub drops a whole summary that is longer than a megabyte."""
_CELL = 300
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_text(report: Report) -> str:
    """Return the problems in order of page and line, then the summary."""
    lines = [str(problem) for problem in report.problems]
    count = len(report.problems)
    verdict = f"{count} problem{'s' if count != 1 else ''}" if count else "no problems"
    return "\n".join([*lines, f"{report.summary}; {verdict}"])


def as_json(report: Report) -> str:
    """Return problems, notes, counts and texts to record as a JSON object."""
    return json.dumps(
        {
            "problems": [dataclasses.asdict(problem) for problem in report.problems],
            "notes": [dataclasses.asdict(note) for note in report.notes],
            "counts": report.counts,
            "device": report.device,
            "proposals": as_data(report),
        },
        indent=2,
    )


def as_junit(report: Report) -> str:
    """Return JUnit XML with one test case per block, and one for the rest of each page."""
    suites = ElementTree.Element("testsuites")
    for path in sorted(report.wanted):
        result = report.results[path]
        suite = ElementTree.SubElement(suites, "testsuite", name=path)
        of = [(block_of(result.page, problem), problem) for problem in result.problems]
        for block in result.page.running:
            mine = [problem for concerned, problem in of if concerned == block]
            _case(suite, path, f"block {block.number}, line {block.line}", mine)
        _case(suite, path, "prose", [p for b, p in of if b not in result.page.running])
        cases = suite.findall("testcase")
        suite.set("tests", str(len(cases)))
        suite.set("failures", str(len(suite.findall("testcase/failure"))))
    return ElementTree.tostring(suites, "unicode", xml_declaration=True)


def as_annotations(report: Report) -> str:
    """Return the lines by which GitHub shows problems on the diff of a pull request."""
    return "\n".join(
        f"::error file={_escaped(p.path, ',:')},line={p.line},"
        f"title={_escaped(p.code, ',:')}::{_escaped(_body(p))}"
        for p in report.problems
    )


def as_summary(report: Report) -> str:
    """Return the Markdown that GitHub shows on the page of a run: a table for each page."""
    count = len(report.problems)
    verdict = f"{count} problem{'s' if count != 1 else ''}" if count else "no problems"
    lines = [f"### driftproof: {verdict}", "", f"{report.summary}.", ""]
    shown = report.problems[:_ROWS]
    for path, problems in groupby(shown, key=lambda problem: problem.path):
        found = list(problems)
        details = dict.fromkeys(text for problem in found for text in problem.detail)
        lines += [f"#### {_cell(path)}", ""]
        lines += [f"- {_cell(text)}" for text in details if text.startswith("recorded with ")]
        lines += ["", "| line | what | recorded | printed |", "| ---: | --- | --- | --- |"]
        lines += [_row(problem) for problem in found]
        lines.append("")
    if count > len(shown):
        lines.append(f"{count - len(shown)} more are in the log.")
    return "\n".join(lines)


def _row(problem: Problem) -> str:
    said = dict(text.split(":", 1) for text in problem.detail if ":" in text)
    old, new = (_cell(said.get(name, "")) for name in ("recorded", "printed"))
    return f"| {problem.line} | {_cell(problem.message)} ({problem.code}) | {old} | {new} |"


def _cell(text: str) -> str:
    """Return text of a page so that nothing in it is markup or ends a cell."""
    text = " ".join(text.split())
    text = text if len(text) <= _CELL else f"{text[:_CELL]}…"
    return re.sub(r"[\\`*_\[\]|~@#!$:]|(?<=www)\.", lambda m: f"&#{ord(m[0])};", escape(text))


def _case(suite: ElementTree.Element, path: str, name: str, problems: list[Problem]) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=path, name=name)
    for problem in problems:
        message = _NOT_XML.sub("\ufffd", problem.message)
        failure = ElementTree.SubElement(case, "failure", message=message, type=problem.code)
        failure.text = _NOT_XML.sub("\ufffd", str(problem))


def _body(problem: Problem) -> str:
    return "\n".join(filter(None, (problem.message, problem.hint, *problem.detail)))


def _escaped(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
