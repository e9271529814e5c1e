"""A page as a notebook: prose and blocks in order, the recorded outputs under their blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbformat import v4

from driftproof.page import Block
from driftproof.problem import DriftproofError
from driftproof.publish.book import Book, Entry
from driftproof.publish.links import resolver
from driftproof.publish.prose import pieces
from driftproof.results import Report
from driftproof.stamp import recorded, versions


def write_notebook(book: Book, entry: Entry, report: Report, site: Path) -> Path:
    """Write the notebook of a page beside the page's folder; return its path.

    Raises:
        DriftproofError: A figure of the page has not been drawn.
    """
    cells = [_introduction(book, entry), _setup(book)]
    count = 1
    for piece in pieces(book.config, entry.page, resolver(book, entry)):
        if isinstance(piece, str):
            cells.append(v4.new_markdown_cell(piece))
        elif piece.runs:
            count += 1
            cells.append(_code(piece, count, entry, report))
        else:
            shown = f"```python\n{piece.code.rstrip()}\n```"
            cells.append(
                v4.new_markdown_cell(f"{shown}\n\nShown, not run: {piece.options['reason']}")
            )
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # chance would choose another in each build
    notebook = v4.new_notebook(
        cells=cells,
        metadata={
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "title": f"{entry.title}, {book.name}",
        },
    )
    nbformat.validate(notebook)
    target = site / f"{entry.source.removesuffix('.md')}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(nbformat.writes(notebook) + "\n", "utf-8")
    return target


def _introduction(book: Book, entry: Entry) -> Any:
    """Say what this is, and what to install so that the numbers come out."""
    found = recorded(entry.page)
    stamp = found[1] if found else ""
    found_with = {n: v.partition("+")[0] for n, v in versions(entry.page).items() if n != "Python"}
    pins = [f"{name}=={version}" for name, version in found_with.items()]
    where = book.at(book.sources) or f"./{book.sources}"
    url = book.at(entry.url)
    page = f"[{entry.title}]({url})" if url else entry.title
    home = f"[{book.name}]({book.url})" if book.url else book.name
    note = "" if book.url else f", where {book.sources} was downloaded too"
    lines = [
        f"This notebook is the page *{page}* of *{home}*: the same prose, the same code, and under "
        "it the outputs that the page shows.",
        "",
        f"To run it, install in a fresh environment{note}:",
        "",
        f"    pip install {' '.join([*pins, where])}",
        "",
        "Then run all cells in order from a fresh kernel; the next cell sets the state from which "
        "the page's numbers come.",
    ]
    lines += ["", f"Recorded with {stamp}."] if stamp else []
    return v4.new_markdown_cell("\n".join(lines))


def _setup(book: Book) -> Any:
    """Set the variables and the state with which a page begins."""
    config, lines = book.config, list[str]()
    if config.environment:
        lines += ["import os", ""]
        lines += [f"os.environ[{n!r}] = {v!r}" for n, v in sorted(config.environment.items())]
    module, _, function = config.clean_state.partition(":")
    if module:
        lines += ["", f"from {module} import {function}", "", f"{function}()"]
    source = "\n".join(lines).strip().replace("'", '"')
    return v4.new_code_cell(source or "pass", execution_count=1)


def _code(block: Block, count: int, entry: Entry, report: Report) -> Any:
    cell = v4.new_code_cell(block.code.rstrip("\n"), execution_count=count)
    if "title" in block.options:
        cell.metadata["title"] = block.options["title"]
    if "raises" in block.options:
        cell.metadata["tags"] = ["raises-exception"]
    cell["outputs"] = list(_outputs(block, entry, report))
    return cell


def _outputs(block: Block, entry: Entry, report: Report) -> list[Any]:
    text = block.output.text if block.output else ""
    if not text:
        return []
    if block.output and block.output.show == "figure":
        result = report.results.get(entry.page.path)
        figure = result.run.figures.get(block.number) if result and result.run else None
        if figure is None:
            place, hint = (
                f"{entry.page.path}:{block.line}",
                "run `driftproof check`, which draws it",
            )
            raise DriftproofError("not-drawn", "this figure has not been drawn", hint, place)
        data = {"image/svg+xml": figure.svg, "text/plain": text}
        return [v4.new_output("display_data", data)]
    if "raises" not in block.options:
        return [v4.new_output("stream", text=f"{text}\n")]
    kind = str(block.options["raises"]).rpartition(".")[2]
    printed, _, raised = text.rpartition(f"{kind}:")
    error = v4.new_output(
        "error", ename=kind, evalue=raised.strip(), traceback=[f"{kind}:{raised}"]
    )
    return [*([v4.new_output("stream", text=printed)] if printed else []), error]
