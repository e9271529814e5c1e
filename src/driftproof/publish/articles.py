"""The pages as the site shows them, cut out of it so that they can stand in one document."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from lxml import html

from driftproof.problem import DriftproofError
from driftproof.publish.book import Book, Entry

_ARTICLE = re.compile(r"<article\b[^>]*>(?P<body>.*?)</article>", re.DOTALL)
_SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_ONLY_ON_A_SITE = (
    "//comment() | //script | //button | //input | //template | //form | //dialog | //nav"
    " | //footer | //*[@hidden] | //a[contains(concat(' ', @class, ' '), ' headerlink ')]"
)
_IDS = ("aria-describedby", "aria-labelledby", "for", "headers", "id")


@dataclass(frozen=True)
class Article:
    """What a page shows.

    Attributes:
        entry: The page.
        body: Its content in one `div`; where a drawing stands there is a `span` instead.
        drawings: The drawings as SVG, in order.
    """

    entry: Entry
    body: html.HtmlElement
    drawings: tuple[str, ...]


def read_articles(book: Book, site: Path) -> list[Article]:
    """Return the articles of the book in order.

    Raises:
        DriftproofError: The site does not hold a page, or the page holds no article.
    """
    return [_read(entry, site / entry.url / "index.html") for entry in book.volume]


def _read(entry: Entry, file: Path) -> Article:
    if not file.is_file():
        raise DriftproofError(
            "no-site", "the site lacks this page", "build the site first", str(file)
        )
    found = _ARTICLE.search(file.read_text("utf-8"))
    if found is None:
        hint = "let the theme put the page's own text into one"
        raise DriftproofError("no-article", "the page holds no <article>", hint, str(file))
    drawings: list[str] = []

    def stash(match: re.Match[str]) -> str:
        drawings.append(match[0])
        return f'<span data-drawing="{len(drawings) - 1}"></span>'

    # The parser would write the names of SVG's attributes in small letters.
    body = html.fragment_fromstring(_SVG.sub(stash, found["body"]), create_parent="div")
    for element in body.xpath(_ONLY_ON_A_SITE):
        element.drop_tree()
    for details in body.iter("details"):
        details.set("open", "open")
    return Article(entry, body, tuple(drawings))


def placed(
    article: Article,
    book: Book,
    inside: Callable[[Entry, str], str],
    rename: Callable[[str], str] = str,
) -> html.HtmlElement:
    """Return a copy of an article's body whose links lead somewhere from inside the document.

    Args:
        article: The article.
        book: The book.
        inside: From a page of the document and a fragment to a link.
        rename: From an id on a page to the one in the document.
    """
    body, entry = copy.deepcopy(article.body), article.entry
    here = f"https://site.invalid/{entry.url}"
    pages = {other.url: other for other in book.volume}
    for element in body.iter():
        for name in _IDS:
            if name in element.attrib:
                element.set(name, " ".join(map(rename, element.get(name).split())))
        if element.tag not in ("a", "img"):
            continue
        name = "href" if element.tag == "a" else "src"
        target = urlsplit(urljoin(here, element.get(name, "")))
        if target.netloc != "site.invalid":
            continue
        path = unquote(target.path).lstrip("/").removesuffix("index.html")
        if element.tag == "img":
            element.set("src", path)
        elif path in pages:
            element.set("href", inside(pages[path], target.fragment))
        elif book.url:
            element.set("href", book.at(path) + (f"#{target.fragment}" if target.fragment else ""))
        else:
            del element.attrib["href"]
    return body


def drawing(article: Article, number: str) -> str:
    """Return a drawing of an article by the number in its place."""
    return article.drawings[int(number)]
