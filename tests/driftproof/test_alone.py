"""Without an adapter a page is checked when it is rendered, once for as long as nothing changes."""

from __future__ import annotations

import pytest

from driftproof import alone

PAGE = "# Page\n\n```python\nfrom part import x\nprint(x)\n```\n\n```output\n4\n```\n"


@pytest.fixture
def book(project, monkeypatch):
    project.write("src/part.py", "x = 4\n")
    project.write("docs/page.md", PAGE)
    project.write("docs/other.md", "# Other\n")
    monkeypatch.chdir(project.root)
    return project


def problems(text: str = PAGE) -> list[str]:
    found = alone.checked(text.rstrip("\n").split("\n"))
    assert found is not None
    return [problem.code for problem in found[0].problems]


def test_the_book_is_checked_once_for_all_its_pages(book):
    assert [] == problems()
    first = alone.checked(["# Other"])
    second = alone.checked(PAGE.split("\n"))
    assert first is not None
    assert second is not None
    assert first[1] is second[1]


def test_a_changed_page_or_module_is_checked_again(book):
    assert [] == problems()
    book.write("docs/page.md", PAGE.replace("\n4\n", "\n44\n"))
    assert ["drift"] == problems(PAGE.replace("\n4\n", "\n44\n"))
    book.write("src/part.py", "x = 44\n")
    assert [] == problems(PAGE.replace("\n4\n", "\n44\n"))


def test_text_that_is_no_page_is_nobodys(book):
    assert alone.checked(["Some docstring."]) is None
    assert alone.checked([""]) is None
