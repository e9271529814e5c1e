"""Find the fences of a Markdown page, where the site's renderer finds them.

The search is SuperFences' own preprocessor, so that build, tests and command line agree on what a
fence is in tabs, details, admonitions, lists, quotes and `<div markdown>`. Two things are added:
the lines of each fence, and the fences that SuperFences would give up on in silence.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree

import markdown
from markdown.util import HTML_PLACEHOLDER_RE
from pymdownx.superfences import SuperFencesBlockPreprocessor, SuperFencesCodeExtension

CONTAINERS = [
    "admonition",
    "attr_list",
    "def_list",
    "footnotes",
    "md_in_html",
    "tables",
    "pymdownx.details",
    "pymdownx.tabbed",
]
"""Extensions that decide whether an indented line is code or the inside of something."""
_CAPTIONS = "pymdownx.blocks.caption"
"""One more, for the pages that have the blocks it reads: to import it takes a while."""
_BLOCK = re.compile(r"^[ >\t]*///")

_IN_PARAGRAPH = r"(?:(?!\n[ >\t]*\n).)*?"
CODE_SPAN = re.compile(rf"(?<!`)(?P<ticks>`+)(?!`){_IN_PARAGRAPH}(?<!`)(?P=ticks)(?!`)", re.DOTALL)
# A comment holds blank lines only where it begins its line; in a code span it is text.
COMMENT = re.compile(
    rf"(?P<span>{CODE_SPAN.pattern})|(?:^ {{0,3}}<!--.*?|<!--{_IN_PARAGRAPH})-->",
    re.DOTALL | re.MULTILINE,
)
_made = threading.local()


@dataclass(frozen=True)
class Fence:
    """A fence and its place.

    Attributes:
        header: The opening line after its ticks.
        start: Index of the opening line, from 0.
        end: Index of the closing line.
        prefix: What stands before the ticks: blanks and `>`.
        ticks: The run of back-ticks or tildes.
        body: The lines inside, without the prefix.
        live: Whether it is on the page as a fence, not inside a comment or indented code.
    """

    header: str
    start: int
    end: int
    prefix: str
    ticks: str
    body: tuple[str, ...]
    live: bool = True

    def shows(self, text: str) -> bool:
        """Whether it holds `text`, but for blanks at line ends and tabs, which became blanks."""
        ours, theirs = (
            [(self.prefix + line).expandtabs(4).rstrip() for line in each.rstrip().split("\n")]
            for each in ("\n".join(self.body), text)
        )
        return ours == theirs


@dataclass(frozen=True)
class BrokenFence:
    """A fence that never closes, or that something inside it breaks, opened at index `start`."""

    start: int
    reason: str


class _Numbered(list[str]):
    """Lines that remember which of them is being read."""

    position = -1

    def __iter__(self) -> Iterator[str]:
        for self.position, line in enumerate(super().__iter__()):
            yield line


class _Finder(SuperFencesBlockPreprocessor):
    """Accepts every header, notes every fence, and leaves a marker where it stood."""

    def search_nested(self, lines: list[str]) -> list[str]:
        self.fences: list[Fence] = []
        self.broken: list[BrokenFence] = []
        self.lines = _Numbered(lines)
        result = super().search_nested(self.lines)
        if self.fence is not None:
            self.broken.append(BrokenFence(self.opened, "is never closed"))
        return result

    def _accept(self, m: re.Match[str]) -> bool:
        header = m.group(0)[len(m.group("fence")) :].strip(" \t")
        if m.group("fence") in header:
            return False  # code in a sentence
        self.header = header
        self.opened = self.lines.position
        self.formatter = lambda **_: f"<fence {len(self.fences) - 1}>"
        return True

    parse_options = handle_attrs = handle_unrecognized = _accept

    def clear(self) -> None:
        if getattr(self, "fence", None) is not None:
            line = self.lines.position + 1
            self.broken.append(
                BrokenFence(self.opened, f"is cut off at line {line}, which is indented less")
            )
        super().clear()

    def process_nested_block(self, ws: str, content: str, start: int, end: int) -> None:
        body = tuple(self.rebuild_block(self.code).split("\n")) if self.code else ()
        ticks = str(self.fence)
        inner = next((i for i, line in enumerate(body) if line.startswith(ticks)), None)
        if inner is not None:
            self.broken.append(
                BrokenFence(
                    start, f"is not closed before line {start + inner + 2}, where a fence begins"
                )
            )
        prefix = self.lines[start]
        prefix = prefix[: prefix.index(ticks)]
        self.fences.append(Fence(self.header, start, end - 1, prefix, ticks, body))
        super().process_nested_block(ws, content, start, end)

    def _store(self, source: str, code: str, start: int, end: int) -> None:
        super()._store(source, code, start, end)
        self.fence = None


class _FinderExtension(SuperFencesCodeExtension):
    def extendMarkdown(self, md: markdown.Markdown) -> None:  # noqa: N802
        super().extendMarkdown(md)
        self.finder = _Finder(md)
        vars(self.finder).update(config=self.getConfigs(), extension=self)
        md.preprocessors.register(self.finder, "fenced_code_block", 25)


def find_fences(lines: list[str]) -> tuple[list[Fence], list[BrokenFence]]:
    """Return the fences among `lines` in order, and those that are broken.

    After a broken fence the pairing of the following ones cannot be trusted.
    """
    md, finder = _parser(any(map(_BLOCK.match, lines)))
    md.reset()
    remaining = list(lines)
    for preprocessor in md.preprocessors:
        remaining = preprocessor.run(remaining)
    root: Any = md.parser.parseDocument(remaining).getroot()
    md.treeprocessors["footnote"].run(root)
    shown = _as_text(root)
    stash = [_as_text(block) for block in md.htmlStash.rawHtmlBlocks]
    while match := HTML_PLACEHOLDER_RE.search(shown):
        shown = shown.replace(match.group(0), stash[int(match.group(1))])
    live = set(re.findall(r"<fence (\d+)>", re.sub(r"(?s)<!--.*?-->", "", shown)))
    fences = [replace(f, live=str(i) in live) for i, f in enumerate(finder.fences)]
    return fences, sorted(finder.broken, key=lambda broken: broken.start)


def _parser(captions: bool) -> tuple[markdown.Markdown, _Finder]:
    """Return this thread's parser; to make one takes as long as to read a page."""
    made = vars(_made).setdefault("parsers", {})
    if captions not in made:
        extension = _FinderExtension()
        md = markdown.Markdown(
            extensions=[*CONTAINERS, *[_CAPTIONS] * captions, extension],
            extension_configs={"pymdownx.tabbed": {"alternate_style": True}},
        )
        made[captions] = md, extension.finder
    return made[captions]


def _as_text(block: Any) -> str:
    return block if isinstance(block, str) else ElementTree.tostring(block, encoding="unicode")


def blanked(lines: list[str], fences: list[Fence]) -> list[str]:
    """Blank out fences and comments, keeping every line and column where it is."""
    kept = list(lines)
    for fence in fences:
        kept[fence.start : fence.end + 1] = [""] * (fence.end + 1 - fence.start)
    return COMMENT.sub(lambda m: m["span"] or _blank(m), "\n".join(kept)).split("\n")


def without_code_spans(text: str) -> str:
    """Blank out the code in sentences, keeping every line and column where it is."""
    return CODE_SPAN.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])
