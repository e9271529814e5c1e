"""A project as one parcel that travels to the machine where its pages run."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tempfile
import threading
import zipfile
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from driftproof.config import Config

_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
_lock = threading.Lock()
_in_use: Counter[str] = Counter()
"""How many pages run in each project that is unpacked here."""


def packed(config: Config) -> bytes:
    """Return settings, pages, snippets and source of a project, alike for alike contents.

    What is hidden stays at home, and so does a link to what lies outside of the project.
    """
    root, target = config.root, io.BytesIO()
    folders = [root / name for name in (config.docs, config.snippets, config.source)]
    found = {root / "pyproject.toml", *folders, *(p for f in folders for p in f.rglob("*"))}
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(found):
            name = path.relative_to(root)
            hidden = any(part.startswith((".", "__pycache__")) for part in name.parts)
            if hidden or not path.resolve().is_relative_to(root):
                continue
            if path.is_dir():  # an empty one is there, too, for a page that looks
                archive.writestr(zipfile.ZipInfo(f"{name.as_posix()}/", _FIRST_DAY), b"")
            elif path.is_file():
                entry = zipfile.ZipInfo(name.as_posix(), _FIRST_DAY)
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target.getvalue()


@contextmanager
def unpacked(parcel: bytes, folder: Path) -> Generator[Path]:
    """Give the root of a project that is unpacked once under `folder`; remove what none uses."""
    name = hashlib.sha256(parcel).hexdigest()
    with _lock:
        _in_use[name] += 1
        folder.mkdir(exist_ok=True)
        for other in folder.iterdir():
            if not _in_use[other.name]:
                shutil.rmtree(other, ignore_errors=True)
        if not (folder / name).exists():
            whole = tempfile.mkdtemp(dir=folder)
            with zipfile.ZipFile(io.BytesIO(parcel)) as archive:
                archive.extractall(whole)
            os.rename(whole, folder / name)
    try:
        yield folder / name
    finally:
        with _lock:
            _in_use[name] -= 1
