"""The line in a page's front matter that says with what its outputs were recorded."""

from __future__ import annotations

import ast
import datetime
import os
import platform
import re

from driftproof import machine
from driftproof.config import Config
from driftproof.grammar import FRONT_MATTER
from driftproof.page import Page
from driftproof.runner import Run

_LINE = re.compile(r"^recorded: *(?P<stamp>.*)$", re.MULTILINE)
_VERSION = re.compile(r"([\w.-]+) (\d[\w.+-]*)")


def recorded(page: Page) -> tuple[int, str] | None:
    """Return the index of the stamp's line and the stamp, or None where there is none."""
    front = FRONT_MATTER.match("\n".join(page.lines))
    match = _LINE.search(front.group(0)) if front else None
    return (
        (front.group(0).count("\n", 0, match.start()), match["stamp"]) if front and match else None
    )


def stamp(config: Config, page: Page, run: Run) -> str:
    """Return versions, processor, threads and date of a run made now."""
    versions = machine.distributions(_imported(config, page, run))
    known = [f"Python {platform.python_version()}", *(f"{n} {v}" for n, v in versions.items())]
    threads = config.environment.get("OMP_NUM_THREADS") or str(os.cpu_count())
    plural = "thread" if threads == "1" else "threads"
    where = f"{machine.processor()}, {threads} {plural}"
    return f"{', '.join(known)}; {where}; {datetime.date.today().isoformat()}"


def drifted_versions(page: Page) -> list[str]:
    """Say which distributions have another version now than when the page was recorded."""
    found = recorded(page)
    versions = dict(_VERSION.findall(found[1].partition(";")[0])) if found else {}
    now = {name: machine.version(name) for name in versions if name != "Python"}
    now["Python"] = platform.python_version()
    return [
        f"recorded with {name} {version}, ran with {name} {now[name] or '(missing)'}"
        for name, version in versions.items()
        if now[name] != version
    ]


def _imported(config: Config, page: Page, run: Run) -> set[str]:
    """Return the top-level modules that the page and the project's modules it read import."""
    trees = [block.tree for block in page.running]
    tool = f"{config.source}/driftproof/"
    files = [f for f in run.files if f.endswith(".py") and not f.startswith(tool)]
    trees += [ast.parse((config.root / file).read_text("utf-8")) for file in files]
    names = set()
    for node in (node for tree in trees if tree for node in ast.walk(tree)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    own = {path.stem for path in (config.root / config.source).iterdir()}
    return names - own
