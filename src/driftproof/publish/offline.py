"""A copy of the site that works from a folder, without a server: links, search, scripts.

Browsers show no folder's `index.html` of their own accord there, fetch no file and start no worker.
So links name their files, the search index is a script, and iframe-worker 1.0.4
(assets/iframe-worker.js) stands in for the worker that searches.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from urllib.parse import unquote, urlsplit

from driftproof.publish.book import Book
from driftproof.publish.zipped import write_zip

_LINK = re.compile(
    r'(?:<li>\s*)?<a\b[^>]*?\bhref="(?P<target>[^"]*)"[^>]*>.*?</a>(?:\s*</li>)?'
    r'|<link\b[^>]*?\bhref="(?P<named>[^"]*)"',
    re.DOTALL,
)
_POLICY = re.compile(r"(http-equiv=\"?Content-Security-Policy\"?[^>]*script-src )[^;\">]*")
_LEFT_OUT = re.compile(r"404\.html|sitemap\.xml(\.gz)?|assets/cards/.*|.*\.(pdf|epub|zip|map)")
_PRELOAD = re.compile(r"<link\b[^>]*?\brel=\"?preload\b[^>]*>")
_SHIM = "assets/javascripts/iframe-worker.js"


def write_offline(book: Book, site: Path) -> Path:
    """Write the copy as a zip into the site; return its path."""
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file())
    kept = [name for name in names if not _LEFT_OUT.fullmatch(name)]
    files: dict[str, bytes] = {}
    for name in kept:
        content = (site / name).read_bytes()
        if name.endswith(".html"):
            content = _without_server(name, content.decode(), set(kept)).encode()
        elif name == "search/search_index.json":
            name, content = "search/search_index.js", _search_index(content)
        files[f"{book.file_name}/{name}"] = content
    shim = resources.files("driftproof").joinpath("assets/iframe-worker.js").read_bytes()
    files[f"{book.file_name}/{_SHIM}"] = shim
    return write_zip(site / f"{book.file_name}-offline.zip", files)


def _without_server(name: str, page: str, files: set[str]) -> str:
    def link(match: re.Match[str]) -> str:
        group = "target" if match["target"] is not None else "named"
        target = _file(name, match[group], files)
        if target is None:
            return ""  # what is not in the copy
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return match[0][:start] + target + match[0][end:]

    # What is preloaded comes from another origin here: each file is one of its own.
    page = _LINK.sub(link, _PRELOAD.sub("", page))
    # Here no address but a file's is the page's own; the stand-in writes a script into its frame.
    page = _POLICY.sub(r"\1'self' file: 'unsafe-inline'", page)
    shim = posixpath.relpath(_SHIM, posixpath.dirname(name) or ".")
    return page.replace("</head>", f'<script src="{shim}"></script></head>', 1)


def _file(name: str, target: str, files: Iterable[str]) -> str | None:
    """Return a link that names its file; None where that file is not in the copy."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or not parts.path:
        return target
    folder = posixpath.dirname(name)
    path = posixpath.normpath(posixpath.join(folder, unquote(parts.path)))
    if path in files:
        return target
    index = posixpath.normpath(posixpath.join(path, "index.html"))
    if index not in files:
        return None
    anchor = f"#{parts.fragment}" if parts.fragment else ""
    return f"{posixpath.relpath(index, folder or '.')}{anchor}"


def _search_index(content: bytes) -> bytes:
    index = json.loads(content)
    for document in index["docs"]:
        path, mark, anchor = document["location"].partition("#")
        if not path or path.endswith("/"):
            document["location"] = f"{path}index.html{mark}{anchor}"
    return f"var __index = {json.dumps(index, separators=(',', ':'))}".encode()
