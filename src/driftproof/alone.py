"""What is known of a page that no adapter has checked: the generator only reads extensions."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from driftproof.check import check
from driftproof.config import Config, load
from driftproof.page import Page
from driftproof.reading import read_page
from driftproof.results import Report, Result

Stamp = tuple[tuple[str, int, int], ...]
_lock = threading.Lock()
_known: dict[str, tuple[Stamp, Report]] = {}
"""The last report by project root, and the files that it was made of."""


def checked(lines: Sequence[str]) -> tuple[Result, Report] | None:
    """Return the result of the page that ends in `lines`, None where no page does.

    The book is checked when its first page is rendered, and again when a file has changed.
    """
    text = "\n".join(lines).strip()
    config = load()
    for path in config.pages() if text else ():
        if (config.root / path).read_text("utf-8-sig").rstrip().endswith(text):
            report = _report(config)
            return report.results[path], report
    return None


def _report(config: Config) -> Report:
    name = str(config.root)
    with _lock:  # a generator may render several pages at once
        before, report = _known.get(name, ((), None))
        now = _stamp(config)
        if report is None or now != before:
            report = check(config, pages=_pages(config, set(now) - set(before), report))
            _known[name] = now, report
    return report


def _pages(
    config: Config, changed: set[tuple[str, int, int]], report: Report | None
) -> dict[str, Page]:
    """Return all pages by path, parsed again where anything but other pages has changed."""
    files = {file for file, _, _ in changed}
    pages = config.pages()
    if report is None or files - set(pages):
        return {path: read_page(config, path) for path in pages}
    kept = {path: result.page for path, result in report.results.items() if path not in files}
    return {path: kept.get(path) or read_page(config, path) for path in pages}


def _stamp(config: Config) -> Stamp:
    """Return the files on which the book depends, with what changes when they do."""
    folders = (config.docs, config.snippets, config.source)
    files = [file for folder in folders for file in (config.root / folder).rglob("*.*")]
    found = [
        (file.relative_to(config.root).as_posix(), status.st_mtime_ns, status.st_size)
        for file in [config.root / "pyproject.toml", *files]
        if "__pycache__" not in file.parts and (status := file.stat())
    ]
    return tuple(sorted(found))
