"""Claims about what pages share: programs in regions, prose that is included."""

from __future__ import annotations

import pytest

from driftproof.results import block_of

PROGRAM = """\
import math

# --8<-- [start:square]
def square(x):
    return x * x


# --8<-- [end:square]
# --8<-- [start:use]
print(square(3))
# --8<-- [end:use]
"""
BODY = "def square(x):\n    return x * x"


def filed(name: str, body: str = "") -> str:
    return f'Text.\n\n```python file="{name}"\n{body}\n```\n'


def only(problems) -> tuple[int, str, str]:
    (problem,) = problems
    assert "docs/page.md" == problem.path
    return problem.line, problem.code, f"{problem.message}; {problem.hint}"


# Programs


def test_a_block_runs_a_region_of_a_program(project):
    project.write("snippets/square.py", PROGRAM)
    page = project.parse(filed("square.py:square", BODY))
    assert [] == page.problems
    (block,) = page.blocks
    assert (BODY + "\n", "snippets/square.py", 4) == (block.code, block.file, block.first)


def test_a_block_runs_a_whole_program(project):
    project.write("snippets/parts/square.py", "x = 3\r\nprint(x)\r\n\r\n")
    page = project.parse(filed("parts/square.py", "x = 3\nprint(x)"))
    assert [] == page.problems
    assert ("x = 3\nprint(x)\n", 1) == (page.blocks[0].code, page.blocks[0].first)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.py", "there is no snippets/missing.py; look for it under snippets/"),
        ("../src/own.py", "there is no snippets/../src/own.py"),
        ("folder.py", "there is no snippets/folder.py"),
        ("square.py:cube", "snippets/square.py has no region 'cube' with a start and an end"),
        ("square.py:open", "snippets/square.py has no region 'open' with a start and an end"),
        ("square.py", "the region 'square.py' of snippets/square.py holds another region"),
        ("square.py:outer", "the region 'outer' of snippets/square.py holds another region"),
        ("latin.py", "snippets/latin.py is not UTF-8"),
    ],
)
def test_a_program_that_cannot_be_read_is_an_error(project, name: str, message: str):
    project.write("src/own.py", "x = 1\n")
    project.write("snippets/folder.py/inside.py", "x = 1\n")
    more = "# --8<-- [start:outer]\n# --8<-- [start:inner]\n# --8<-- [end:inner]\n"
    program = f"{PROGRAM}{more}# --8<-- [end:outer]\n# --8<-- [start:open]\n"
    project.write("snippets/square.py", program)
    (project.root / "snippets/latin.py").write_bytes(b"name = '\xfc'\n")
    line, code, text = only(project.problems(filed(name)))
    assert (3, "file") == (line, code)
    assert text.startswith(message)


def test_code_shown_that_is_not_the_programs_is_an_error(project):
    project.write("snippets/square.py", PROGRAM)
    for body in ("", BODY.replace("x * x", "x + x"), BODY.replace("    ", "  ")):
        line, code, text = only(project.problems(filed("square.py:square", body)))
        assert (3, "file") == (line, code)
        assert "the code shown is not that of square.py:square; run `driftproof record`" in text


def test_an_error_in_a_program_names_its_own_line(project):
    project.write("snippets/square.py", PROGRAM)
    project.write("docs/page.md", filed("square.py:use", "print(square(3))"))
    report = project.check()
    (problem,) = report.problems
    page = report.results["docs/page.md"].page
    assert page.blocks == [block_of(page, problem)]
    assert 0 == report.counts["agreed"]
    assert ("snippets/square.py", 10, "block-failed") == (problem.path, problem.line, problem.code)
    assert "NameError: name 'square' is not defined" == problem.message
    assert problem.hint.startswith("run by the block at docs/page.md:3; correct the code")


# Prose


def test_included_prose_is_read_with_its_own_file_and_lines(project):
    project.write("snippets/note.md", 'First.\n\n--8<-- "more/inner.md"\n')
    project.write("snippets/more/inner.md", "\ufeffSecond.\r\n\r\nThird.")
    page = project.parse(
        "Text.\n\n!!! note\n\n    --8<-- 'note.md'\n\n---8<--- \"more/inner.md\"\n"
    )
    assert [] == page.problems
    assert [
        ("snippets/note.md", 1, "First."),
        ("snippets/note.md", 2, ""),
        ("snippets/more/inner.md", 1, "Second."),
        ("snippets/more/inner.md", 2, ""),
        ("snippets/more/inner.md", 3, "Third."),
        ("snippets/note.md", 4, ""),
        ("snippets/more/inner.md", 1, "Second."),
        ("snippets/more/inner.md", 2, ""),
        ("snippets/more/inner.md", 3, "Third."),
    ] == page.shared


