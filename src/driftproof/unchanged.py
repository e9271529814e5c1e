"""Whether a site has to be built at all: not, if what it was made from and it are as they were.

Files are compared by size and times, also the one that the file system keeps for itself; a file
that has only been touched costs a build, in which what is kept of pages is found by content.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from driftproof import machine, templates
from driftproof.generator import configured, is_pure
from driftproof.kept import key, tool, write_aside
from driftproof.reads import Reads, modules, of_projects

_VARIABLES = ("_", "OLDPWD", "SHLVL")
"""What a shell sets anew for each command."""
_TOO_NEW = 50_000_000
"""Nanoseconds in which a file can change twice and bear one time."""

State = dict[str, tuple[int, ...]]


class Built:
    """The last build into one folder.

    Args:
        root: The project's root.
        cache: The folder in which it is remembered.
        site: The generator's configuration.
        folders: The folders from which a site is built, with all that they hold.
        read: What this process has read since before it loaded the project's own code.
        warnings: What has been warned of since before its events.
    """

    def __init__(
        self,
        root: Path,
        cache: Path,
        site: Any,
        folders: Iterable[Path | str],
        read: Reads,
        warnings: list[str],
    ) -> None:
        self.root, self.output = root, os.path.realpath(site.site_dir)
        self._read, self._warnings = read, warnings
        self._made = cache, self.output
        self._away = tuple(f"{folder}/" for folder in (*self._made, sys.prefix))
        name = hashlib.sha256(self.output.encode()).hexdigest()[:16]
        self._file = cache / "sites" / f"{name}.json"
        files = [root / "pyproject.toml", site.config_file_path]
        files += [str(hook.__file__) for hook in site.hooks.values()]
        self._named = [*map(str, folders), *map(str, files), *modules()]
        self._key = _key(site)

    def said(self) -> list[str] | None:
        """Return what the last build said in the end, None if the site has to be built again."""
        try:
            last = json.loads(self._file.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        same = (
            self._key
            and last["key"] == self._key
            and last["output"] == _listed(_states([self.output]))
            and last["input"] == _listed(self._input())
            and last["read"] == _listed(_seen(name for name, *_ in last["read"]))
        )
        return last["said"] if same else None

    def begin(self) -> None:
        """Take note of the files as they are before the build."""
        self._file.unlink(missing_ok=True)
        self._began = time.time_ns()
        self._before = self._input()

    def end(self, said: list[str], files: Iterable[str]) -> None:
        """Remember a build that succeeded.

        Args:
            said: What it said.
            files: The project's files that runs read, relative to the root.
        """
        if not self._key or self._read.elsewhere or self._warnings:
            return
        read = of_projects(self._read.files, [*self._made, templates.folder()])
        read |= {str(self.root / name) for name in files}
        read -= {str(place) for made in self._made for place in Path(made).parents}  # both are new
        read -= self._before.keys()
        states = [*self._before.values(), *(_state(partial(os.stat, name)) for name in read)]
        newest = max(max(times) for *times, _ in states)
        if self._input() != self._before or newest > self._began - _TOO_NEW:
            return  # it changed meanwhile, or could do so unseen
        last = {
            "key": self._key,
            "said": said,
            "input": _listed(self._before),
            "read": _listed(_seen(read)),
            "output": _listed(_states([self.output])),
        }
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_aside(self._file, json.dumps(last).encode())

    def _input(self) -> State:
        return {
            name: state
            for name, state in _states(self._named).items()
            if not name.startswith(self._away)
        }


def _key(site: Any) -> str:
    """Return a hash of what is not in the project's files, "" if a plugin can be anything."""
    if not all(map(is_pure, site.plugins.values())):
        return ""
    variables = {name: value for name, value in os.environ.items() if name not in _VARIABLES}
    today = datetime.datetime.now(datetime.UTC).date()  # of which the site map tells
    level = logging.getLogger("mkdocs").getEffectiveLevel()
    with suppress(TypeError):
        return key(tool(), configured(site), sorted(variables.items()), machine.processor(), level,
                   today)  # fmt: skip
    return ""


def _states(paths: Iterable[str]) -> State:
    """Return times and size of files, and of those in folders; a missing one has neither."""
    found: State = {}
    left = list(paths)
    while left:
        path = left.pop()
        if not os.path.isdir(path):
            found[path] = _state(partial(os.stat, path))
            continue
        with suppress(OSError), os.scandir(path) as entries:
            for entry in entries:
                if not _is_folder(entry):
                    found[entry.path] = _state(entry.stat)
                elif entry.name != "__pycache__":
                    left.append(entry.path)
    return found


def _seen(paths: Iterable[str]) -> State:
    """Return times and size of files, and for folders a hash of the names in them.

    A folder has a new time as soon as Python keeps there what it has compiled.
    """
    return {
        path: _names(path) if os.path.isdir(path) else _state(partial(os.stat, path))
        for path in paths
    }


def _names(folder: str) -> tuple[int, ...]:
    names: list[str] = []
    with suppress(OSError):  # it may not be listed
        names = sorted(name for name in os.listdir(folder) if name != "__pycache__")
    content = hashlib.blake2b(os.fsencode("/".join(names)), digest_size=8).digest()
    return 0, 0, int.from_bytes(content)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):
        return entry.is_dir()
    return False


def _state(stat: Callable[[], os.stat_result]) -> tuple[int, ...]:
    with suppress(OSError):  # a link that leads nowhere
        status = stat()
        return status.st_mtime_ns, status.st_ctime_ns, status.st_size
    return 0, 0, -1


def _listed(state: State) -> list[list[Any]]:
    return [[name, *state[name]] for name in sorted(state)]
