"""What is known of a page that no adapter has checked: the generator only reads extensions."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from driftproof.check import check
from driftproof.config import Config, load
from driftproof.results import Report, Result
from driftproof.state import Signatures, signatures

_lock = threading.Lock()
_known: dict[str, tuple[Signatures, Report]] = {}
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
        before, report = _known.get(name, ({}, None))
        now = signatures(config, config.source)
        if report is None or now != before:
            report = check(config)
            _known[name] = now, report
    return report
