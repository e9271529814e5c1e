"""How a recorded output looks on a page: as text, as a table, as a figure."""

from __future__ import annotations

import re
from html import escape

from driftproof.figures import Figure
from driftproof.page import Block, Output

_ALIGNED = {
    (False, False): "",
    (True, False): ' align="left"',
    (False, True): ' align="right"',
    (True, True): ' align="center"',
}
"""What colons at either end of a Markdown table's dashes mean."""


def shown_output(block: Block, figure: Figure | None) -> str:
    """Return the output of a block as HTML; `figure` is its picture, if it has been drawn."""
    output = block.output
    if output is None:
        return ""
    if output.show == "figure":
        body = _figure(output, figure)
    elif output.show == "table":
        head, rule, *rows = [_cells(line) for line in output.text.split("\n")]
        body = _table(head, rows, [_ALIGNED[c.startswith(":"), c.endswith(":")] for c in rule])
    else:
        body = f'<pre tabindex="0"><code>{escape(output.text)}</code></pre>'
    stamp = _stamp(output)
    note = f'<p class="driftproof-stamp">{escape(stamp)}</p>' if stamp else ""
    name = f"output-{block.number}"
    return f'<div class="driftproof-output" data-search-exclude id="{name}">{body}{note}</div>'


def _stamp(output: Output) -> str:
    """Say what a reader must know of an output that was not made for this page today."""
    if output.device and not output.text.strip():
        return f"No recording from a {output.device} device exists yet."
    if output.device:
        where = f", {output.measured}" if output.measured else ""
        return f"Recorded on a {output.device} device{where}; not verified on this machine."
    if output.measured:
        return f"Measured on {output.measured}. Each build checks the relations, not the digits."
    return ""


def _figure(output: Output, figure: Figure | None) -> str:
    head, *rows = [re.split(r"\s{2,}", line.strip()) for line in output.text.split("\n")]
    table = _table(head, rows, [])
    if figure is None:
        return f'<figure class="driftproof-figure">{table}</figure>'
    return (
        f'<figure class="driftproof-figure">{figure.svg}'
        f"<figcaption>{escape(figure.caption)}</figcaption>"
        f"<details><summary>The numbers behind the figure</summary>{table}</details></figure>"
    )


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def _table(head: list[str], rows: list[list[str]], aligned: list[str]) -> str:
    def line(row: list[str], tag: str, scope: str = "") -> str:
        styles = [*aligned, *[""] * len(row)]
        cells = zip(row, styles, strict=False)
        return "".join(f"<{tag}{scope}{style}>{escape(cell)}</{tag}>" for cell, style in cells)

    scope = ' scope="col"'
    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return (
        '<div class="driftproof-table" tabindex="0"><table>'
        f"<thead><tr>{line(head, 'th', scope)}</tr></thead><tbody>{body}</tbody></table></div>"
    )
