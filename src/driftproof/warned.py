"""What is said during a build; what the generator warns of fails it, however quiet it is."""

from __future__ import annotations

import logging
import re
from collections.abc import Generator
from contextlib import contextmanager

from driftproof.fences import without_code_spans
from driftproof.page import Page
from driftproof.problem import Problem

_LINK = re.compile(
    r"Doc file '(?P<file>[^']+)' contains an? (?:[a-z]+ )*link (?:to )?'(?P<link>[^']+)'"
)


@contextmanager
def logged(level: int) -> Generator[list[str]]:
    """Collect what is said, at `level` or above it, until the end of the `with` block."""
    handler = _Collector(level)
    known = logging.Logger.manager.loggerDict.values()
    lone = [each for each in known if isinstance(each, logging.Logger) and not each.propagate]
    loggers = [logging.getLogger(), *lone]  # the command of MkDocs keeps its messages to itself
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield handler.messages
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


class _Collector(logging.Handler):
    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


class Warnings(_Collector):
    """Collects what MkDocs warns of, whatever the verbosity: a quiet build must fail as well."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.problems: list[Problem] = []

    def start(self) -> None:
        """Begin to collect."""
        self.messages.clear()
        self.problems.clear()
        logger = logging.getLogger("mkdocs.structure")
        logger.addHandler(self)
        logger.setLevel(logging.WARNING)

    def stop(self, pages: dict[str, Page]) -> list[Problem]:
        """Return what was warned of, each with its place in `pages`, by their paths under docs."""
        logger = logging.getLogger("mkdocs.structure")
        logger.removeHandler(self)
        logger.setLevel(logging.NOTSET)
        return [*self.problems, *(_located(message, pages) for message in self.messages)]


def _located(message: str, pages: dict[str, Page]) -> Problem:
    """Give a warning about a link its page, by its path under docs, and line."""
    match = _LINK.search(message)
    page = pages.get(match["file"]) if match else None
    if match is None or page is None:
        return Problem("mkdocs", "mkdocs.yml", 1, message, "see to what MkDocs says")
    target = re.compile(rf"""(?:[(<"'\s]){re.escape(match["link"])}(?:$|[)>"'\s])""")
    prose = without_code_spans("\n".join(page.prose)).split("\n")
    lines = [(page.path, i, text) for i, text in enumerate(prose, 1)] + page.shared
    path, line = next(((p, i) for p, i, text in lines if target.search(text)), (page.path, 1))
    text = message.partition(" contains ")[2].rstrip(".")
    return Problem("link", path, line, text, "correct the link, or what it leads to")
