"""The line in a page's front matter that says with what its outputs were recorded."""

from __future__ import annotations

import ast
import datetime
import math
import re

from driftproof.config import Config
from driftproof.grammar import FRONT_MATTER
from driftproof.machine import Machine
from driftproof.page import Page
from driftproof.runs import Run

_LINE = re.compile(r"^recorded: *(?P<stamp>.*)$", re.MULTILINE)
_SECONDS = re.compile(r"([\d.]+) CPU s\b")
_DAY = re.compile(r"\d{4}-\d\d-\d\d$")
_VERSION = re.compile(r"([\w.-]+) (\d[\w.+-]*)")


def recorded(page: Page) -> tuple[int, str] | None:
    """Return the index of the stamp's line and the stamp, or None where there is none."""
    front = FRONT_MATTER.match("\n".join(page.lines))
    match = _LINE.search(front.group(0)) if front else None
    return (
        (front.group(0).count("\n", 0, match.start()), match["stamp"]) if front and match else None
    )


def stamp(config: Config, page: Page, run: Run, at: Machine) -> str:
    """Return versions, processor, threads, CPU seconds and date of a run made now."""
    versions = at.distributions(_imported(config, page, run))
    known = [f"Python {at.version('Python')}", *(f"{n} {v}" for n, v in versions.items())]
    threads = config.environment.get("OMP_NUM_THREADS") or str(at.cores)
    plural = "thread" if threads == "1" else "threads"
    seconds = math.ceil(10 * sum(run.seconds.values())) / 10
    where = f"{at.processor}, {threads} {plural}, {seconds} CPU s"
    return f"{', '.join(known)}; {where}; {datetime.date.today().isoformat()}"


def cpu_seconds(page: Page) -> str:
    """Return the CPU seconds that the page's blocks took when it was recorded, "" if unknown."""
    return _found(_SECONDS, page, 1)


def day(page: Page) -> str:
    """Return the day on which the page was recorded, "" if it never was."""
    return _found(_DAY, page, 0)


def versions_now(page: Page, at: Machine) -> dict[str, str]:
    """Return the distributions that the page was recorded with, in the versions of now."""
    return {name: at.version(name) for name in versions(page)}


def drifted_versions(page: Page, at: Machine) -> list[str]:
    """Say which distributions have another version now than when the page was recorded."""
    now = versions_now(page, at)
    return [
        f"recorded with {name} {version}, ran with {name} {now[name] or '(missing)'}"
        for name, version in versions(page).items()
        if now[name] != version
    ]


def versions(page: Page) -> dict[str, str]:
    """Return the distributions that the page was recorded with, {} if it never was."""
    found = recorded(page)
    return dict(_VERSION.findall(found[1].partition(";")[0])) if found else {}


def _found(pattern: re.Pattern[str], page: Page, group: int) -> str:
    found = recorded(page)
    match = pattern.search(found[1]) if found else None
    return match[group] if match else ""


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
    own = {path.stem for path in (config.root / config.source).glob("*")}
    return names - own
