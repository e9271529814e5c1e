"""Borrowed figures: a page shows the figure of another, as it shows another's numbers.

`<figure data-of="slug#id"></figure>`, alone on its line, stands for the figure that the block with
this id draws on the page of this name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from driftproof.figures import Figure
from driftproof.page import Block, Output, Page
from driftproof.problem import Problem
from driftproof.provenance import output_stamp
from driftproof.results import Report, Result

_BORROWED = re.compile(r'\s*<figure data-of="(?P<slug>[\w-]+)#(?P<anchor>[\w.-]+)"></figure>\s*')
_ELEMENT = re.compile(r"<figure\b[^>]*\bdata-of\b")


@dataclass(frozen=True)
class Borrowed:
    """Where a page shows another's figure.

    Attributes:
        slug: The page that draws it.
        anchor: The id of the block that draws it.
    """

    slug: str
    anchor: str


def read(line: str) -> Borrowed | None:
    """Return what a line of prose borrows, None where it borrows nothing."""
    match = _BORROWED.fullmatch(line)
    return Borrowed(match["slug"], match["anchor"]) if match else None


def owners(page: Page) -> set[str]:
    """Return the names of the pages whose figures `page` shows."""
    return {borrowed.slug for line in page.prose if (borrowed := read(line))}


def drawn(borrowed: Borrowed, report: Report) -> tuple[Output, Figure | None] | None:
    """Return the recorded columns and the picture, where it has been drawn; None for no figure."""
    for result, block in _lenders(borrowed, report):
        if block.output and block.output.show == "figure":
            picture = result.run.figures.get(block.number) if result.run else None
            # It answers where it is drawn.
            return block.output, picture and replace(picture, widget="")
    return None


def problems(page: Page, report: Report) -> list[Problem]:
    """Return what is wrong with the figures that `page` borrows."""
    found = []
    for number, line in enumerate(page.prose, 1):
        borrowed = read(line)
        if borrowed and drawn(borrowed, report) is None:
            message = f"no page {borrowed.slug!r} has a figure with the id {borrowed.anchor!r}"
            found.append(Problem("figure", page.path, number, message, "give its block the id"))
        elif not borrowed and _ELEMENT.search(line):
            hint = 'write <figure data-of="page#id"></figure> alone on its line'
            found.append(
                Problem("figure", page.path, number, "this <figure> is not understood", hint)
            )
    return found


def origin(borrowed: Borrowed, report: Report) -> str:
    """Say where the picture was drawn, of a figure that exists."""
    result, block = next(_lenders(borrowed, report))
    return output_stamp(block, result, report)


def _lenders(borrowed: Borrowed, report: Report) -> Iterator[tuple[Result, Block]]:
    """Yield the block with the id, and the result of its page."""
    if result := report.results.get(report.owners.get(borrowed.slug, "")):
        yield from ((result, b) for b in result.page.running if b.anchor == borrowed.anchor)