def test_a_marker_in_code_comments_or_behind_a_semicolon_includes_nothing(project):
    marker = '--8<-- "missing.md"'
    text = f"`{marker}`\n\n;{marker}\n\n<!--\n{marker}\n-->\n\n```text\n{marker}\n```\n"
    page = project.parse(text)
    assert ([], []) == (page.problems, page.shared)


INCLUDED = {
    "nothing named": (
        "--8<--",
        {},
        '`--8<--` without a file; write --8<-- "name.md"',
    ),
    "missing": (
        '--8<-- "note.md"',
        {},
        "there is no snippets/note.md (docs/page.md:3); look for it under snippets/",
    ),
    "outside": ('--8<-- "../docs/page.md"', {}, "there is no snippets/../docs/page.md"),
    "a section": (
        '--8<-- "note.md:part"',
        {"note.md": "Text.\n"},
        "there is no snippets/note.md:part",
    ),
    "missing inside": (
        '--8<-- "note.md"',
        {"note.md": '\n--8<-- "inner.md"\n'},
        "there is no snippets/inner.md (docs/page.md:3 > snippets/note.md:2)",
    ),
    "nothing named inside": (
        '--8<-- "note.md"',
        {"note.md": "\n--8<--\n"},
        "there is no snippets/ (docs/page.md:3 > snippets/note.md:2)",
    ),
    "itself": (
        '--8<-- "note.md"',
        {"note.md": '--8<-- "note.md"\n'},
        "snippets/note.md includes itself (docs/page.md:3 > snippets/note.md:1)",
    ),
    "a circle": (
        '--8<-- "note.md"',
        {"note.md": '--8<-- "a.md"\n', "a.md": '\n--8<-- "note.md"\n'},
        "snippets/note.md includes itself (docs/page.md:3 > snippets/note.md:1 > snippets/a.md:2)",
    ),
    "a block": (
        '--8<-- "note.md"',
        {"note.md": "Text.\n\n```python\nx = 1\n```\n"},
        "snippets/note.md:3 holds a fence that the page cannot run (docs/page.md:3); shared prose",
    ),
    "a block by another name": (
        '--8<-- "note.md"',
        {"note.md": "- Text.\n\n    ``` { .py }\n    x = 1\n    ```\n"},
        "snippets/note.md:3 holds a fence that the page cannot run (docs/page.md:3); shared prose",
    ),
    "an output": (
        '--8<-- "note.md"',
        {"note.md": "```output\n1\n```\n"},
        "snippets/note.md:1 holds a fence that the page cannot run",
    ),
    "an open fence": (
        '--8<-- "note.md"',
        {"note.md": "Text.\n\n```text\nx = 1\n"},
        "snippets/note.md:3 holds a fence that the page cannot run",
    ),
    "a bound number": (
        '--8<-- "note.md"',
        {"note.md": 'Text.\n\nIt is <data value="x">3</data>.\n'},
        "snippets/note.md:3 binds a number, which shared prose cannot (docs/page.md:3)",
    ),
}


@pytest.mark.parametrize(("marker", "files", "message"), INCLUDED.values(), ids=INCLUDED)
def test_a_wrong_include_is_an_error_at_the_pages_line(project, marker, files, message):
    for name, text in files.items():
        project.write(f"snippets/{name}", text)
    line, code, text = only(project.problems(f"Text.\n\n{marker}\n"))
    assert (3, "include") == (line, code)
    assert message in text


def test_shared_prose_may_show_code_in_other_languages(project):
    project.write("snippets/note.md", "```bash\nmake\n```\n\n<!--\n```python\nx\n```\n-->\n")
    page = project.parse('--8<-- "note.md"\n')
    assert [] == page.problems


def test_shared_prose_that_is_not_utf_8_is_an_error(project):
    (project.root / "snippets/note.md").write_bytes(b"Z\xfcrich\n")
    line, code, text = only(project.problems('--8<-- "note.md"\n'))
    assert (1, "include") == (line, code)
    assert "snippets/note.md is not UTF-8 (docs/page.md:1)" in text


def test_numbers_and_formulas_of_shared_prose_are_checked_at_their_own_line(project):
    project.write("snippets/note.md", "Text.\n\nIt is 0.123 and\n$\\frac{1$.\n")
    project.write("docs/page.md", '--8<-- "note.md"\n')
    problems = project.check().problems
    assert [
        ("snippets/note.md", 3, "unbound-number"),
        ("snippets/note.md", 4, "formula"),
    ] == [(problem.path, problem.line, problem.code) for problem in problems]
