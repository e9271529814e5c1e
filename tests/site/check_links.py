"""Check a built site: every local link resolves, and no page loads anything from another host.

Usage: ``python tests/site/check_links.py [site]``. Prints one line per problem, with file, line and
link, and exits 1 if there is any. What a script fetches while it runs is not seen here.
"""

import re
import sys
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

LOADING_ATTRIBUTES = {
    ("a", "ping"),
    ("audio", "src"),
    ("body", "background"),
    ("button", "formaction"),
    ("embed", "src"),
    ("feimage", "href"),
    ("form", "action"),
    ("frame", "src"),
    ("iframe", "src"),
    ("image", "href"),
    ("image", "xlink:href"),
    ("img", "src"),
    ("input", "formaction"),
    ("input", "src"),
    ("object", "data"),
    ("script", "src"),
    ("source", "src"),
    ("track", "src"),
    ("use", "href"),
    ("use", "xlink:href"),
    ("video", "poster"),
    ("video", "src"),
}
LINKING_ATTRIBUTES = {("a", "href"), ("a", "xlink:href"), ("area", "href"), ("link", "href")}
# Relations that only name another page; every other <link> makes the browser act on its address.
NAMING_RELATIONS = {"alternate", "author", "canonical", "help", "license", "next", "prev", "search"}
CLICKED_SCHEMES = {"mailto", "tel"}
STYLED_ATTRIBUTES = {"clip-path", "fill", "filter", "marker-end", "mask", "stroke", "style"}
CSS_ADDRESS = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")
CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Link:
    """One address in a file, and whether a browser fetches it without a click."""

    line: int
    address: str
    loads: bool


@dataclass
class Document:
    """What the check needs to know of one file of the site."""

    links: list[Link] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    canonical: str = ""


class _Reader(HTMLParser):
    """Collect the links and anchors of an HTML page or an SVG image."""

    def __init__(self) -> None:
        super().__init__()
        self.document = Document()
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        line = self.getpos()[0]
        values = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        self.document.anchors.add(values.get("id", ""))
        if tag == "a":
            self.document.anchors.add(values.get("name", ""))
        relations = set(values.get("rel", "").lower().split())
        if tag == "link" and "canonical" in relations:
            self.document.canonical = values.get("href", "")
        if tag == "meta" and values.get("http-equiv", "").lower() == "refresh":
            self._add(line, values.get("content", "").partition("=")[2].strip("'\" "), loads=True)
        for name, value in values.items():
            if (tag, name) in LINKING_ATTRIBUTES:
                self._add(line, value, loads=tag == "link" and not relations & NAMING_RELATIONS)
            elif (tag, name) in LOADING_ATTRIBUTES:
                self._add(line, value, loads=True)
            elif name.startswith("on"):  # a script, as in the address that a click would run
                self._add(line, f"javascript:{value}", loads=True)
            elif name in {"srcset", "imagesrcset"}:
                for candidate in value.split(","):
                    self._add(line, candidate.split()[0] if candidate.strip() else "", loads=True)
            elif name in STYLED_ATTRIBUTES:
                self._add_css(line, value)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self._add_css(self.getpos()[0], data)

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def _add(self, line: int, address: str, *, loads: bool) -> None:
        self.document.links.append(Link(line, address.strip(), loads))

    def _add_css(self, line: int, css: str) -> None:
        self.document.links += css_links(css, line)


def css_links(css: str, first_line: int = 1) -> list[Link]:
    """Return the addresses a style sheet loads; comments count as nothing."""
    css = CSS_COMMENT.sub(lambda comment: "\n" * comment.group().count("\n"), css)
    return [
        Link(first_line + css.count("\n", 0, match.start()), match[1] or match[2], loads=True)
        for match in CSS_ADDRESS.finditer(css)
    ]


@cache
def read(path: Path) -> Document:
    """Parse an HTML, SVG or CSS file of the site."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return Document(links=css_links(text))
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.document


def check(site: Path) -> list[str]:
    """Return one message ``file:line: reason: link`` for every bad link below ``site``."""
    site = site.resolve()
    home = site / "index.html"
    # The canonical address of the front page tells under which path the site will be served.
    served_at = (read(home).canonical if home.is_file() else "") or "http://localhost/"
    problems = []
    for path in sorted(site.rglob("*")):
        if path.suffix not in {".html", ".svg", ".css"}:
            continue
        for link in read(path).links:
            reason = _problem(site, path, link, served_at)
            if reason:
                problems.append(f"{path.relative_to(site)}:{link.line}: {reason}: {link.address!r}")
    return problems


def _problem(site: Path, page: Path, link: Link, served_at: str) -> str:
    """Say what is wrong with a link of a page, or return the empty string."""
    if not link.address:
        return "empty link"
    page_address = urljoin(served_at, page.relative_to(site).as_posix())
    target = urlsplit(urljoin(page_address, link.address))
    if target.scheme == "data" or (target.scheme in CLICKED_SCHEMES and not link.loads):
        return ""
    home = urlsplit(served_at)
    if target.scheme not in {"http", "https"}:
        return f"unexpected scheme {target.scheme}"
    if target.netloc != home.netloc:
        return "loaded from another host" if link.loads else ""
    if not target.path.startswith(home.path):
        return "leads out of the site"
    file = site / unquote(target.path[len(home.path) :])
    if file.is_dir():
        file /= "index.html"
    if not file.is_file():
        return "no such file"
    fragment = unquote(target.fragment)
    if fragment and file.suffix in {".html", ".svg"} and fragment not in read(file).anchors:
        return f"no such anchor in {file.relative_to(site)}"
    return ""


def main() -> int:
    """Check the folder named on the command line (default ``site``)."""
    site = Path(sys.argv[1] if len(sys.argv) > 1 else "site")
    pages = sum(1 for _ in site.rglob("*.html"))
    if not pages:
        print(f"{site}: no HTML page here; build the site first", file=sys.stderr)
        return 1
    problems = check(site)
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    print(f"{pages} pages, {len(problems)} bad links")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
