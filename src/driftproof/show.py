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


def shown_output(block: Block, figure: Figure | None, stamp: str) -> str:
    """Return the output of a block as HTML.

    Args:
        block: The block.
        figure: Its picture, if it has been drawn.
        stamp: Where and when the output was printed.
    """
    output = block.output
    if output is None:
        return ""
    if output.show == "figure":
        body = shown_figure(output, figure)
    elif output.show == "table":
        head, rule, *rows = [_cells(line) for line in output.text.split("\n")]
        body = _table(head, rows, [_ALIGNED[c.startswith(":"), c.endswith(":")] for c in rule])
    else:
        body = f'<pre tabindex="0"><code>{escape(output.text)}</code></pre>'
    return stamped(block, body, stamp)


def stamped(block: Block, body: str, stamp: str) -> str:
    """Return the place of an output: what was printed, where and when, and a link to it."""
    name = block.output_anchor
    return (
        f'<div class="driftproof-output" data-search-exclude id="{name}">{body}'
        f'<p class="driftproof-stamp"><span>{escape(stamp)}</span>'
        f"{permalink(name, 'output')}</p></div>"
    )


def permalink(anchor: str, what: str) -> str:
    """Return a link to a block or an output itself, to be copied."""
    return f'<a class="headerlink" href="#{anchor}" aria-label="Link to this {what}">#</a>'


def shown_figure(output: Output, figure: Figure | None) -> str:
    """Return a figure with its caption and its numbers, or the numbers where it is not drawn."""
    head, *rows = [re.split(r"\s{2,}", line.strip()) for line in output.text.split("\n")]
    table = _table(head, rows, [])
    if figure is None:
        return f'<figure class="driftproof-figure">{table}</figure>'
    # Not in a script element: instant navigation would run it as code.
    widget = f' data-widget="{figure.widget}" data-values="{escape(figure.values)}"'
    return (
        f'<figure class="driftproof-figure"{widget if figure.widget else ""}>{figure.svg}'
        f"<figcaption>{escape(figure.caption)}</figcaption>"
        f"<details><summary>The numbers behind the figure</summary>{table}</details></figure>"
    )


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def _shown(cell: str) -> str:
    """Return a cell as HTML: escaped, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(cell))


def _table(head: list[str], rows: list[list[str]], aligned: list[str]) -> str:
    def line(row: list[str], tag: str) -> str:
        cells = zip(row, [*aligned, *[""] * len(row)], strict=False)
        return "".join(f"<{tag}{style}>{_shown(cell)}</{tag[:2]}>" for cell, style in cells)

    # An empty cell is no header of its column.
    top = re.sub(r'<th scope="col"([^>]*)></th>', r"<td\1></td>", line(head, 'th scope="col"'))
    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return (
        '<div class="driftproof-table" tabindex="0"><table>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )
