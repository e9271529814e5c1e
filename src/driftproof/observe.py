"""Sees what a page depends on while it runs: files, modules, distributions, variables."""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LOOKUP = ("os.py", "<frozen os>", "_collections_abc.py", "<frozen _collections_abc>")
_CHANGES = ("os.chmod", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.utime")
_LISTINGS = ("os.listdir", "os.scandir")
_LINKS = ("os.link", "os.symlink")
_NETWORK = ("socket.bind", "socket.connect", "socket.getaddrinfo", "socket.sendto")


TICK = 20_000_000
"""Nanoseconds in which a file can change twice and bear one time."""


def digest(path: str) -> str:
    """Return the SHA-256 of a file, or of the names in a folder; "" where there is neither."""
    try:
        if os.path.isdir(path):
            names = [n for n in os.listdir(path) if not n.startswith((".", "__pycache__"))]
            content = "\n".join(sorted(names)).encode()
        else:
            with open(path, "rb") as file:
                content = file.read()
    except OSError:
        return ""
    return hashlib.sha256(content).hexdigest()


def digest_once(path: Path | str) -> str:
    """Return the digest of a file or folder, read again only if it has changed since the last."""
    try:
        status = os.stat(path)
    except OSError:
        return ""
    if time.time_ns() - status.st_ctime_ns < TICK:
        return digest(str(path))
    times = status.st_mtime_ns, status.st_ctime_ns
    return _digest(str(path), *times, status.st_size, status.st_ino)


@functools.lru_cache(maxsize=16384)
def _digest(path: str, *_: int) -> str:
    return digest(path)


@functools.cache
def real(path: str) -> str:
    """Return the real path of a module's file, of which many lie in few folders.

    A module made by code, such as torch.classes, may name a file that is nowhere: no path to it.
    """
    folder, name = os.path.split(path)
    if not os.path.isabs(path):
        return path
    if os.path.islink(path):
        return os.path.realpath(path)
    return os.path.join(_real_folder(folder), name)


@functools.cache
def _real_folder(path: str) -> str:
    return os.path.realpath(path)


@dataclass(frozen=True)
class Imported:
    """What a process has imported.

    Attributes:
        names: All modules.
        last: The one that comes last in `sys.modules`.
        files: Their files, but for those of packages installed beside this one.
        roots: The top-level ones that are not of the standard library.
    """

    names: frozenset[str] = frozenset()
    last: str = ""
    files: tuple[str, ...] = ()
    roots: frozenset[str] = frozenset()


imported = Imported()
"""What the fork server has imported. Its pages read this instead of `sys.modules`: to look at a
module takes a copy of the memory in which it lies."""


def remember_imports(last: str) -> None:
    """Note in the fork server what it has imported, up to the module `last`."""
    global imported
    names = [*sys.modules]
    files = (getattr(sys.modules[name], "__file__", None) for name in names)
    paths = [real(file) for file in files if file]
    own = tuple(path for path in paths if not path.startswith(sys.prefix + os.sep))
    imported = Imported(frozenset(names), last, own, _roots(names))


def _roots(names: Iterable[str]) -> frozenset[str]:
    return frozenset({name.partition(".")[0] for name in names} - sys.stdlib_module_names)


class _Environment(os._Environ):
    """`os.environ` that remembers which variables the project's own code asked for."""

    observer: Observer

    def __getitem__(self, key: str) -> str:
        frame = sys._getframe(1)
        while frame and frame.f_code.co_filename.endswith(_LOOKUP):
            frame = frame.f_back
        if frame and self.observer.is_own(frame.f_code.co_filename):
            self.observer.variables.add(key)
        return super().__getitem__(key)


class Observer:
    """Collects what a page reads; refuses that its blocks change the project or use a network.

    Attributes:
        variables: Environment variables that the page or the project's modules asked for.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.variables: set[str] = set()
        self._digests: dict[str, str] = {}
        self._unsaid: list[str] = []
        self._modules: set[str] = set()
        self._roots: set[str] = set()
        self._unsaid_roots: set[str] = set()
        self._said: set[str] = set()
        self._reading = False

    def start(self) -> None:
        """Begin to watch; lasts as long as the process."""
        _Environment.observer = self
        os.environ.__class__ = _Environment
        sys.addaudithook(self._on_event)
        self._unsaid_roots |= imported.roots
        for file in imported.files:
            self._note(file)

    def is_own(self, filename: str) -> bool:
        """Whether code from `filename` is the page's or the project's, not a library's."""
        return not filename.startswith(("/", "<")) or self._inside(filename)

    def news(self) -> tuple[dict[str, str], list[str], list[str]]:
        """Return what was read since this was last asked: files, modules, variables.

        Files, and folders that were listed, have their SHA-256 as it was then; their paths are
        relative to the root. Modules are the top-level ones that are not of the standard library.
        """
        names = _imported_since() - self._modules
        for name in names:
            if file := getattr(sys.modules.get(name), "__file__", None):
                self._note(real(file))
        files = {os.path.relpath(path, self.root): self._digests[path] for path in self._unsaid}
        roots = (self._unsaid_roots | _roots(names)) - self._roots
        variables = self.variables - self._said
        self._unsaid.clear()
        self._unsaid_roots.clear()
        self._modules |= names
        self._roots |= roots
        self._said |= variables
        return dict(sorted(files.items())), sorted(roots), sorted(variables)

    def _inside(self, path: str) -> bool:
        return (
            path.startswith(self.root + os.sep)
            and not path.startswith(sys.prefix + os.sep)
            and not path.endswith(".pyc")
        )

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGES or event in _LINKS:
            for path in arguments[event in _LINKS : 2]:
                self._refuse(path)
        elif event == "open":
            path, _, flags = arguments
            if flags & (os.O_WRONLY | os.O_RDWR):
                self._refuse(path)
            elif isinstance(path, str | bytes | os.PathLike):
                self._note(os.path.realpath(os.fsdecode(path)))
        elif event in _NETWORK:
            _refuse_network(event, arguments)
        elif event in _LISTINGS and isinstance(arguments[0], str | bytes | os.PathLike):
            caller = sys._getframe(1).f_code.co_filename
            if not caller.startswith("<frozen importlib"):  # which looks for modules
                self._note(os.path.realpath(os.fsdecode(arguments[0])))

    def _refuse(self, path: Any) -> None:
        """Raise if `path` is one, and lies in the project."""
        if not isinstance(path, str | bytes | os.PathLike):
            return
        where = os.path.realpath(os.fsdecode(path))
        if self._inside(where):
            raise PermissionError(
                f"a block cannot change {os.path.relpath(where, self.root)} in the project; "
                "write into the working directory, which is temporary"
            )

    def _note(self, path: str) -> None:
        if path in self._digests or self._reading or not self._inside(path):
            return
        self._reading = True
        try:
            self._digests[path] = digest(path)
            self._unsaid.append(path)
        finally:
            self._reading = False


def _imported_since() -> set[str]:
    """Return the modules that this process has imported since it was forked."""
    extra = len(sys.modules) - len(imported.names)
    latest = list(itertools.islice(reversed(sys.modules), max(extra, 0) + 1))
    if latest.pop() == imported.last:
        return set(latest)
    return sys.modules.keys() - imported.names  # one of those before was taken away


def _refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise unless the socket is one between processes of this machine."""
    if event != "socket.getaddrinfo" and not isinstance(arguments[1], tuple):
        return  # a path, or the name of an abstract one
    raise PermissionError("a block cannot use a network: the book has to build without one")
