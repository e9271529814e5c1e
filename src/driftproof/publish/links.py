"""Where the links of a page lead once it has left the site."""

from __future__ import annotations

import posixpath
from urllib.parse import urlsplit

from driftproof.publish.book import Book, Entry
from driftproof.publish.prose import Resolve


def resolver(book: Book, entry: Entry) -> Resolve:
    """Return what makes the links of a page absolute; without an address they become text."""
    urls = {other.source: other.url for other in book.entries}

    def resolve(target: str) -> str:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            return target
        path = posixpath.normpath(posixpath.join(posixpath.dirname(entry.source), parts.path))
        path = entry.source if not parts.path else path
        anchor = f"#{parts.fragment}" if parts.fragment else ""
        return f"{book.at(urls.get(path, path))}{anchor}" if book.url else ""

    return resolve
