"""Sees which files this process reads, and whether it asks other programs or machines."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_ASKING = ("griffe.", "mkdocstrings_handlers.")
"""Packages that have a program lay out code, or tell where it is kept, which no page shows."""


@dataclass(eq=False)
class Reads:
    """What was read while something was made.

    Attributes:
        files: Absolute paths of the files that were opened to be read.
        elsewhere: Whether a program was started or a network used, of which nothing is known.
    """

    files: set[str] = field(default_factory=set)
    elsewhere: bool = False


_open: list[Reads] = []
_is_hooked = False


@contextmanager
def noted() -> Generator[Reads]:
    """Note what is read until the end of the `with` block."""
    global _is_hooked
    if not _is_hooked:
        sys.addaudithook(_on_event)  # it stays, and costs little while nobody asks
        _is_hooked = True
    found = Reads()
    _open.append(found)
    try:
        yield found
    finally:
        _open.remove(found)


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if not _open:
        return
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, str | bytes) and not flags & (os.O_WRONLY | os.O_RDWR):
            for found in _open:
                found.files.add(os.path.realpath(os.fsdecode(path)))
    elif event == "socket.connect" or (event == "subprocess.Popen" and not _is_asking()):
        for found in _open:
            found.elsewhere = True


def _is_asking() -> bool:
    frame = sys._getframe()
    while frame := frame.f_back:
        if frame.f_globals.get("__name__", "").startswith(_ASKING):
            return True
    return False
