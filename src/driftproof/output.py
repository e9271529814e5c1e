"""Writes into the folder of a site what is not there already, and removes what is left over.

MkDocs empties the folder and writes everything anew; on a disk that takes longer than to make it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

_Signature = tuple[int, int, int]


class Output:
    """The folder of a site during one build.

    Args:
        folder: The folder.
        utils: The module of MkDocs through which it is emptied and written.
    """

    def __init__(self, folder: str, utils: Any) -> None:
        self._folder, self._utils = os.path.abspath(folder), utils
        self._before: dict[str, _Signature] = {}
        self._current: set[str] = set()
        self._replaced = {
            name: getattr(utils, name) for name in ("clean_directory", "copy_file", "write_file")
        }

    def begin(self) -> None:
        """Take the place of what empties and writes the folder."""
        self._before = dict(_files(self._folder))
        self._utils.clean_directory = self._clean
        self._utils.copy_file = self._copy
        self._utils.write_file = self.write

    def tidy(self) -> None:
        """Remove what was there before the build and is not part of it."""
        for path, signature in self._before.items():
            if path not in self._current and _signature(path) == signature:
                os.unlink(path)
        for folder, _, _ in os.walk(self._folder, topdown=False):
            if folder != self._folder and not os.listdir(folder):
                os.rmdir(folder)

    def end(self) -> None:
        """Leave the folder to others."""
        vars(self._utils).update(self._replaced)

    def write(self, content: bytes, output_path: str) -> None:
        """Write a file, and the folders above it, unless it holds this already."""
        path = os.path.abspath(output_path)
        if _holds(path, content):
            self._current.add(path)
        else:
            self._replaced["write_file"](content, output_path)

    def _copy(self, source_path: str, output_path: str) -> None:
        if os.path.isdir(output_path):
            output_path = os.path.join(output_path, os.path.basename(source_path))
        if os.path.exists(output_path) and os.path.samefile(source_path, output_path):
            raise shutil.SameFileError(source_path)
        self.write(Path(source_path).read_bytes(), output_path)

    def _clean(self, directory: str) -> None:
        if os.path.abspath(directory) != self._folder:
            self._replaced["clean_directory"](directory)


def _holds(path: str, content: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return os.fstat(file.fileno()).st_size == len(content) and file.read() == content
    except OSError:
        return False


def _files(folder: str) -> list[tuple[str, _Signature]]:
    """Return the files that MkDocs would remove: hidden ones at the top are not its own."""
    found = []
    for inside, folders, names in os.walk(folder):
        if inside == folder:
            folders[:] = [name for name in folders if not name.startswith(".")]
            names = [name for name in names if not name.startswith(".")]
        links = [name for name in folders if os.path.islink(os.path.join(inside, name))]
        paths = [os.path.join(inside, name) for name in [*names, *links]]
        found += [(path, _signature(path)) for path in paths]
    return found


def _signature(path: str) -> _Signature:
    """Return what changes whenever a file is written."""
    try:
        status = os.lstat(path)
    except OSError:
        return 0, 0, 0
    return status.st_ino, status.st_size, status.st_ctime_ns
