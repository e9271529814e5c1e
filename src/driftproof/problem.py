"""What is wrong with a page, and where."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that keeps the book from being published.

    Attributes:
        code: A short name of the kind of problem, such as `drift` or `unknown-option`.
        path: The file, relative to the project root.
        line: The line in that file, counted from 1.
        message: What happened.
        hint: What to do about it.
        block: The number of the page's block that it concerns, where the line does not tell.
        detail: Lines that help to find the cause: code, frames, recorded and printed text.
    """

    code: str
    path: str
    line: int
    message: str
    hint: str = ""
    detail: tuple[str, ...] = ()
    block: int = 0

    def __str__(self) -> str:
        text = f"{self.path}:{self.line}: {self.message} [{self.code}]"
        if self.hint:
            text += f"\n    {self.hint}"
        return text + "".join(f"\n    | {line}" for line in self.detail)


class DriftproofError(Exception):
    """The project itself cannot be read; the message says where and what to do."""
