"""Every message has a code, a place and a next step, and every code its explanation."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import driftproof
from driftproof import cli
from driftproof.explain import explain, sections
from driftproof.problem import DriftproofError, Problem

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/contributing/messages.md").read_text("utf-8")
KINDS = ("Problem", "DriftproofError", "OptionError", "problem", "_found")


def raised():
    """The codes in the source: first arguments of whatever makes a message."""
    found = set()
    for file in Path(inspect.getfile(driftproof)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                first = node.args[0]
                if name in KINDS and isinstance(first, ast.Constant):
                    found.add(first.value)
    return {code for code in found if re.fullmatch(r"[a-z]+(-[a-z]+)*", str(code))}


def test_every_code_of_the_source_is_explained_and_no_other():
    assert raised() == set(sections())
    assert list(sections()) == sorted(sections())


def test_no_message_is_made_without_a_next_step():
    for kind, optional in ((Problem, {"detail", "block"}), (DriftproofError, {"place"})):
        parameters = inspect.signature(kind).parameters.values()
        assert optional == {p.name for p in parameters if p.default is not p.empty}
    for file in Path(inspect.getfile(driftproof)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in KINDS:
                assert not any(isinstance(a, ast.Constant) and a.value == "" for a in node.args), (
                    f"{file.name}:{node.lineno}"
                )


@pytest.mark.parametrize("code", sections())
def test_a_section_has_a_cause_an_example_and_a_next_step(code):
    text = sections()[code]
    example = re.search(rf"^```text\n(.*?\[{code}\].*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert example, text
    assert re.match(r"\S+: .* \[[a-z-]+\]\n {4}\S", example[1]), example[1]
    assert text.startswith("Cause: ")
    assert "\nNext: " in text


def test_the_page_has_the_sections_of_the_command_letter_for_letter():
    shipped = (ROOT / "src/driftproof/assets/messages.md").read_text("utf-8")
    assert shipped == PAGE[PAGE.index("## ") :], "copy the sections from one to the other"


def test_a_code_is_explained_as_it_stands_at_the_end_of_a_message(capsys):
    assert 0 == cli.main(["explain", "[drift]"])
    assert f"drift\n\n{sections()['drift']}\n" == capsys.readouterr().out


def test_codes_are_explained_outside_of_every_project(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert 0 == cli.main(["explain"])
    assert [*sections()] == capsys.readouterr().out.split()


def test_an_unknown_code_names_those_that_are_near(capsys):
    assert 2 == cli.main(["explain", "drfit"])
    expected = "driftproof: no message ends in [drfit] [no-code]\n    did you mean drift?"
    assert capsys.readouterr().err.startswith(expected)
    with pytest.raises(DriftproofError, match="lists them"):
        explain("zzzzzz")


# The errors that are about no page: each one made, and compared with its example.


def settings(project, monkeypatch, capsys):
    project.write("pyproject.toml", "[tool.driftproof]\nsnipets = 'programs'\n")
    return cli.main(["check"])


def no_page(project, monkeypatch, capsys):
    project.write("docs/gates.md", "# Gates\n")
    return cli.main(["check", "gaets"])


def ci(project, monkeypatch, capsys):
    monkeypatch.setenv("CI", "true")
    return cli.main(["record"])


def report(project, monkeypatch, capsys):
    project.write("report.json", "{}")
    return cli.main(["record", "--from", "report.json"])


def no_site(project, monkeypatch, capsys):
    return cli.main(["publish", "site"])


def navigation(project, monkeypatch, capsys):
    project.write("mkdocs.yml", "site_name: Book\n")
    project.write("site/index.html", "")
    return cli.main(["publish", "site"])


def no_code(project, monkeypatch, capsys):
    return cli.main(["explain", "drfit"])


@pytest.mark.parametrize(
    "happens",
    [settings, no_page, ci, report, no_site, navigation, no_code],
    ids=lambda f: f.__name__,
)
def test_an_error_of_the_command_is_its_example(project, monkeypatch, capsys, happens):
    monkeypatch.chdir(project.root)
    assert 2 == happens(project, monkeypatch, capsys)
    said = capsys.readouterr().err
    code = happens.__name__.replace("_", "-")
    assert f"```text\n{said}```" in sections()[code], said
