"""The verdict for people and machines: text, JSON, JUnit XML, annotations on a pull request."""

from __future__ import annotations

import dataclasses
import json
import re
from xml.etree import ElementTree

from driftproof.problem import Problem
from driftproof.results import Report, block_of

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_text(report: Report) -> str:
    """Return the problems in order of page and line, then the summary."""
    lines = [str(problem) for problem in report.problems]
    count = len(report.problems)
    verdict = f"{count} problem{'s' if count != 1 else ''}" if count else "no problems"
    return "\n".join([*lines, f"{report.summary}; {verdict}"])


def as_json(report: Report) -> str:
    """Return problems, notes and counts as a JSON object."""
    return json.dumps(
        {
            "problems": [dataclasses.asdict(problem) for problem in report.problems],
            "notes": [dataclasses.asdict(note) for note in report.notes],
            "counts": report.counts,
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
