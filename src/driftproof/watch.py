"""Sees edits as they happen, where the file system tells of them; MkDocs asks twice a second."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from watchdog import events, observers
from watchdog.observers.api import BaseObserver, ObservedWatch

_SETTLED = 0.05
"""Seconds without a change after which an edit is taken to be complete: some editors need three."""
_CHANGES: list[type[events.FileSystemEvent]] = [
    events.FileAttribEvent,  # a file whose time has changed is newer than what was verified
    events.FileCreatedEvent,
    events.FileDeletedEvent,
    events.FileModifiedEvent,
    events.FileMovedEvent,
    events.DirDeletedEvent,  # all that is told of one that was moved away
]
_DISTANT = ("9p", "afs", "ceph", "cifs", "fakeowner", "fuse", "nfs", "smb", "vboxsf", "virtiofs")
"""Beginnings of the names of file systems that others change without a word."""


def at_once(server: Any, root: Path) -> None:
    """Have a server of MkDocs, which does not watch yet, told of changes under `root` at once.

    Where files can change without a word, as on a network drive, it goes on asking for them.
    """
    if _file_system(root).startswith(_DISTANT):
        return
    watched = list(server._watched_paths)
    for path in watched:
        server.unwatch(path)
    server.observer, server.build_delay = _Observer(observers.Observer()), _SETTLED
    for path in watched:
        server.watch(path)


class _Observer:
    """An observer that tells of changes only, and watches a file through its folder.

    An editor that puts a new file in the place of the old one would end the watch of the file.
    """

    def __init__(self, observer: BaseObserver) -> None:
        self._observer = observer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._observer, name)

    def schedule(
        self, handler: events.FileSystemEventHandler, path: str, *, recursive: bool = False
    ) -> ObservedWatch:
        """Have `handler` told of changes in a folder, or of a file."""
        if os.path.isfile(path):
            handler, path, recursive = _OneFile(handler, path), os.path.dirname(path), False
        else:
            handler = _Folder(handler)
        return self._observer.schedule(handler, path, recursive=recursive, event_filter=_CHANGES)


class _Folder(events.FileSystemEventHandler):
    """Tells of a folder that is gone as of a file: MkDocs does not listen to folders."""

    def __init__(self, handler: events.FileSystemEventHandler) -> None:
        self._handler = handler

    def dispatch(self, event: events.FileSystemEvent) -> None:
        gone = isinstance(event, events.DirDeletedEvent)
        self._handler.dispatch(events.FileDeletedEvent(event.src_path) if gone else event)


class _OneFile(events.FileSystemEventHandler):
    def __init__(self, handler: events.FileSystemEventHandler, path: str) -> None:
        self._handler, self._path = handler, path

    def dispatch(self, event: events.FileSystemEvent) -> None:
        if self._path in (event.src_path, event.dest_path):
            self._handler.dispatch(event)


def _file_system(path: Path) -> str:
    """Return the kind of file system that holds `path`, "" where it cannot be told."""
    try:
        mounts = Path("/proc/self/mounts").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    held = [(len(place), kind) for _, place, kind, *_ in map(str.split, mounts)
            if path.is_relative_to(place.replace("\\040", " "))]  # fmt: skip
    return max(held, default=(0, ""))[1]
