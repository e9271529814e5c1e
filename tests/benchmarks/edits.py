"""The edits of an author, each with the record that belongs to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from book import Spec, name, record

SENTENCE = "Whoever edits this sentence expects to read the word wheelwright."
_NUMBER = re.compile(r"-?\d+\.\d{4,}(?:e[-+]\d+)?")
_BLOCK = re.compile(r"^```python.*?^```$", re.DOTALL | re.MULTILINE)
_COLUMNS = re.compile(r'^```output show="figure".*?^```$', re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Edit:
    """Files that change together, in our form, and what the site has to show then.

    Attributes:
        name: What is edited.
        files: The new text of each file, by path.
        before: The old text of each.
        cause: The file that the author edits; the others are recorded anew.
        shown: What has to be on each page afterwards, and nowhere before; by path under docs.
        gone: What must not be there any more.
        runs: How many blocks may run at most.
        pages: How many pages have blocks that run.
    """

    name: str
    files: dict[str, str]
    before: dict[str, str]
    cause: str
    shown: dict[str, list[str]]
    gone: dict[str, list[str]]
    runs: int
    pages: int

    def undone(self) -> Edit:
        """Return the edit that puts everything back."""
        return replace(self, files=self.before, before=self.files, shown=self.gone, gone=self.shown)


def prepare(folder: Path, spec: Spec, names: tuple[str, ...]) -> list[Edit]:
    """Make each edit in a recorded book, record it, and put the book back."""
    makers = {"sentence": _sentence, "block": _block, "helper": _helper, "last block": _last}
    return [_recorded(folder, edit, *makers[edit](spec)) for edit in names]


def _sentence(spec: Spec) -> tuple[str, str, str, list[int]]:
    path = f"docs/chapters/{name(spec.edited)}.md"
    return path, r"^This chapter is about .*$", SENTENCE, []


def _block(spec: Spec) -> tuple[str, str, str, list[int]]:
    path = f"docs/chapters/{name(spec.edited)}.md"
    return path, r"^decay = 0\.9$", "decay = 0.8", [spec.edited]


def _helper(spec: Spec) -> tuple[str, str, str, list[int]]:
    return "src/common.py", r"^FACTOR = 0\.95$", "FACTOR = 0.96", spec.importing


def _last(spec: Spec) -> tuple[str, str, str, list[int]]:
    return "docs/slow.md", r"^decay = 0\.9$", "decay = 0.8", [0]


def _recorded(
    folder: Path, edit: str, cause: str, pattern: str, new: str, chapters: list[int]
) -> Edit:
    before = {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in (folder / cause, *sorted((folder / "docs").rglob("*.md")))
    }
    text, count = re.subn(pattern, new, before[cause], flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{cause} has {count} places to edit for {edit!r}, not one")
    (folder / cause).write_text(text, "utf-8")
    if chapters:
        record(folder)
    after = {path: (folder / path).read_text("utf-8") for path in before}
    changed = [path for path in before if after[path] != before[path]]
    for path in changed:
        (folder / path).write_text(before[path], "utf-8")
    pages = [path for path in changed if path.startswith("docs/")]
    if edit == "sentence":
        old = re.search(pattern, before[cause], re.MULTILINE)
        assert old is not None
        shown, gone = {cause: [new]}, {cause: [old[0]]}
    else:
        shown = {p: _new(before[p], after[p]) for p in pages}
        gone = {p: _new(after[p], before[p]) for p in pages}
    blocks = [len(_BLOCK.findall(before[_path(number)])) for number in chapters]
    return Edit(
        edit,
        {path: after[path] for path in changed},
        {path: before[path] for path in changed},
        cause,
        shown,
        gone,
        sum(blocks),
        len(blocks),
    )


def _path(number: int) -> str:
    return f"docs/chapters/{name(number)}.md" if number else "docs/slow.md"


def _new(before: str, after: str) -> list[str]:
    """Return the numbers of a page that it did not have; not every tool shows those of figures."""
    old, new = (set(_NUMBER.findall(_COLUMNS.sub("", text))) for text in (before, after))
    return sorted(new - old)
