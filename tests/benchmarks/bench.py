"""Measure the project against plain MkDocs Material and stock markdown-exec.

Usage: ``make bench``, or ``make bench SIZES="12" REPEATS=3`` for a few minutes. Nothing else should
run on the machine. Needs Linux and no network. A run of all sizes writes its tables to
docs/contributing/speed.md; a smaller one prints them.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import builds
import serving
import table
from book import ROOT, Spec
from forms import DRIFTPROOF, EXECUTED, PLAIN

SIZES = (12, 50, 200, 1000)
FULL = 12
"""The size of the book of full chapters; others have light ones."""
OFTEN = 200
"""Books up to this size are built more than once."""
RESULTS = ROOT / ".benchmarks/results.json"
PAGE = ROOT / "docs/contributing/speed.md"
_PART = re.compile(r"(?<=<!-- measured -->\n).*(?=<!-- end -->)", re.DOTALL)


def main() -> None:
    """Measure, keep what was measured, and show it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="chapters")
    parser.add_argument("--repeats", type=int, default=5, help="of the smallest book; default 5")
    parser.add_argument("--render", action="store_true", help="write the page from the last run")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # A shell that starts this in the background has it ignored, and so would each server be.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what is compiled once is kept, as usual
    if not options.render:
        found = {"stamp": stamp(), "records": _measured(options.sizes, options.repeats)}
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(found))
    found = json.loads(RESULTS.read_text())
    text = rendered(found)
    if options.render or {*options.sizes} >= {*SIZES}:
        PAGE.write_text(_PART.sub(lambda _: text, PAGE.read_text("utf-8")), "utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
    else:
        print(text)


def rendered(found: dict[str, Any]) -> str:
    """Return the tables of a run, with its stamp."""
    m = table.Measured(found["records"])
    parts = (
        f"Measured on {found['stamp']}.",
        table.targets(m),
        "CPU seconds: the median, and least to most; the ratio is that to plain MkDocs.",
        table.seconds(m, "cpu"),
        "Seconds that pass:",
        table.seconds(m, "wall"),
        "Megabytes, the largest process / all of them together:",
        table.memory(m),
        table.wrong(m),
    )
    return "\n" + "\n\n".join(parts) + "\n\n"


def stamp() -> str:
    """Return processor, cores, versions, date and commit."""
    described = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    model = re.search(r"^model name\s*: (.*)$", described, re.MULTILINE)
    processor = f"{model[1]}, " if model else ""
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}"
        for name in ("mkdocs", "mkdocs-material", "markdown-exec", "torch")
    )
    commit = _git("rev-parse", "--short", "HEAD") + (
        " with changes" if _git("status", "--porcelain", "--untracked-files=no") else ""
    )
    return (
        f"{processor}{platform.machine()}, {os.cpu_count()} cores; "
        f"Python {platform.python_version()}, {versions}; "
        f"{datetime.date.today().isoformat()}, commit {commit}"
    )


def _measured(sizes: list[int], repeats: int) -> list[dict[str, Any]]:
    """Measure the books one after the other, in a folder that does not outlive them."""
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.0f} s {text}", file=sys.stderr, flush=True)

    records = []
    with tempfile.TemporaryDirectory(prefix="benchmark-") as place:
        for size in sizes:  # all stays there to the end: see Shelf.put_aside
            kind = "full" if size == FULL else "light"
            turns = repeats if size == FULL else min(repeats, 3) if size <= OFTEN else 1
            fewer = max(1, turns - 2)  # where a turn takes long: what runs every block, and serving
            say(f"writing and recording {size} {kind} chapters")
            shelf = builds.Shelf(Path(place, f"{size}"), Spec(size, kind))
            often = {DRIFTPROOF: turns, PLAIN: turns, EXECUTED: fewer}
            records += builds.measure(shelf, often, say)
            if kind == "full":
                spec = Spec(size, kind, slow=True)
                shelf = builds.Shelf(Path(place, f"{size}-served"), spec, names=serving.EDITS)
                served = {DRIFTPROOF: fewer, PLAIN: fewer, EXECUTED: 1}
                records += serving.measure(shelf, served, say)
    return records


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


if __name__ == "__main__":
    main()
