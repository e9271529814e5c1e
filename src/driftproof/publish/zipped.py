"""Zip files that are the same bytes for the same content."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

from driftproof.publish.book import published_at


def write_zip(target: Path, files: Mapping[str, bytes]) -> Path:
    """Write files by name, in order, under one date; what is named `mimetype` is not packed."""
    date = published_at().timetuple()[:6]
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            about = zipfile.ZipInfo(name, date)
            about.external_attr = 0o644 << 16
            about.create_system = 3  # whatever system this is
            packed = name != "mimetype"
            about.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
            archive.writestr(about, content)
    return target
