"""A notebook holds the page: its blocks, its outputs, its prose, and what makes it run."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from driftproof.check import check
from driftproof.problem import DriftproofError
from driftproof.publish.notebooks import write_notebook


@pytest.fixture
def notebook(small, site) -> Any:
    book = small()
    report = check(book.config, recall_only=True)
    return nbformat.read(write_notebook(book, book.notebooks[0], report, site), 4)


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"][1:]


def prose(notebook: Any) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_the_blocks_that_run_are_cells_in_order(small, notebook):
    running = small().notebooks[0].page.running
    assert [block.code.rstrip("\n") for block in running] == [c.source for c in code(notebook)]
    assert [2, 3, 4, 5] == [cell.execution_count for cell in code(notebook)]


def test_a_recorded_output_is_that_of_its_cell(notebook):
    printed, raised, answered, drawn = (cell.outputs for cell in code(notebook))
    assert ["left 0.000977\n"] == [output.text for output in printed]
    assert ["1.7e-05\n"] == [output.text for output in answered]
    assert ("before\n", "ZeroDivisionError", "division by zero") == (
        raised[0].text,
        raised[1].ename,
        raised[1].evalue,
    )
    assert "step  left\n   0     1\n   1   0.5" == drawn[0].data["text/plain"]
    assert drawn[0].data["image/svg+xml"].startswith('<svg role="img"')


def test_prose_is_plain_markdown_with_its_mathematics(notebook):
    text = prose(notebook)
    assert "Of $x_0$ there is 0.001 left.<sup>1</sup> See home & `<data>`.\n" in text + "\n"
    assert "$$\nx_t = 2^{-t}\n$$" in text
    assert "**Which base?**\n\nTake a third.\n\n**Answer**\n\nSmaller, as $3 > 2$:" in text
    assert "```python\nlaunch()\n```\n\nShown, not run: needs a cluster" in text
    assert text.endswith("1. A. Author (1999). *A paper*.")
    assert "{ #" not in text
    assert "recorded:" not in text


def test_it_says_what_to_install(notebook):
    assert "pip install numpy==2.4.6 torch==2.13.0 ./a-small-book-0.tar.gz" in prose(notebook)


def test_links_lead_to_the_site_where_its_address_is_known(small, site):
    book = small("https://book.example/small")
    report = check(book.config, recall_only=True)
    text = prose(nbformat.read(write_notebook(book, book.notebooks[0], report, site), 4))
    assert "See [home](https://book.example/small/) &" in text
    assert "https://book.example/small/a-small-book-0.tar.gz" in text


def test_a_fresh_kernel_prints_what_is_recorded(notebook):
    run = deepcopy(notebook)
    for cell in code(run):
        cell.outputs = []
    NotebookClient(run, timeout=120, kernel_name="python3").execute()
    for recorded, printed in zip(code(notebook), code(run), strict=True):
        assert [kept(output) for output in recorded.outputs] == [
            kept(output) for output in printed.outputs
        ]


def kept(output: Any) -> tuple[str, str]:
    """The kind of an output and its text."""
    if output.output_type == "error":
        return "error", f"{output.ename}: {output.evalue}"
    return output.output_type, output.get("text") or output.data["text/plain"]


def test_two_writings_are_the_same_bytes(small, site):
    book = small()
    report = check(book.config, recall_only=True)
    first = write_notebook(book, book.notebooks[0], report, site).read_bytes()
    assert first == write_notebook(book, book.notebooks[0], report, site).read_bytes()


def test_a_figure_that_was_never_drawn_is_an_error_with_its_line(small, site):
    book = small()
    report = check(book.config, recall_only=True)
    report.results.clear()
    with pytest.raises(DriftproofError, match=r"docs/chapters/decay\.md:\d+: this figure has not"):
        write_notebook(book, book.notebooks[0], report, site)
