"""Figures: a picture that a block draws, and the columns behind it, recorded and compared."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

Column = Any
"""A sequence of numbers or texts, or a pair of one and a format."""


@dataclass(frozen=True)
class Figure:
    """What a page shows of a figure.

    Attributes:
        svg: The picture, the same bytes for the same data.
        alt: What is drawn, for those who cannot see it.
        caption: What to see in it.
        columns: The numbers behind it, as text: a header line, then one line a row.
        widget: The script that lets a reader operate the figure; "" for none.
        values: The columns at full precision as JSON, if there is a widget.
    """

    svg: str
    alt: str
    caption: str
    columns: str
    widget: str = ""
    values: str = ""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return what a notebook shows, under the name by which IPython asks for it."""
        return {"image/svg+xml": self.svg, "text/plain": self.columns}


_PLAIN = (
    (re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL), ""),
    (re.compile(r"\s*<style type=.*?</style>", re.DOTALL), ""),  # it would style the whole page
    (re.compile(r"\s*<defs>\s*</defs>"), ""),
    (re.compile(r'<g id="[^"]*"'), "<g"),  # ids occur once on a page; nothing refers to these
    (re.compile(r"font-family: [^;\"]*;? ?"), ""),
    (re.compile(r"(?<=[: \"])(?:#000000|black)\b"), "currentColor"),
    (re.compile(r"<text\b(?![^>]*fill)"), '<text fill="currentColor"'),
)
"""Makes matplotlib's SVG fit into a page: its fonts, its colour of text, no styles of its own."""

_POINTS = re.compile(r'width="([\d.]+)pt" height="[\d.]+pt"')
"""The size of the picture; as so many em, its text of ten points is as large as that around it."""

drawn: list[Figure] = []
"""Figures of the block that is running; the runner empties it after each block."""


def figure(
    fig: Any, *, alt: str, caption: str, data: Mapping[str, Column], widget: str = ""
) -> None:
    """Show `fig` on the page and record the numbers behind it.

    Args:
        fig: A matplotlib figure.
        alt: What is drawn, for those who cannot see it.
        caption: What to see in it.
        data: The columns of what is drawn, by name; all of one length. A column may be a pair
            `(values, format)` with a format such as ".2e"; floats are rounded to ".3g" without one.
        widget: Name of a script of the site that makes the figure answer to the reader. The page
            names it in `data-widget` and hands it the columns, not rounded, as JSON in
            `data-values`; without the script the picture stands.

    Raises:
        ValueError: Empty texts, no columns, columns of different lengths, or a name or a cell that
            a table cannot hold: empty, or with a bar, a line break or two blanks side by side; a
            widget's name with other than small letters and hyphens, or its columns with nan or inf.
        TypeError: A widget's column with other than numbers, texts, truth values and None.
    """
    if not alt.strip() or not caption.strip():
        raise ValueError("a figure needs an alternative text (alt) and a caption")
    if widget and not re.fullmatch(r"[a-z][a-z-]*", widget):
        raise ValueError(f"widget={widget!r} must be small letters and hyphens")
    columns = {name: _cells(name, column) for name, column in data.items()}
    lengths = {name: len(cells) for name, cells in columns.items()}
    if not columns or len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise ValueError(f"data needs columns of one length, got {lengths}")
    values = ""
    if widget:
        plain = {name: _values(column)[0] for name, column in data.items()}
        values = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    drawn.append(Figure(_svg(fig, alt, caption), alt, caption, _table(columns), widget, values))
    ipython = sys.modules.get("IPython")
    if ipython and ipython.get_ipython():  # a page taken away as a notebook
        ipython.display.display(drawn.pop())


def _values(column: Column) -> tuple[list[Any], str]:
    """Return the plain values of a column, and its format."""
    paired = isinstance(column, tuple) and len(column) == 2 and isinstance(column[1], str)
    values, form = column if paired else (column, "")
    return [value.item() if hasattr(value, "item") else value for value in values], form


def _cells(name: str, column: Column) -> list[str]:
    values, form = _values(column)
    cells = [
        format(value, form or (".3g" if isinstance(value, float) else "")).strip()
        for value in values
    ]
    for text in (name, *cells):
        if not text.strip() or re.search(r"\s{2,}|[\n\t|]", text):
            raise ValueError(f"{text!r} cannot stand in the table of a figure")
    return cells


def _table(columns: Mapping[str, list[str]]) -> str:
    rows = zip(*([name, *cells] for name, cells in columns.items()), strict=True)
    widths = [max(map(len, [name, *cells])) for name, cells in columns.items()]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _svg(fig: Any, alt: str, caption: str) -> str:
    """Return the figure as SVG: real text, no date, black drawn in the page's own colour.

    Its title is the caption and its description the alternative text, which is also its name for a
    screen reader: the page shows the caption beside it.
    """
    import matplotlib

    target = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": alt}):
        fig.savefig(
            target,
            format="svg",
            transparent=True,
            bbox_inches="tight",
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    svg = target.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = _POINTS.sub(lambda size: f'width="{float(size[1]) / 10:.1f}em"', svg, count=1)
    for pattern, replacement in _PLAIN:
        svg = pattern.sub(replacement, svg)
    head = f'<svg role="img" aria-label="{escape(alt)}" stroke-linejoin="round" '
    texts = f"<title>{escape(caption)}</title><desc>{escape(alt)}</desc>"
    return svg.replace("<svg ", head, 1).replace(">", f">{texts}", 1).strip()
