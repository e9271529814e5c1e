"""Keeps what took long to make, by what it was made from: pages parsed, rendered, searched.

An entry is found by a key, the hash of all that was known beforehand, and holds as long as the
files that were read while it was made are the same. It is made of plain values and of the few
classes named here: to read one, however it came here, runs nothing.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import hashlib
import io
import json
import os
import pickle
import sys
import threading
import types
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from driftproof import machine
from driftproof.observe import TICK, digest_once
from driftproof.page import Page

Made = TypeVar("Made")
_KEPT = 3
"""Entries of one kind for one page: the site as it is built, as it is served, as it was before."""
_CHECKSUM = 32
"""Bytes of an entry's checksum, which comes first in its file."""
_CLASSES = {
    ("driftproof.page", "Page"),
    ("driftproof.page", "Block"),
    ("driftproof.page", "Output"),
    ("driftproof.page", "Bound"),
    ("driftproof.fences", "Fence"),
    ("driftproof.compare", "Tolerance"),
    ("driftproof.problem", "Problem"),
}


class Kept:
    """The folder of what is kept of a project's pages; several builds can use it at once.

    Args:
        root: The project's root, from which the paths of files are seen.
        folder: Where entries are kept.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder

    def load(self, page: str, kind: str, key: str) -> Any:
        """Return what was kept for a page under `key`, None where nothing is that still holds."""
        try:
            content = self._path(page, kind, key).read_bytes()
        except OSError:
            return None
        if hashlib.sha256(memoryview(content)[_CHECKSUM:]).digest() != content[:_CHECKSUM]:
            return None
        stream = io.BytesIO(content)
        stream.seek(_CHECKSUM)
        try:
            files, made = _Reader(stream).load()
        except (ValueError, TypeError, AttributeError, ImportError, EOFError, pickle.PickleError):
            return None
        root = str(self.root)  # thousands of paths are quicker as texts
        same = all(digest_once(os.path.join(root, name)) == it for name, it in files.items())
        return made if same else None

    def store(self, page: str, kind: str, key: str, made: Any, files: Iterable[str] = ()) -> None:
        """Keep what was made of a page, and of the project's `files`; without room, do not."""
        found = {name: digest_once(self.root / name) for name in files}
        body = pickle.dumps((found, made), protocol=5)
        path = self._path(page, kind, key)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_aside(path, hashlib.sha256(body).digest() + body)
            entries = [name for name in os.listdir(path.parent) if name.startswith(f"{kind}.")]
            if len(entries) > _KEPT:
                paths = [path.parent / name for name in entries]
                for old in sorted(paths, key=lambda entry: entry.stat().st_mtime_ns)[:-_KEPT]:
                    old.unlink(missing_ok=True)

    def of(self, page: Page, kind: str, make: Callable[[Page], Made]) -> Made:
        """Return what `make` makes of a parsed page and of nothing else."""
        if not page.key:
            return make(page)
        made = self.load(page.path, kind, page.key)
        if made is None:
            made = make(page)
            self.store(page.path, kind, page.key, made)
        return made

    def _path(self, page: str, kind: str, key: str) -> Path:
        return self.folder / page.replace("/", "-") / f"{kind}.{key}"


class _Reader(pickle.Unpickler):
    """Reads plain values and the classes of a page, and nothing that runs."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _CLASSES:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return super().find_class(module, name)


def key(*parts: Any) -> str:
    """Return the hash of plain values: texts, numbers, dates, and collections of them.

    Functions and classes count by their names, dataclasses and mappings by what they hold, in its
    order.

    Raises:
        TypeError: One of them is an object of which it is not known what it holds.
    """
    text = json.dumps(parts, default=_plain)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if isinstance(value, bytes | datetime.date | Path):
        return repr(value)
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, type | types.FunctionType) and "<" not in value.__qualname__:
        return f"{value.__module__}.{value.__qualname__}"  # no closure, which holds more
    if dataclasses.is_dataclass(value):
        return vars(value)
    if hasattr(value, "items"):  # a mapping of the generator's
        return dict(value)
    raise TypeError(type(value).__qualname__)


def settled(paths: Iterable[Path], since: int) -> bool:
    """Whether no file has changed since a time, in nanoseconds: what was read then is there."""
    return all(_changed(path) < since - TICK for path in paths)


def _changed(path: Path) -> int:
    """Return when a file changed, or the folder changed in which it is not."""
    for place in (path, *path.parents):
        with suppress(OSError):
            return place.stat().st_ctime_ns
    return 0


@functools.cache
def tool() -> str:
    """Return a hash of what makes pages: Python, the installed distributions, this package."""
    return key(sys.version, sorted(machine.installed().items()), code())


@functools.cache
def code() -> str:
    """Return a hash of this package as it is installed here: its modules and their assets."""
    here = Path(__file__).parent
    files = sorted([*here.rglob("*.py"), *(f for f in (here / "assets").iterdir() if f.is_file())])
    own = [file.relative_to(here).as_posix().encode() + file.read_bytes() for file in files]
    return hashlib.sha256(b"\0".join(own)).hexdigest()


def write_aside(path: Path, content: bytes) -> None:
    """Write a file under another name and move it into place, so that no half of it is seen."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        aside.write_bytes(content)
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
