"""Keeps runs by content, block by block: what runs again is what something it read has changed for.

A kept run is found by its page and by the settings that every page sees; it serves a page whose
blocks are its first ones, as long as all that these read is unchanged: sources of imported modules,
files, versions, environment variables. Neither paths of this machine nor times are in it, so that
the folder can be copied to another. Failed runs are never kept.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from driftproof import machine
from driftproof.config import Config
from driftproof.confine import KERNELS
from driftproof.failure import Failure
from driftproof.figures import Figure
from driftproof.kept import write_aside
from driftproof.observe import digest_once
from driftproof.page import Block, Page
from driftproof.runner import environment, steps_here
from driftproof.runs import Read, Run

_RUNS_KEPT = 8
_FREE = ("root", "cache", "timeout", "notebooks", "online_only", "card_font")
"""Settings that change nothing in what a page prints."""


def settings(config: Config, device: str) -> str:
    """Return a hash of what every page can see: all but the page itself and what it reads."""
    variables = environment(config, device)
    seen = {
        "runner": _tool(),
        "settings": {n: v for n, v in vars(config).items() if n not in _FREE},
        "kernels": {n: v for n, v in variables.items() if n.startswith(KERNELS)},
        "python": sys.version,
        "processor": machine.processor(),
        "device": device,
        "accelerator": machine.accelerator() if device else "",
    }
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:16]


def chain(blocks: list[Block]) -> list[str]:
    """Return hashes of what has run before the first block, and at the end of each."""
    links = [""]
    for block in blocks:
        step = json.dumps([links[-1], block.code, block.file, block.options.get("raises")])
        links.append(hashlib.sha256(step.encode()).hexdigest()[:32])
    return links


def load(config: Config, page: Page, expressions: list[str], device: str) -> Run | None:
    """Return a kept run of a page's blocks that still holds and has the values of `expressions`."""
    blocks = steps_here(page, device)
    links = chain(blocks)
    for entry in _entries(config, page, device):
        steps = entry["steps"][: len(links)]
        values = entry["values"] if len(steps) == len(entry["steps"]) else steps[-1]["asked"]
        if (
            [step["link"] for step in steps] == links
            and values.keys() >= set(expressions)
            and _hold(config, steps, device)
        ):
            run = _run(blocks, steps)
            run.values = {text: values[text] for text in expressions}
            return run
    return None


def known(config: Config, page: Page, device: str) -> Run:
    """Return what kept runs tell of a page's first blocks, however few; without any values."""
    blocks = steps_here(page, device)
    links = chain(blocks)
    found: list[dict[str, Any]] = []
    for entry in _entries(config, page, device):
        steps = []
        for link, step in zip(links, entry["steps"], strict=False):
            if step["link"] != link or not _hold(config, [step], device):
                break
            steps.append(step)
        found = max(found, steps, key=len)
    return _run(blocks, found)


def store(config: Config, page: Page, device: str, run: Run) -> str:
    """Keep a run that succeeded; return what went wrong, "" if nothing did."""
    variables = environment(config, device)
    blocks = steps_here(page, device)
    steps: list[dict[str, Any]] = [
        {
            "link": link,
            "files": read.files,
            "modules": read.modules,
            "distributions": machine.distributions(read.modules),
            "variables": {name: variables.get(name) for name in read.variables},
            "asked": {},
        }
        for link, read in zip(chain(blocks), run.reads, strict=True)
    ]
    for block, step, asked in zip(blocks, steps[1:], run.asked, strict=True):
        figure = run.figures.get(block.number)
        step["output"], step["seconds"] = run.outputs[block.number], run.seconds[block.number]
        step["figure"] = dataclasses.asdict(figure) if figure else None
        step["asked"] = {t: value for t, value in asked.items() if not isinstance(value, Failure)}
    body = json.dumps({"steps": steps, "values": run.values})
    path = _folder(config, page) / f"{settings(config, device)}.{_name(steps)}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_aside(path, f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}".encode())
    except OSError as error:
        return f"cannot keep runs in {config.cache}/ ({error.strerror}); pages will run each time"
    for old in _kept(config, page)[:-_RUNS_KEPT]:
        old.unlink(missing_ok=True)
    return ""


def holds(config: Config, run: Run) -> bool:
    """Whether the project's files are as they were when a run of this process read them."""
    return all(digest_once(config.root / name) == value for name, value in run.files.items())


def conditions(config: Config, device: str, run: Run) -> dict[str, Any]:
    """Return all but the project's files under which this machine would make a run again."""
    variables = environment(config, device)
    return {
        "settings": settings(config, device),
        "distributions": machine.distributions(run.modules),
        "variables": {name: variables.get(name) for name in run.variables},
    }


def _run(blocks: list[Block], steps: list[dict[str, Any]]) -> Run:
    """Return the run that the kept steps tell of."""
    run = Run(reads=[Read(s["files"], s["modules"], [*s["variables"]]) for s in steps])
    for block, step in zip(blocks, steps[1:], strict=False):
        run.outputs[block.number] = step["output"]
        run.seconds[block.number] = step["seconds"]
        run.asked.append(step["asked"])
        if step["figure"]:
            run.figures[block.number] = Figure(**step["figure"])
    return run


def _entries(config: Config, page: Page, device: str) -> Iterator[dict[str, Any]]:
    """Yield the kept runs of a page, the newest first; a damaged one is none."""
    for path in reversed(_kept(config, page, settings(config, device))):
        with suppress(OSError, ValueError):
            checksum, _, body = path.read_text("utf-8").partition("\n")
            if hashlib.sha256(body.encode()).hexdigest() == checksum:
                yield json.loads(body)


def _kept(config: Config, page: Page, start: str = "") -> list[Path]:
    """Return the files of a page's kept runs whose names begin so, the oldest first."""
    folder, found = _folder(config, page), []
    with suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(start) and name.endswith(".json") and name[0] != ".":
                with suppress(OSError):  # another build may prune at the same time
                    found.append(((folder / name).stat().st_mtime_ns, folder / name))
    return [path for _, path in sorted(found)]


def _folder(config: Config, page: Page) -> Path:
    slug = page.path.replace("/", "-").removesuffix(".md")
    return config.root / config.cache / "runs" / slug


def _name(steps: list[dict[str, Any]]) -> str:
    """Return a hash of a run: of what ran and what was read, so that it is kept once."""
    parts = [[step["link"], step["files"], step["variables"]] for step in steps]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _hold(config: Config, steps: list[dict[str, Any]], device: str) -> bool:
    variables = environment(config, device)
    return all(
        all(variables.get(name) == value for name, value in step["variables"].items())
        and all(machine.version(name) == value for name, value in step["distributions"].items())
        and all(digest_once(config.root / name) == value for name, value in step["files"].items())
        for step in steps
    )


@functools.cache
def _tool() -> str:
    """Return a hash of the code that makes runs and keeps them."""
    here = Path(__file__).parent
    names = ("cache", "confine", "failure", "family", "figures", "freeze", "observe", "place",
             "reader", "runner", "runs", "warm", "worker")  # fmt: skip
    return hashlib.sha256(b"".join((here / f"{n}.py").read_bytes() for n in names)).hexdigest()
