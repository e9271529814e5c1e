"""A page as other programs read it: its blocks in order, and between them plain Markdown.

What only a site can show becomes text: bound numbers, footnotes, admonitions, attributes.
Mathematics stays between dollars, where notebooks and language models look for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from driftproof.bound import DATA
from driftproof.config import Config
from driftproof.fences import CODE_SPAN, Fence
from driftproof.grammar import FRONT_MATTER
from driftproof.page import Block, Page
from driftproof.snippets import INCLUDE, lines_of

Resolve = Callable[[str], str]
"""From the target of a link as the page has it to one that works elsewhere; "" where none does."""

_CONTAINER = re.compile(
    r"(?P<blanks> *)(?:!!!|\?\?\?\+?|===\+?!?) *(?P<kind>[\w -]*)(?:\"(?P<title>.*)\")?\s*$"
)
_DIV = re.compile(r"\s*(?:</?(?:div|figure)\b[^>]*>\s*)+$")
_CAPTION = re.compile(r"\s*///")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[.#][A-Za-z][^{}\n]*\}")
_DEFINITION = re.compile(r"^( *)\[\^([^\]]+)\]:\s+", re.MULTILINE)
_REFERENCE = re.compile(r"\[\^([^\]]+)\]")
_LINK = re.compile(
    rf"(?P<code>{CODE_SPAN.pattern})"
    r"|(?P<picture>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\((?P<target>[^()\s]+)(?P<rest>[^()]*)\)",
    re.DOTALL,
)  # fmt: skip


def pieces(config: Config, page: Page, resolve: Resolve) -> Iterator[str | Block]:
    """Yield the page's blocks, and its prose between them; outputs belong to their blocks."""
    blocks = {block.fence.start: block for block in page.blocks}
    outputs = {b.output.fence.start for b in page.blocks if b.output}
    fences = {fence.start: (name, fence) for name, fence in page.fences if fence.live}
    notes = _notes(page)
    front = FRONT_MATTER.match("\n".join(page.lines))
    index, indents, kept = front[0].count("\n") if front else 0, [0], list[str]()

    def prose() -> Iterator[str]:
        text = _plain("\n".join(kept), notes, resolve)
        kept.clear()
        if text:
            yield text

    while index < len(page.lines):
        name, fence = fences.get(index, ("", None))
        if fence is None:
            kept += _line(config, page.lines[index], indents)
            index += 1
            continue
        if index in blocks:
            yield from prose()
            yield blocks[index]
        elif index not in outputs:
            kept += _fence(name, fence)
        index = fence.end + 1
    yield from prose()


def as_markdown(config: Config, page: Page, resolve: Resolve) -> str:
    """Return the whole page as plain Markdown, with code and outputs as fences."""
    parts = []
    for piece in pieces(config, page, resolve):
        parts.append(piece if isinstance(piece, str) else _fenced("python", piece.code))
        if isinstance(piece, Block) and piece.output and piece.output.text:
            parts.append(_fenced("text", piece.output.text))
    return "\n\n".join(parts) + "\n"


def _line(config: Config, line: str, indents: list[int]) -> list[str]:
    """Return a line without the indent of its container; the container itself is its title."""
    depth = len(line) - len(line.lstrip(" "))
    while line.strip() and depth < indents[-1]:
        indents.pop()
    if opened := _CONTAINER.fullmatch(line):
        indents.append(len(opened["blanks"]) + 4)
        title = opened["title"] if opened["title"] is not None else opened["kind"].strip().title()
        return [f"**{title}**", ""] if title else []
    if _DIV.fullmatch(line) or _CAPTION.match(line):
        return []
    if (included := INCLUDE.match(line)) and included["quoted"]:
        return lines_of(Path(config.root, config.snippets, included["quoted"][1:-1]).read_bytes())
    return [line[indents[-1] :] if line.strip() else ""]


def _fence(name: str, fence: Fence) -> list[str]:
    if name == "math":
        return ["", "$$", *fence.body, "$$", ""]
    return ["", fence.ticks + fence.header, *fence.body, fence.ticks, ""]


def _fenced(language: str, text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def _notes(page: Page) -> dict[str, int]:
    """Return the numbers of the page's footnotes, as the site gives them: as they are defined."""
    found = _DEFINITION.finditer("\n".join(page.prose))
    return {match[2]: number for number, match in enumerate(found, 1)}


def _plain(text: str, notes: dict[str, int], resolve: Resolve) -> str:
    """Return prose without what only a site can show."""
    text = _COMMENT.sub("", text)
    text = _DEFINITION.sub(lambda m: f"{m[1]}{notes[m[2]]}. " if m[2] in notes else m[0], text)
    text = _outside_code(
        text, lambda t: _ATTRIBUTES.sub("", DATA.sub(r"\g<text>", _numbered(t, notes)))
    )
    text = _LINK.sub(lambda m: m["code"] or _linked(m, resolve), text)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n").rstrip()


def _numbered(text: str, notes: dict[str, int]) -> str:
    return _REFERENCE.sub(lambda m: f"<sup>{notes[m[1]]}</sup>" if m[1] in notes else m[0], text)


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change a text but for the code in its sentences."""
    parts, last = [], 0
    for span in CODE_SPAN.finditer(text):
        parts += [change(text[last : span.start()]), span[0]]
        last = span.end()
    return "".join([*parts, change(text[last:])])


def _linked(link: re.Match[str], resolve: Resolve) -> str:
    target = resolve(link["target"])
    if target:
        return f"{link['picture']}[{link['text']}]({target}{link['rest']})"
    return f"({link['text']})" if link["picture"] else link["text"]
