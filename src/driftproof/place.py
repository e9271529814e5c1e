"""Where a page works: an empty folder, the project's modules as they are now, its own streams."""

from __future__ import annotations

import ctypes
import io
import os
import sys
import tempfile
import types
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from importlib.machinery import FileFinder, SourceFileLoader
from itertools import accumulate
from typing import Any

_IONBF = 2


@contextmanager
def lent(root: str, names: Iterable[str]) -> Generator[str]:
    """Lend a folder to a page, with links to these folders of the project.

    One that its page leaves as it was serves others: to make and remove thousands takes seconds.
    """
    links = tuple(name for name in names if os.path.isdir(os.path.join(root, name)))
    lease = _taken(root, links) or _Lease(root, links)
    try:
        yield lease.made.name
    finally:
        if lease.is_as_it_was():
            _idle.append(lease)
        else:
            lease.made.cleanup()


def _taken(root: str, links: tuple[str, ...]) -> _Lease | None:
    """Return an idle folder for pages of a project; remove others on the way."""
    while True:
        try:
            lease = _idle.pop()
        except IndexError:
            return None
        if lease.made_for == (root, links) and lease.is_as_it_was():
            return lease
        lease.made.cleanup()


class _Lease:
    """A folder that can be lent, and what it was like when it was made."""

    def __init__(self, root: str, links: tuple[str, ...]) -> None:
        self.made_for = root, links
        self.made = tempfile.TemporaryDirectory(prefix="driftproof-", ignore_cleanup_errors=True)
        self._paths = [self.made.name, *furnish(self.made.name, root, links)]
        for path in self._paths:  # the clock of a file system can be slow, but not by years
            os.utime(path, ns=(0, 0), follow_symlinks=False)
        self._state = self._look()

    def is_as_it_was(self) -> bool:
        """Whether nothing was made, changed or removed in it, not even for a moment."""
        return self._look() == self._state

    def _look(self) -> list[tuple[int, ...]]:
        """Return what changes when a link does, and a folder or something in it."""
        states = [os.lstat(path) for path in self._paths if os.path.lexists(path)]
        return [(state.st_ino, state.st_mtime_ns, state.st_ctime_ns) for state in states]


_idle: list[_Lease] = []


def furnish(folder: str, root: str, links: Iterable[str]) -> list[str]:
    """Make a page's folders: one to work in, with links to the project, one for temporary files.

    Returns:
        The paths of all that was made.
    """
    made = [os.path.join(folder, "page"), os.path.join(folder, "temporary")]
    for path in made:
        os.mkdir(path)
    for name in links:
        *above, link = list(accumulate([made[0], *name.split("/")], os.path.join))[1:]
        if os.path.isdir(os.path.join(root, name)) and not os.path.lexists(link):
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(os.path.join(root, name), link)
            made += [*above, link]
    return made


def enter(folder: str, root: str, source: str) -> None:
    """Work in a folder that was prepared, with the project's modules as they are now."""
    os.environ["TMPDIR"] = os.path.join(folder, "temporary")
    tempfile.tempdir = None
    os.chdir(os.path.join(folder, "page"))
    source = os.path.join(root, source)
    hook = FileFinder.path_hook((_FromSource, [".py"]))
    sys.path_hooks.insert(0, lambda path: hook(_only_under(source, path)))
    for path in [path for path in sys.path_importer_cache if _lies_in(source, path)]:
        del sys.path_importer_cache[path]  # all others stay in the memory that pages share
    sys.path[:] = [source, *(entry for entry in sys.path if entry not in ("", source))]
    sys.argv[:] = [""]


def redirect(out: int, err: int) -> None:
    """Close standard input, and have all that is printed, also by C code, arrive at once."""
    with open(os.devnull) as closed:
        os.dup2(closed.fileno(), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = _unbuffered(1)
    sys.stderr = _unbuffered(2)
    libc = ctypes.CDLL(None)
    for name in ("stdout", "__stdoutp"):  # Linux, macOS
        if hasattr(libc, name):
            libc.setvbuf(ctypes.c_void_p.in_dll(libc, name), None, _IONBF, 0)


class _FromSource(SourceFileLoader):
    """Compiles what it imports: a byte-code file goes stale within a second unnoticed."""

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _only_under(source: str, path: str) -> str:
    if not _lies_in(source, path):
        raise ImportError(path)
    return path


def _lies_in(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def _unbuffered(descriptor: int) -> io.TextIOWrapper:
    """Return a stream whose text is in the pipe at once, in order with what others write there."""
    raw: Any = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(
        raw, encoding="utf-8", errors="backslashreplace", newline="", write_through=True
    )
