"""Make the published site light and strict: fewer bytes, search on demand, no foreign script.

A MkDocs hook: `mkdocs build` runs it over the finished site, `mkdocs serve` does not. A page loads
one style sheet, with the rules that some page of the site can use; the search and its index arrive
when a reader turns to the search box.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import tinycss2

from driftproof.config import load
from driftproof.kept import Kept, key, tool
from driftproof.reading import kept

STYLES = "assets/stylesheets"
BUNDLE = "bundle.*.min.js"

# Whitespace counts in these, and scripts are left as they are.
_VERBATIM = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)", re.DOTALL)
# Figures only: icons write their numbers without blanks between them.
_SVG = re.compile(r"<svg role=\"img\".*?</svg>", re.DOTALL)
# Most kinds of tokens share a colour. Names, operators, punctuation, blanks, constants such as None
# and the letter before a string have that of the text around them.
_PLAIN_TOKEN = re.compile(r'<span class="(?:fm|kc|n|o|ow|p|sa|w)">([^<]*)</span>|<span></span>')
_TOKEN = re.compile(r'<span class="(\w+)">(?=[^<]*</span>)')
_COLOUR = {"bp": "k", "kn": "k", "mf": "mi", "nb": "k", "nn": "nf", "s1": "s2", "si": "s2"}
_SAME_TOKENS = re.compile(r'(<span class="\w+">)([^<]*)</span>\1')
_POLICY = re.compile(r"(http-equiv=\"Content-Security-Policy\"[^>]*script-src )[^;\">]*")
_GEOMETRY = re.compile(r'(?<= )(?:d|x|y|[xy][12]|width|height|transform|points)="[^"]*"')
_GROUP = re.compile(r"</?g\b[^>]*>")
_USED_STYLE = re.compile(r'(<use xlink:href="#(\w+)"[^>]*?)( style="[^"]*")')
# Two lines in a row that differ in nothing but their course.
_SAME_LINES = re.compile(
    r'<path d="([^"]*)"((?: clip-path="[^"]*")? style="fill: none; stroke[^"]*")/>'
    r'\s*<path d="([^"]*)"\2/>'
)
_LONG_DECIMAL = re.compile(r"\d+\.\d{2,}(?![\d.])")
_STYLE_LINK = re.compile(r'\s*<link rel="stylesheet" href="(?![a-z]+:)([^"]*?)assets/[^"]*\.css">')
# Classes, ids and values that selectors compare, not sentences.
_ATTRIBUTE = re.compile(r'\s(?!alt=|aria-|content=|title=)[\w-]+="([^"]*)"')
_TAG = re.compile(r"<([a-z][\w-]*)")
_WORD = re.compile(r"[\w-]+")
# What Material's script could show and this site never does, or its pages would hold the class;
# and the short classes of coloured code, which pages hold, too.
_ABSENT = re.compile(
    r"-*md-(annotation|banner|consent|mermaid|source__|status|tab|tag|tooltip|version)"
    r"|tabbed-|(black|blue|green|grey|orange|purple)$"
    r"|(mermaid|note|rtl|\w{1,2})$"
)

# Material starts the search with the page, and asks for the index at once where a page came over
# HTTP. These make it do both when the search box is opened; and the index is read for the marks of
# words that were searched for, only where the address names some.
_SEARCH = (
    ("t=new Worker(e)", "t=new SearchWorker(e)"),
    ('$(location.protocol!=="file:"),Je("search")', '$(!1),Je("search")'),
    (
        'z([t,r.pipe(Q(we()),g(o=>!!o.searchParams.get("h")))])',
        'r.pipe(Q(we()),g(o=>!!o.searchParams.get("h")),b(n=>t.pipe(m(o=>[o,n]))))',
    ),
)
_SEARCH_WORKER = """\
"use strict";
class SearchWorker extends EventTarget {
  constructor(url) { super(); this.url = url; }
  postMessage(message) {
    if (!this.worker) {
      this.worker = new Worker(this.url);
      this.worker.addEventListener("message", ({data}) =>
        this.dispatchEvent(new MessageEvent("message", {data})));
    }
    this.worker.postMessage(message);
  }
}
"""

_serving = False


def on_startup(command: str, **_: Any) -> None:
    """Learn whether this is a publishing build."""
    global _serving
    _serving = command == "serve"


def on_post_build(config: Any) -> None:
    """Slim the site, once everything else has been written."""
    if not _serving:
        slim(Path(config.site_dir), kept(load(Path(config.config_file_path).parent)))


def slim(site: Path, known: Kept) -> None:
    """Rewrite pages, style sheets and Material's script in the folder of a built site.

    Args:
        site: The folder.
        known: Keeps what has been made slim, so that it is done once.
    """
    this = Path(__file__).read_text("utf-8")

    def once(name: str, kind: str, make: Callable[..., Any], *given: Any) -> Any:
        made_from = key(tool(), this, given)
        made = known.load(name, kind, made_from)
        if made is None:
            made = make(*given)
            known.store(name, kind, made_from, made)
        return made

    pages = {path: path.read_text("utf-8") for path in sorted(site.rglob("*.html"))}
    folder = site / "assets/javascripts"
    scripts = sorted([*folder.glob("*.js"), *folder.glob("widgets/*.js"), *folder.glob("run/*.js")])
    names: set[str] = set()
    for path, text in pages.items():
        names |= once(str(path.relative_to(site)), "names", used_names, text)
    for script in scripts:
        words = _WORD.findall(script.read_text("utf-8"))
        names.update(word for word in words if not _ABSENT.match(word))
    sheets = _sheets(site, next(iter(pages.values())))
    css = "".join(path.read_text("utf-8") for path in sheets)
    styles = once(f"{STYLES}/site.css", "slim", slim_styles, css, names)
    (site / STYLES / "site.css").write_text(styles, "utf-8")
    for path in sheets:
        path.unlink()
    for path, text in pages.items():
        path.write_text(once(str(path.relative_to(site)), "slim", slim_page, text), "utf-8")
    for path in scripts:
        if path.match(BUNDLE):
            path.write_text(search_on_demand(path.read_text("utf-8")), "utf-8")


def _sheets(site: Path, page: str) -> list[Path]:
    """Return the style sheets of the site, in the order in which every page names them."""
    addresses = re.findall(r'<link rel="stylesheet" href="[^"]*?(assets/[^"]*\.css)">', page)
    return [site / address for address in addresses]


def slim_page(html: str) -> str:
    """Return the page without what no reader sees, and with one style sheet."""
    html = _STYLE_LINK.sub(rf'<link rel="stylesheet" href="\1{STYLES}/site.css">', html, count=1)
    html = _STYLE_LINK.sub(lambda m: m[0] if m[0].endswith('/site.css">') else "", html)
    html = _strict(html)
    html = _SVG.sub(lambda svg: _slim_picture(svg[0]), html)
    parts = _VERBATIM.split(html)  # text, verbatim, its tag, text, …
    text = [re.sub(r"\s*\n\s*", "\n", part) for part in parts[0::3]]
    verbatim = map(_slim_code, parts[1::3])
    return "".join(a + b for a, b in zip(text, [*verbatim, ""], strict=True))


def _slim_code(html: str) -> str:
    """Return code with one element for neighbours of one colour, and none for that of the text."""
    if not html.startswith("<pre"):
        return html
    html = _PLAIN_TOKEN.sub(r"\1", html)
    html = _TOKEN.sub(lambda m: f'<span class="{_COLOUR.get(m[1], m[1])}">', html)
    while (merged := _SAME_TOKENS.sub(r"\1\2", html)) != html:
        html = merged
    return html


def _strict(html: str) -> str:
    """Let the page run its own inline scripts and no others."""
    digests = {
        base64.b64encode(sha256(script.encode()).digest()).decode()
        for script in re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    }
    allowed = " ".join(f"'sha256-{digest}'" for digest in sorted(digests))
    return _POLICY.sub(rf"\1'self' {allowed}", html, count=1)


def _slim_picture(svg: str) -> str:
    """Return the picture in tenths of a point, with what stands twice once."""
    svg = re.sub(r' transform="rotate\(-?0 [^"]*"', "", svg)
    svg = _GEOMETRY.sub(lambda found: _shorter(found[0]), svg)
    styles = dict(re.findall(r'<path id="(\w+)" d="[^"]*"( style="[^"]*")', svg))
    svg = _USED_STYLE.sub(lambda use: use[1] if use[3] == styles.get(use[2]) else use[0], svg)
    idle: list[bool] = []  # of each group that is open: has it no attributes?

    def group(tag: re.Match[str]) -> str:
        if tag[0].endswith("/>"):
            return ""
        if tag[0] != "</g>":
            idle.append(tag[0] == "<g>")
            return "" if idle[-1] else tag[0]
        return "" if idle.pop() else tag[0]

    svg = _GROUP.sub(group, svg)
    while (merged := _SAME_LINES.sub(r'<path d="\1\3"\2/>', svg)) != svg:
        svg = merged
    return svg


def _shorter(attribute: str) -> str:
    rounded = _LONG_DECIMAL.sub(lambda n: f"{float(n[0]):.1f}".rstrip("0").rstrip("."), attribute)
    return re.sub(r"\s*([A-Zz\"])\s*", r"\1", rounded) if attribute[:2] == "d=" else rounded


def used_names(html: str) -> set[str]:
    """Return the elements of a page and its classes, ids and other values of attributes."""
    return {*_TAG.findall(html), *" ".join(_ATTRIBUTE.findall(html)).split()}


def slim_styles(css: str, names: set[str]) -> str:
    """Return the rules whose selectors can match, and of their variables those that are read."""
    read = None
    while True:
        slimmer = "".join(_kept(tinycss2.parse_stylesheet(css), names, read))
        if slimmer == css:
            return css
        css = slimmer
        read = names.union(re.findall(r"var\(\s*(--[\w-]+)", css))


def _kept(rules: Iterable[Any], names: set[str], read: set[str] | None) -> Iterator[str]:
    """Yield the rules to keep; `read` holds the variables that something reads, None for all."""
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [text.strip() for text in _selectors(rule.prelude)]
            if selectors := [text for text in selectors if can_match(text, names)]:
                yield f"{','.join(selectors)}{{{_declarations(rule.content, read)}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in {"media", "supports"}:
            inner = "".join(_kept(tinycss2.parse_rule_list(rule.content), names, read))
            if inner:
                condition = tinycss2.serialize(rule.prelude).strip()
                yield f"@{rule.at_keyword} {condition}{{{inner}}}"
        elif rule.type == "at-rule":
            yield re.sub(r"\s+", " ", rule.serialize())


def _selectors(prelude: Iterable[Any]) -> list[str]:
    """Split a list of selectors at its own commas, not at those within parentheses."""
    selectors: list[list[Any]] = [[]]
    for token in prelude:
        if token == ",":
            selectors.append([])
        else:
            selectors[-1].append(token)
    return [tinycss2.serialize(selector) for selector in selectors]


def can_match(selector: str, names: set[str]) -> bool:
    """Say whether all elements, classes, ids and values outside of parentheses are names of it."""
    outside = selector.replace("\\", "")
    while (inner := re.sub(r":[\w-]+\([^()]*\)", "", outside)) != outside:
        outside = inner
    needed = re.findall(
        r"[.#]([A-Za-z_][\w-]*)|\[[\w-]+[~|^$*]?=[\"']?([\w-]+)|(?:^|[\s>+~])([a-z][\w-]*)", outside
    )
    return all("".join(found) in names for found in needed)


def _declarations(content: Iterable[Any], read: set[str] | None) -> str:
    kept = []
    for item in tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True):
        if item.type != "declaration":
            kept.append(item.serialize())
        elif read is None or not item.name.startswith("--") or item.name in read:
            value = re.sub(r"\s*\n\s*", " ", tinycss2.serialize(item.value).strip())
            kept.append(f"{item.name}:{value}{'!important' if item.important else ''}")
    return ";".join(kept)


def search_on_demand(bundle: str) -> str:
    """Return Material's script with a search that starts when it is opened."""
    for found, wanted in _SEARCH:
        if bundle.count(found) != 1:
            raise ValueError(f"this version of Material has no {found!r}; see snippets/slim.py")
        bundle = bundle.replace(found, wanted)
    return _SEARCH_WORKER + bundle
