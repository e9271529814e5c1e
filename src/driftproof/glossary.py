"""The first use of a term on a page leads to what it means: a Python-Markdown extension.

Terms stand in a glossary, a page of definition lists. One that has an id, as in
`Lag { #lag }`, is linked; a reader meets its first sentence as the link's description.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString

from driftproof.config import load

_ENTRY = re.compile(
    r"^(?P<names>\S[^\n]*?) \{ #(?P<id>[\w-]+) \}\n:   (?P<first>[^\n]+)", re.MULTILINE
)
_APART = re.compile(r", | \(|\)")
_INLINE = re.compile(r"\[([^\]]*)\]\([^)]*\)|[*`]")
_SILENT = {"a", "button", "code", "dt", "figcaption", "math", "pre", "script", "summary", "th"}
_SILENT |= {f"h{level}" for level in range(1, 7)}
_SILENT_CLASSES = {"admonition-title", "footnote", "tabbed-labels"}


@dataclass(frozen=True)
class Term:
    """One entry of a glossary.

    Attributes:
        id: Its anchor on the page of the glossary.
        names: What it is called in the text.
        meaning: The first sentence of its definition.
    """

    id: str
    names: tuple[str, ...]
    meaning: str


def read_terms(text: str) -> list[Term]:
    """Return the entries with an id; "Gap (dilation)" and "Roofline, ridge" have two names each."""
    return [
        Term(
            entry["id"],
            tuple(filter(None, map(str.strip, _APART.split(entry["names"])))),
            _INLINE.sub(r"\1", entry["first"]).strip(),
        )
        for entry in _ENTRY.finditer(text)
    ]


def pattern(terms: list[Term]) -> re.Pattern[str]:
    """Return what finds any name, the longest first, in the plural and at the start of a sentence.

    The group that matched has the number of its term, counted from one.
    """
    names = sorted(
        ((name, i) for i, term in enumerate(terms, 1) for name in term.names),
        key=lambda named: -len(named[0]),
    )
    groups = "|".join(f"(?P<t{i}_{n}>{_spelled(name)})" for n, (name, i) in enumerate(names))
    return re.compile(rf"(?<![\w-])(?:{groups})(?![\w-])")


def _spelled(name: str) -> str:
    first, rest = name[0], re.escape(name[1:]).replace("–", "[–-]").replace(r"\ ", r"\s+")
    if name[1:2].islower():
        first = f"[{first.upper()}{first.lower()}]"
    plural = "(?:y|ies)" if rest.endswith("y") else ""
    return first + (rest[:-1] + plural if plural else rest + "(?:s|es)?")


class _FirstUses(Treeprocessor):
    """Links the terms of one page, in the order of its text."""

    def __init__(self, md: Markdown, page: str, skip: list[str]) -> None:
        super().__init__(md)
        config = load()
        self.glossary, self.skipped = page, (page, *skip)
        self.terms = read_terms((config.root / page).read_text("utf-8"))
        self.pattern = pattern(self.terms)

    def run(self, root: ElementTree.Element) -> None:
        rendering = vars(self.md).get("driftproof")
        if rendering is None or rendering.page.path.startswith(self.skipped) or not self.terms:
            return
        self.target = posixpath.relpath(self.glossary, posixpath.dirname(rendering.page.path))
        self.seen: set[str] = set()
        self._link(root)

    def _link(self, parent: ElementTree.Element) -> None:
        self._split(parent, None, parent.text)
        for child in list(parent):
            if child.tag not in _SILENT and not _SILENT_CLASSES & {*child.get("class", "").split()}:
                self._link(child)
            self._split(parent, child, child.tail)

    def _split(
        self, parent: ElementTree.Element, after: ElementTree.Element | None, text: str | None
    ) -> None:
        """Put links into the text that follows the child `after`, or opens the parent."""
        if not text or isinstance(text, AtomicString):
            return
        end = 0
        for start, stop, term in self._first_uses(text):
            self._set(parent, after, text[end:start])
            link = ElementTree.Element("a", {"class": "driftproof-term"})
            link.set("href", f"{self.target}#{term.id}")
            link.set("aria-description", term.meaning)
            link.text = AtomicString(text[start:stop])
            parent.insert(0 if after is None else list(parent).index(after) + 1, link)
            after, end = link, stop
        self._set(parent, after, text[end:])

    def _first_uses(self, text: str) -> Iterator[tuple[int, int, Term]]:
        for match in self.pattern.finditer(text):
            term = self.terms[int(str(match.lastgroup)[1:].partition("_")[0]) - 1]
            if term.id not in self.seen:
                self.seen.add(term.id)
                yield match.start(), match.end(), term

    @staticmethod
    def _set(parent: ElementTree.Element, after: ElementTree.Element | None, text: str) -> None:
        if after is None:
            parent.text = text
        else:
            after.tail = text


class GlossaryExtension(Extension):
    """Takes two settings: `page`, the glossary, and `skip`, beginnings of paths to leave alone."""

    def __init__(self, **settings: Any) -> None:
        self.config = {
            "page": ["docs/glossary.md", "The page of definition lists"],
            "skip": [[], "Pages and folders in which words stay as they are"],
        }
        super().__init__(**settings)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Add the step between inline patterns (20) and the resolution of links (0)."""
        first_uses = _FirstUses(md, self.getConfig("page"), self.getConfig("skip"))
        md.treeprocessors.register(first_uses, "driftproof-glossary", 5)


def makeExtension(**settings: Any) -> GlossaryExtension:  # noqa: N802
    """Return the extension; the name is the one Python-Markdown looks for."""
    return GlossaryExtension(**settings)
