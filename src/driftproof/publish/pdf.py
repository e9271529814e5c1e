"""The book as one PDF: the site's own pages and styles, printed by Chromium, tagged, outlined."""

from __future__ import annotations

import re
from html import escape
from importlib import resources
from pathlib import Path

import pikepdf
from lxml import html

from driftproof.publish.articles import Article, drawing, placed, read_articles
from driftproof.publish.book import Book, Entry, published_at
from driftproof.publish.chromium import print_page

# Fonts with the styles: a style may do without one that comes late.
_STYLES = re.compile(r"<link\b[^>]*\brel=\"?(?:stylesheet|preload)\"?[^>]*>")
_PLACE = re.compile(r'<span data-drawing="(\d+)"></span>')


def write_pdf(book: Book, site: Path) -> Path:
    """Write the book as a PDF into the site; return its path."""
    target = site / f"{book.file_name}.pdf"
    page = site / "driftproof-print.html"  # beside the styles and fonts that it names
    page.write_text(_document(book, site), "utf-8")
    try:
        print_page(page, target)
    finally:
        page.unlink()
    _settle(book, target)
    return target


def _document(book: Book, site: Path) -> str:
    styles = "\n".join(_STYLES.findall((site / "index.html").read_text("utf-8")))
    own = resources.files("driftproof").joinpath("assets/print.css").read_text("utf-8")
    articles = read_articles(book, site)
    return (
        f'<!doctype html><html lang="{escape(book.language)}"><head><meta charset="utf-8">'
        f"<title>{escape(book.name)}</title>{styles}<style>{own}</style></head>"
        '<body dir="ltr" data-md-color-scheme="default">'
        '<main class="md-content"><article class="md-typeset">'
        f"{_cover(book)}{_contents(book)}{''.join(_section(a, book) for a in articles)}"
        "</article></main></body></html>"
    )


def _cover(book: Book) -> str:
    where = f'<p><a href="{escape(book.url)}">{escape(book.url)}</a></p>' if book.url else ""
    return (
        f'<section class="driftproof-cover"><p class="driftproof-title">{escape(book.name)}</p>'
        f"<p>{escape(book.description)}</p><p>{escape(book.author)}</p>{where}"
        f"<p>{escape(book.copyright)}</p></section>"
    )


def _contents(book: Book) -> str:
    rows = "".join(
        f'<li><a href="#{entry.slug}">{escape(entry.title)}</a></li>' for entry in book.volume
    )
    return f'<nav class="driftproof-contents"><h1>Contents</h1><ol>{rows}</ol></nav>'


def _section(article: Article, book: Book) -> str:
    def inside(entry: Entry, fragment: str) -> str:
        return f"#{entry.slug}" + (f"--{fragment}" if fragment else "")

    slug = article.entry.slug
    body = html.tostring(
        placed(article, book, inside, lambda name: f"{slug}--{name}"), encoding="unicode"
    )
    body = _PLACE.sub(lambda m: drawing(article, m[1]), body)
    return f'<section class="driftproof-page" id="{slug}">{body}</section>'


def _settle(book: Book, target: Path) -> None:
    """Give the file its title and its date, and leave out what another run would write anew."""
    date = published_at()
    with pikepdf.open(target, allow_overwriting_input=True) as pdf:
        del pdf.trailer["/Info"]
        pdf.docinfo["/Title"] = book.name
        pdf.docinfo["/Author"] = book.author
        pdf.docinfo["/Subject"] = book.description
        for name in ("/CreationDate", "/ModDate"):
            pdf.docinfo[name] = f"D:{date:%Y%m%d%H%M%S}Z"
        pdf.Root["/Lang"] = book.language
        pdf.Root["/ViewerPreferences"] = pikepdf.Dictionary(DisplayDocTitle=True)
        pdf.save(
            target, deterministic_id=True, object_stream_mode=pikepdf.ObjectStreamMode.generate
        )
