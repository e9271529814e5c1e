"""Sees which files this process reads, and whether it asks other programs or machines."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

_ASKING = ("griffe.", "mkdocstrings_handlers.")
"""Packages that have a program lay out code, or tell where it is kept, which no page shows."""
_PROGRAMS = ("os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen")
_LISTINGS = ("os.listdir", "os.scandir")
_FOLDERS = (sys.prefix, sys.base_prefix, os.path.dirname(__file__))
_INSTALLED = tuple(
    f"{folder}/"
    for folder in {*_FOLDERS, *map(os.path.realpath, _FOLDERS), "/dev", "/proc", "/sys"}
)
"""Where nothing lies that belongs to a project: its versions are known, or it has no content."""


@dataclass(eq=False)
class Reads:
    """What was read while something was made.

    Attributes:
        thread: The thread that made it.
        everywhere: Whether other threads were watched as well.
        files: Paths of the files that were opened to be read, and of the folders listed.
        elsewhere: Whether a program was started or a network used, of which nothing is known.
        since: When it began, in nanoseconds.
    """

    thread: int = field(default_factory=threading.get_ident)
    everywhere: bool = False
    files: set[str] = field(default_factory=set)
    elsewhere: bool = False
    since: int = field(default_factory=time.time_ns)


_open: list[Reads] = []
_is_hooked = False


@contextmanager
def noted(*, everywhere: bool = False) -> Generator[Reads]:
    """Note what this thread, or every one, reads until the end of the `with` block."""
    global _is_hooked
    if not _is_hooked:
        sys.addaudithook(_on_event)  # it stays, and costs little while nobody asks
        _is_hooked = True
    found = Reads(everywhere=everywhere)
    _open.append(found)
    try:
        yield found
    finally:
        _open.remove(found)


def of_projects(files: Iterable[str], away: Iterable[os.PathLike[str] | str] = ()) -> set[str]:
    """Return the real paths of those that no installed package has, nor the folders `away`."""
    others = (*_INSTALLED, *(f"{os.path.realpath(folder)}/" for folder in away))
    found = {os.path.realpath(name) for name in files if not f"{name}/".startswith(others)}
    return {name for name in found if not f"{name}/".startswith(others)}


def modules() -> set[str]:
    """Return the sources of the modules in this process that belong to a project."""
    files = {vars(module).get("__file__") for module in [*sys.modules.values()] if module}
    return of_projects(file for file in files if isinstance(file, str))


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if not _open:
        return
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, str | bytes) and not flags & (os.O_WRONLY | os.O_RDWR):
            _note(path)
    elif event in _LISTINGS:
        path = arguments[0]
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if isinstance(path, str | bytes) and "importlib" not in str(caller) and not _is_asking():
            _note(path)  # a search for modules is no reading
    elif event in _PROGRAMS or event == "socket.connect":
        # Pages run in threads of their own, and reach the server that forks them by a path.
        is_local = event == "socket.connect" and not isinstance(arguments[1], tuple)
        here = threading.get_ident()
        for found in _open:
            if here == found.thread or (found.everywhere and not is_local):
                found.elsewhere |= not _is_asking()


def _note(path: str | bytes) -> None:
    name = os.fsdecode(path)
    if name.endswith(".pyc"):
        return
    here = threading.get_ident()
    for found in _open:
        if found.everywhere or here == found.thread:
            found.files.add(name)


def _is_asking() -> bool:
    frame = sys._getframe()
    while frame := frame.f_back:
        if str(frame.f_globals.get("__name__", "")).startswith(_ASKING):
            return True
    return False
