"""The book as EPUB 3.3: a file a page, formulas as MathML, drawings as files."""

from __future__ import annotations

import re
import uuid
from html import escape, unescape
from importlib import resources
from pathlib import Path

from lxml import html

from driftproof.publish.articles import Article, drawing, placed, read_articles
from driftproof.publish.book import Book, Entry, published_at
from driftproof.publish.cards import picture
from driftproof.publish.zipped import write_zip

_CONTAINER = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="book/package.opf" media-type="application/oebps-package+xml"/>'
    "</rootfiles></container>\n"
)
_TYPES = {
    ".css": "text/css",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".xhtml": "application/xhtml+xml",
}
_ALIGNED = {"left", "right", "center"}
_SUMMARY = (
    "Figures have alternative texts and tables of their numbers; formulas are MathML; "
    "the text is in reading order under nested headings."
)


def write_epub(book: Book, site: Path) -> Path:
    """Write the book as an EPUB into the site; return its path."""
    style = resources.files("driftproof").joinpath("assets/epub.css").read_bytes()
    articles = read_articles(book, site)
    files = {"cover.png": picture(book, book.name, book.description, (1600, 2560))}
    files["style.css"] = style
    for article in articles:
        files[f"{article.entry.slug}.xhtml"] = _page(article, book, site, files)
    files["contents.xhtml"] = _contents(book, articles)
    package = _package(book, files)
    packed = {"mimetype": b"application/epub+zip", "META-INF/container.xml": _CONTAINER.encode()}
    packed["book/package.opf"] = package.encode()
    packed |= {f"book/{name}": content for name, content in files.items()}
    return write_zip(site / f"{book.file_name}.epub", packed)


def _page(article: Article, book: Book, site: Path, files: dict[str, bytes]) -> bytes:
    """Return a page as XHTML, and add the pictures on it to `files`."""

    def inside(entry: Entry, fragment: str) -> str:
        return f"{entry.slug}.xhtml" + (f"#{fragment}" if fragment else "")

    body = placed(article, book, inside)
    body.tag = "section"
    for image in body.iter("img"):
        name = image.get("src", "").replace("/", "-")
        files[name] = (site / image.get("src", "")).read_bytes()
        image.set("src", name)
    for place in body.xpath("//span[@data-drawing]"):
        number = place.attrib.pop("data-drawing")
        name = f"{article.entry.slug}-{number}.svg"
        svg = drawing(article, number)
        files[name] = _standing_alone(svg)
        place.tag = "img"
        place.set("src", name)
        place.set("alt", _alternative(svg))
    for rest in reversed(body.xpath("//figcaption/following-sibling::*")):
        rest.getparent().addnext(rest)  # a caption is the last thing in a figure
    for element in body.iter():
        element.attrib.pop("markdown", None)
        align = element.attrib.pop("align", "")
        if align in _ALIGNED:
            element.set("style", f"text-align: {align}")
        if element.tag == "math":
            element.set("xmlns", "http://www.w3.org/1998/Math/MathML")
    content = html.tostring(body, method="xml", encoding="unicode")
    return _xhtml(book, article.entry.title, content)


def _standing_alone(svg: str) -> bytes:
    """Return a drawing for a file of its own, where no page lends it a colour or a font."""
    return re.sub(r"<svg ", '<svg color="#000" font-family="sans-serif" ', svg, count=1).encode()


def _alternative(svg: str) -> str:
    """Return what a drawing says to those who cannot see it."""
    found = re.search(r'\saria-label="([^"]*)"', svg)
    return unescape(found[1]) if found else ""


def _contents(book: Book, articles: list[Article]) -> bytes:
    rows = []
    for article in articles:
        name = f"{article.entry.slug}.xhtml"
        inner = "".join(
            f'<li><a href="{name}#{escape(heading.get("id"))}">{escape(_text(heading))}</a></li>'
            for heading in article.body.xpath("//h2[@id]")
        )
        title = escape(article.entry.title)
        inner = f"<ol>{inner}</ol>" if inner else ""
        rows.append(f'<li><a href="{name}">{title}</a>{inner}</li>')
    nav = f'<nav epub:type="toc" role="doc-toc"><h1>Contents</h1><ol>{"".join(rows)}</ol></nav>'
    return _xhtml(book, "Contents", nav)


def _text(heading: html.HtmlElement) -> str:
    return " ".join("".join(heading.itertext()).split())


def _xhtml(book: Book, title: str, content: str) -> bytes:
    language = escape(book.language)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n'
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" '
        f'lang="{language}" xml:lang="{language}"><head><title>{escape(title)}</title>'
        '<link rel="stylesheet" type="text/css" href="style.css"/></head>'
        f"<body>{content}</body></html>\n"
    ).encode()


def _package(book: Book, files: dict[str, bytes]) -> str:
    items, spine = [], ['<itemref idref="contents.xhtml"/>']
    for name, content in sorted(files.items()):
        properties = "cover-image" if name == "cover.png" else ""
        properties = "nav" if name == "contents.xhtml" else properties
        properties = "mathml" if not properties and b"<math" in content else properties
        items.append(
            f'<item id="{name}" href="{name}" media-type="{_TYPES[Path(name).suffix]}"'
            + (f' properties="{properties}"/>' if properties else "/>")
        )
    spine += [f'<itemref idref="{entry.slug}.xhtml"/>' for entry in book.volume]
    name = uuid.uuid5(uuid.NAMESPACE_URL, book.url or book.name)
    said = {"dc:creator": book.author, "dc:description": book.description}
    said["dc:rights"] = book.copyright
    facts = [
        f'<dc:identifier id="book">urn:uuid:{name}</dc:identifier>',
        f"<dc:title>{escape(book.name)}</dc:title>",
        f"<dc:language>{escape(book.language)}</dc:language>",
        *(f"<{key}>{escape(text)}</{key}>" for key, text in said.items() if text),
        f'<meta property="dcterms:modified">{published_at():%Y-%m-%dT%H:%M:%SZ}</meta>',
    ]
    for key, values in {
        "accessMode": ("textual", "visual"),
        "accessModeSufficient": ("textual",),
        "accessibilityFeature": ("MathML", "alternativeText", "structuralNavigation"),
        "accessibilityHazard": ("none",),
        "accessibilitySummary": (_SUMMARY,),
    }.items():
        facts += [f'<meta property="schema:{key}">{value}</meta>' for value in values]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="book" '
        f'xml:lang="{escape(book.language)}">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">{"".join(facts)}</metadata>'
        f"<manifest>{''.join(items)}</manifest><spine>{''.join(spine)}</spine></package>\n"
    )
