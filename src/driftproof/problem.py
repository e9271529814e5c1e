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
    hint: str
    detail: tuple[str, ...] = ()
    block: int = 0

    def __str__(self) -> str:
        text = f"{self.path}:{self.line}: {self.message} [{self.code}]\n    {self.hint}"
        return text + "".join(f"\n    | {line}" for line in self.detail)


class DriftproofError(Exception):
    """Something that is not about one line of a page: settings, the call, a file to be read.

    Args:
        code: A short name of the kind of error.
        message: What happened.
        hint: What to do about it.
        place: The file, with a line where one is to blame; the command by default.
    """

    def __init__(self, code: str, message: str, hint: str, place: str = "driftproof") -> None:
        super().__init__(code, message, hint, place)  # by which it is made again elsewhere
        self.code = code

    def __str__(self) -> str:
        code, message, hint, place = self.args
        return f"{place}: {message} [{code}]\n    {hint}"
