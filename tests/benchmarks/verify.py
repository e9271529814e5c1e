"""Whether a site shows what its sources say: speed of wrong pages is no speed."""

from __future__ import annotations

import html
import re
from hashlib import sha256
from pathlib import Path

from edits import Edit

_TAG = re.compile(r"<[^>]*>")
_NUMBER = re.compile(r"-?\d+\.\d{4,}(?:e[-+]\d+)?")
_SUMMARY = re.compile(r"(\d+) blocks expected, (\d+) ran, (\d+) from cache, (\d+) agreed")


def digests(site: Path) -> dict[str, str]:
    """Return a hash of each file of a site."""
    return {
        path.relative_to(site).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(site.rglob("*"))
        if path.is_file()
    }


def differences(site: dict[str, str], other: dict[str, str]) -> list[str]:
    """Name the files that are not the same in two sites."""
    names = sorted(site.keys() | other.keys())
    return [
        f"{name}: not the bytes of a build from nothing"
        for name in names
        if site.get(name) != other.get(name)
    ]


def contents(site: Path, edit: Edit) -> list[str]:
    """Say what a site does not show of an edit, or still shows of what was before."""
    wrong = []
    for path in edit.shown:
        name = path.removeprefix("docs/").removesuffix(".md").removesuffix("index")
        wrong += shown((site / name / "index.html").read_text("utf-8"), edit, path)
    return wrong


def shown(page: str, edit: Edit, path: str) -> list[str]:
    """Say the same of one page, given its HTML and its path."""
    text = html.unescape(_TAG.sub(" ", page)).replace("\u2212", "-")
    numbers = set(_NUMBER.findall(text))

    def has(wanted: str) -> bool:
        return wanted in numbers if _NUMBER.fullmatch(wanted) else wanted in text

    missing = [f"{path} does not show {each}" for each in edit.shown[path] if not has(each)]
    return missing + [f"{path} still shows {each}" for each in edit.gone[path] if has(each)]


def counts(output: str, edit: Edit | None, blocks: int) -> list[str]:
    """Say where a build of ours ran other blocks than the edit asks for.

    Args:
        output: What the build wrote.
        edit: What was edited, None for a build from nothing.
        blocks: How many blocks the book has.
    """
    found = _SUMMARY.search(output)
    if found is None:
        return [f"the build does not say what ran:\n{output[-2000:]}"]
    expected, ran, recalled, agreed = map(int, found.groups())
    wrong = []
    if not expected == agreed == ran + recalled == blocks:
        wrong.append(f"{blocks} blocks, but {found[0]}")
    most, least = (edit.runs, edit.pages) if edit else (blocks, blocks)
    if not least <= ran <= most:
        wrong.append(f"{ran} blocks ran instead of {most}")
    return wrong
