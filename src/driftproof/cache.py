"""Keeps runs by content, so that a page runs again only when something it depends on changed.

An entry is found by what the page asks to run; it is used if all that the run read is unchanged:
sources of imported modules, files, versions, environment variables. Failed runs are never kept.
"""

from __future__ import annotations

import dataclasses
import functools
import glob
import hashlib
import json
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from driftproof import machine
from driftproof.config import Config
from driftproof.confine import KERNELS
from driftproof.figures import Figure
from driftproof.observe import digest
from driftproof.page import Page
from driftproof.runner import Run, environment, steps_here

_ENTRIES_KEPT = 4
_FREE = ("root", "cache", "timeout", "notebooks", "online_only", "card_font")
"""Settings that change nothing in what a page prints."""


def key(config: Config, page: Page, expressions: list[str], device: str) -> str:
    """Return the name under which a run of this page is kept: everything but what it reads."""
    variables = environment(config, device)
    asked = {
        "runner": _tool(),
        "steps": [
            (b.number, b.code, b.file, b.options.get("raises")) for b in steps_here(page, device)
        ],
        "expressions": sorted(expressions),
        "settings": {n: v for n, v in dataclasses.asdict(config).items() if n not in _FREE},
        "kernels": {n: v for n, v in variables.items() if n.startswith(KERNELS)},
        "python": sys.version,
        "processor": machine.processor(),
        "device": device,
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32]


def load(config: Config, page: Page, expressions: list[str], device: str) -> Run | None:
    """Return the kept run of a page, or None where there is none that still holds."""
    path = _path(config, page, key(config, page, expressions, device))
    try:
        checksum, _, body = path.read_text("utf-8").partition("\n")
        if hashlib.sha256(body.encode()).hexdigest() != checksum:
            return None
        entry = json.loads(body)
    except (OSError, ValueError):
        return None
    if not _holds(config, entry, device):
        return None
    kept = entry["run"]
    return Run(
        outputs={int(n): text for n, text in kept["outputs"].items()},
        figures={int(n): Figure(**figure) for n, figure in kept["figures"].items()},
        values=kept["values"],
        files=kept["files"],
        modules=kept["modules"],
        variables=kept["variables"],
        seconds={int(n): seconds for n, seconds in kept["seconds"].items()},
    )


def store(config: Config, page: Page, expressions: list[str], device: str, run: Run) -> str:
    """Keep a run that succeeded; return what went wrong, "" if nothing did."""
    variables = environment(config, device)
    entry = {
        "distributions": machine.distributions(run.modules),
        "variables": {name: variables.get(name) for name in run.variables},
        "run": dataclasses.asdict(run),
    }
    body = json.dumps(entry)
    path = _path(config, page, key(config, page, expressions, device))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_aside(path, f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}".encode())
    except OSError as error:
        return f"cannot keep runs in {config.cache}/ ({error.strerror}); pages will run each time"
    with suppress(OSError):  # another build may prune at the same time
        _prune(path)
    return ""


def write_aside(path: Path, content: bytes) -> None:
    """Write a file under another name and move it into place, so that no half of it is seen."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _path(config: Config, page: Page, name: str) -> Path:
    slug = page.path.replace("/", "-").removesuffix(".md")
    return config.root / config.cache / "runs" / f"{slug}.{name}.json"


def _holds(config: Config, entry: dict[str, Any], device: str) -> bool:
    variables = environment(config, device)
    return (
        all(variables.get(name) == value for name, value in entry["variables"].items())
        and all(machine.version(name) == value for name, value in entry["distributions"].items())
        and all(
            _digest(config.root / name) == value for name, value in entry["run"]["files"].items()
        )
    )


def _digest(path: Path) -> str:
    try:
        status = path.stat()
        return _digest_of(path, status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError:
        return ""


@functools.lru_cache(maxsize=4096)
def _digest_of(path: Path, *_: int) -> str:
    return digest(str(path))


@functools.cache
def _tool() -> str:
    """Return a hash of the code that makes runs and keeps them."""
    here = Path(__file__).parent
    names = ("cache", "confine", "family", "figures", "observe", "runner", "worker")
    return hashlib.sha256(b"".join((here / f"{n}.py").read_bytes() for n in names)).hexdigest()


def _prune(path: Path) -> None:
    slug, key, _ = path.name.rsplit(".", 2)
    entries = path.parent.glob(f"{glob.escape(slug)}.{'?' * len(key)}.json")
    entries = sorted(entries, key=lambda p: p.stat().st_mtime_ns)
    for old in entries[:-_ENTRIES_KEPT]:
        old.unlink(missing_ok=True)
