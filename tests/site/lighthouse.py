"""Score pages of a built site with Lighthouse, on a desktop and on a phone.

Usage: ``python tests/site/lighthouse.py [site [page…]]``; a page is a path such as ``ledger/``,
the front page when none is named. Needs npm, which fetches Lighthouse, and Chromium. Nothing fails:
the score for speed depends on how busy the machine is.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from conftest import CHROMIUM, CHROMIUM_OPTIONS, Server

LIGHTHOUSE = ["npx", "--yes", "lighthouse@13.5.0"]


def scores(url: str, device: str) -> dict[str, int]:
    """Return the scores of a page out of a hundred, by category."""
    chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
    flags = " ".join(["--headless=new", *(o for o in CHROMIUM_OPTIONS if " " not in o)])
    command = [*LIGHTHOUSE, url, "--quiet", "--output=json", f"--chrome-flags={flags}"]
    if device == "desktop":
        command.append("--preset=desktop")
    environment = {**os.environ, "CHROME_PATH": chromium or ""}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"Lighthouse did not run:\n{result.stderr}")
    categories = json.loads(result.stdout)["categories"]
    return {name: round(100 * (value["score"] or 0)) for name, value in categories.items()}


def main() -> None:
    """Print one line for each page and device."""
    site = Path(sys.argv[1] if len(sys.argv) > 1 else "site")
    with Server(site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for page in sys.argv[2:] or [""]:
            for device in ("desktop", "mobile"):
                found = scores(server.url + page, device)
                print(page or "/", device, *(f"{k} {v}" for k, v in found.items()), sep="  ")
        server.shutdown()


if __name__ == "__main__":
    main()
