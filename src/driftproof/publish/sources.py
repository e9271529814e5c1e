"""The code that the pages import, as an archive from which pip installs it."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

from driftproof.publish.book import Book, published_at

_BESIDE = ("pyproject.toml", "README.md", "LICENSE")


def write_sources(book: Book, site: Path) -> Path:
    """Write the project's source folder and what its installation needs; return the path."""
    config, target = book.config, site / book.sources
    files = [config.root / name for name in _BESIDE if (config.root / name).is_file()]
    files += sorted(
        path
        for path in (config.root / config.source).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path)
    )
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in files:
            inside = f"{target.name.removesuffix('.tar.gz')}/{config.relative(path)}"
            about, content = tarfile.TarInfo(inside), path.read_bytes()
            about.size, about.mtime = len(content), int(published_at().timestamp())
            archive.addfile(about, io.BytesIO(content))
    target.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return target
