"""Finding Chromium, and printing with it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from driftproof.problem import DriftproofError

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SECONDS = 600


def find_chromium() -> str:
    """Return the path of Chromium; "" where this machine has none."""
    return next((path for name in _NAMES if (path := shutil.which(name))), "")


def print_page(page: Path, target: Path) -> None:
    """Print an HTML file as a tagged PDF with an outline.

    Raises:
        DriftproofError: There is no Chromium, or it wrote nothing.
    """
    with tempfile.TemporaryDirectory(prefix="driftproof-chromium-") as profile:
        done = subprocess.run(
            [
                find_chromium() or _NAMES[0],
                "--headless",
                "--no-sandbox",  # it reads one file, which is ours; root has no sandbox
                "--disable-gpu",
                "--disable-background-networking",
                "--allow-file-access-from-files",  # fonts
                "--no-pdf-header-footer",
                "--generate-pdf-document-outline",
                "--virtual-time-budget=60000",
                f"--user-data-dir={profile}",
                f"--print-to-pdf={target}",
                page.resolve().as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    if not target.is_file():
        message = f"Chromium printed no PDF:\n{done.stderr.strip()[-2000:]}"
        raise DriftproofError("no-pdf", message, "see what it says, and print the page by hand")
