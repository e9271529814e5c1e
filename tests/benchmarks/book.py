"""Write a book to measure: ``python tests/benchmarks/book.py FOLDER --chapters 12 --kind full``.

A full chapter is a chapter of a real book: eight blocks that compute for most of a second, a
figure, a table, bound numbers, mathematics, fifteen hundred words. A light one is three blocks of
arithmetic and three hundred words. The outputs are recorded by `driftproof record`, so that the
book is right when it has been written.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prose import Prose

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

OWN_REACH = """\
def reach(steps):
    return 0.94**steps
"""
MODULE = '''\
"""{text}"""

FACTOR = 0.95


def reach(steps):
    """What is left after some steps."""
    return FACTOR**steps
'''
STATE = '''\
"""One known state before each page."""

import torch


def clean():
    torch.manual_seed(0)
    torch.set_num_threads(1)
'''
SPECTRUM = '''\
import numpy as np


# --8<-- [start: largest]
def largest(matrix, rounds):
    """Largest singular value, by repeated multiplication."""
    vector = np.ones(len(matrix))
    for _ in range(rounds):
        vector = matrix.T @ (matrix @ vector)
        vector /= np.linalg.norm(vector)
    return float(np.linalg.norm(matrix @ vector))
# --8<-- [end: largest]
'''
LICENSE = "*This text stands at the end of every chapter and in one file.*\n"
SETTINGS = """\
[tool.driftproof]
docs = "docs"
snippets = "snippets"
source = "src"
preload = {preload}
clean_state = "{clean_state}"

[tool.driftproof.environment]
MPLBACKEND = "agg"
MKL_NUM_THREADS = "1"
OMP_NUM_THREADS = "1"
OPENBLAS_NUM_THREADS = "1"

[tool.pytest]
addopts = ["--import-mode=importlib", "--markdown-docs"]
testpaths = ["docs"]
"""


@dataclass(frozen=True)
class Spec:
    """Which book.

    Attributes:
        chapters: How many it has.
        kind: "full" or "light".
        slow: Whether it has a page whose last block waits for seconds of computing before it.
    """

    chapters: int
    kind: str
    slow: bool = False

    @property
    def edited(self) -> int:
        """The chapter in which sentences and blocks are edited; no module of others is in it."""
        return next(n for n in range(max(1, self.chapters // 2), self.chapters + 1) if n % 3 == 1)

    @property
    def importing(self) -> list[int]:
        """The chapters that import the shared module."""
        return [n for n in range(1, self.chapters + 1) if n % 3 == 2]


def name(number: int) -> str:
    """Return the name of a chapter."""
    return f"chapter-{number:04}"


def write(folder: Path, spec: Spec) -> None:
    """Write the sources of a book, with nothing recorded yet."""
    for path, text in files(spec):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


def record(folder: Path) -> None:
    """Record what the blocks print.

    Raises:
        RuntimeError: Something cannot be recorded.
    """
    command = [sys.executable, "-m", "driftproof.cli", "record"]
    variables = {n: v for n, v in os.environ.items() if n not in ("CI", "GITHUB_ACTIONS")}
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{folder} cannot be recorded:\n{done.stdout[-2000:]}\n{done.stderr}")


def files(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file."""
    is_full = spec.kind == "full"
    modules = ["torch", "numpy", "matplotlib.figure", "matplotlib.backends.backend_svg"]
    preload = str(modules if is_full else []).replace("'", '"')
    clean_state = "known:clean" if is_full else ""
    yield "pyproject.toml", SETTINGS.format(preload=preload, clean_state=clean_state)
    yield "src/common.py", MODULE.format(text="What every third chapter imports.")
    yield "src/only.py", MODULE.format(text="What one chapter imports.")
    if is_full:
        yield "src/known.py", STATE
    yield "snippets/spectrum.py", SPECTRUM
    yield "snippets/license.md", LICENSE
    yield "docs/index.md", _index(spec)
    template = (HERE / f"pages/{spec.kind}.md").read_text("utf-8")
    for number in range(1, spec.chapters + 1):
        yield f"docs/chapters/{name(number)}.md", _filled(template, number, spec)
    if spec.slow:
        yield "docs/slow.md", _filled((HERE / "pages/slow.md").read_text("utf-8"), 0, spec)


def _index(spec: Spec) -> str:
    """Return the front page, which shows numbers of three chapters."""
    prose = Prose("index")
    chapters = dict.fromkeys(spec.importing[:1], "far")
    chapters |= dict.fromkeys((spec.edited, spec.chapters), "share")
    link = '- [One chapter](chapters/{0}.md) says <data value="{0}:{1}">0.500000</data>.'
    lines = [link.format(name(n), value) for n, value in chapters.items()]
    return "\n\n".join(
        ["# A book to measure { #top }", prose.paragraph(), "\n".join(lines), prose.paragraph(), ""]
    )


def _filled(template: str, number: int, spec: Spec) -> str:
    """Return a chapter: the template with prose of its own."""
    prose = Prose(f"{spec.kind} {number}")
    others = [(number * step + 1) % spec.chapters + 1 for step in (1, 3, 7, 11)]
    links = iter(others * 2)

    def text(match: re.Match[str]) -> str:
        match match[1]:
            case "title":
                return prose.title()
            case "seed":
                return str(1000 + number)
            case "opening":
                return f"This chapter is about the {prose.thing()} of the {prose.thing()}."
            case "sentence":
                return prose.sentence()
            case "prose":
                return prose.paragraph()
            case "link":
                return f"See [the {prose.thing()}]({name(next(links))}.md#top) for the rest."
            case "reach":
                return _reach(number).rstrip()
            case unknown:
                raise ValueError(f"@{unknown}@ means nothing in a page")

    return re.sub(r"@(\w+)@", text, template)


def _reach(number: int) -> str:
    if number % 3 == 2:
        return "from common import reach"
    return "from only import reach" if number == 1 else OWN_REACH


def settings(spec: Spec, plugins: str, extensions: str) -> str:
    """Return mkdocs.yml: the theme, the navigation and the extensions of a real book."""
    names = [name(n) for n in range(1, spec.chapters + 1)]
    nav = ["  - index.md", *(["  - slow.md"] if spec.slow else [])]
    for start in range(0, len(names), 20):
        nav.append(f"  - Part {start // 20 + 1}:")
        nav += [f"      - chapters/{each}.md" for each in names[start : start + 20]]
    text = (HERE / "pages/mkdocs.yml").read_text("utf-8")
    for mark, value in (("NAV", "\n".join(nav)), ("PLUGINS", plugins), ("EXTENSIONS", extensions)):
        text = text.replace(f"# {mark}", value.rstrip())
    return text


def main() -> None:
    """Write a book that `mkdocs build`, `mkdocs serve` and `driftproof` take as it is."""
    from forms import DRIFTPROOF

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chapters", type=int, default=12)
    parser.add_argument("--kind", choices=["full", "light"], default="full")
    parser.add_argument("--slow", action="store_true", help="add a page that computes for seconds")
    options = parser.parse_args()
    if options.folder.exists() and any(options.folder.iterdir()):
        sys.exit(f"{options.folder} is not empty; name a folder that does not exist")
    spec = Spec(options.chapters, options.kind, options.slow)
    write(options.folder, spec)
    (options.folder / "mkdocs.yml").write_text(DRIFTPROOF.settings(spec), "utf-8")
    record(options.folder)
    print(f"wrote {options.folder}: build it with `mkdocs build` in there")


if __name__ == "__main__":
    main()
