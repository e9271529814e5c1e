"""What is said of a block that failed: the exception, and the frames an author can act on."""

from __future__ import annotations

import os
import traceback
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Failure:
    """Why a block or an expression failed: the exception and the frames an author can act on."""

    kind: str
    message: str
    file: str
    line: int
    frames: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where the frames lie that are an author's own.

    Attributes:
        root: The project root.
        source: Its folder of modules.
        files: The files of the page's blocks, as its code is compiled.
    """

    root: str
    source: str
    files: Collection[str]

    def failure(self, error: BaseException, file: str, line: int) -> Failure:
        """Keep of a traceback what stands in the page, in snippets and in the source."""
        frames = []
        for frame in traceback.extract_tb(error.__traceback__):
            name = self._own(frame.filename)
            if name:
                file, line = (name, frame.lineno or line) if not frames else (file, line)
                code = (frame.line or "").strip()
                frames.append(f"{name}:{frame.lineno}, in {frame.name}: {code}")
        if isinstance(error, SyntaxError) and error.filename and self._own(error.filename):
            at = f"{self._own(error.filename)}:{error.lineno}: {(error.text or '').strip()}"
            if not frames:
                file, line = self._own(error.filename), error.lineno or line
            frames.append(at)
        message = error.msg if isinstance(error, SyntaxError) else text_of(error)
        message = message.replace(self.root + os.sep, "")
        return Failure(type(error).__name__, message, file, line, tuple(frames))

    def _own(self, filename: str) -> str:
        """Return `filename` relative to the root if it is the project's own, otherwise ""."""
        if filename in self.files:
            return filename
        path = os.path.realpath(filename)
        inside = path.startswith(os.path.join(self.root, self.source) + os.sep)
        is_tool = path.startswith(os.path.dirname(__file__) + os.sep)
        return os.path.relpath(path, self.root) if inside and not is_tool else ""


def text_of(error: BaseException) -> str:
    """Return the text of an exception, also of one that fails to say it, as it can be printed."""
    text = str(traceback.TracebackException(type(error), error, None))
    return text.encode("utf-8", "backslashreplace").decode()
