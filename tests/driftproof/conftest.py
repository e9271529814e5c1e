"""A tiny project to check and record, with nothing to preload and nothing in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driftproof.check import check
from driftproof.config import Config, load
from driftproof.grammar import parse_page
from driftproof.page import Page
from driftproof.problem import Problem
from driftproof.record import Recording, record
from driftproof.results import Report

PAGE = "docs/page.md"
SITE = """\
site_name: Book
theme: {name: null, custom_dir: theme}
plugins:
  - markdown-exec: {ansi: "off", languages: [python]}
  - driftproof
validation: {omitted_files: warn, absolute_links: warn, unrecognized_links: warn, anchors: warn}
markdown_extensions:
  - admonition
  - attr_list
  - md_in_html
  - tables
  - pymdownx.details
  - pymdownx.highlight
  - pymdownx.snippets: {base_path: [snippets], check_paths: true}
  - pymdownx.superfences
  - pymdownx.tabbed: {alternate_style: true}
  - driftproof.mathematics
"""
TEMPLATE = """\
<!doctype html><html><head><title>{{ config.site_name }}</title></head><body>
<nav>{% for item in page.toc %}[{{ item.title }}]{% endfor %}</nav>
<article>{{ page.content }}</article></body></html>
"""


class Project:
    """A project in a temporary folder; paths are relative to it, the page is docs/page.md."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.configure()
        for folder in ("docs", "snippets", "src"):
            (self.root / folder).mkdir()

    def configure(self, **settings: Any) -> None:
        """Write pyproject.toml with these settings, which replace those before."""
        lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        self.write("pyproject.toml", "\n".join(["[tool.driftproof]", *lines, ""]))

    def add_site(self, settings: str = SITE) -> None:
        """Write mkdocs.yml and a theme of one template."""
        self.write("mkdocs.yml", settings)
        self.write("theme/main.html", TEMPLATE)

    def add_failing(self, **settings: Any) -> None:
        """Copy the pages that fail, each in its own way, into the project."""
        shutil.copytree(Path(__file__).parent / "failing", self.root, dirs_exist_ok=True)
        self.write("src/broken.py", "first = 1\nsecond = = 2\n")
        self.configure(max_output=20_000, **settings)

    def command(
        self, module: str, *arguments: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `python -m module` here; output and errors are in `stdout`."""
        return subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=self.root,
            env=_outside(variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )

    @property
    def config(self) -> Config:
        """The settings as pyproject.toml has them now."""
        return load(self.root)

    def write(self, path: str, text: str) -> str:
        """Write a file, with the line endings that `text` has; return its path."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return path

    def read(self, path: str = PAGE) -> str:
        """Return a file's text with its line endings."""
        return (self.root / path).read_bytes().decode()

    def parse(self, text: str | None = None, path: str = PAGE) -> Page:
        """Parse a page, after writing `text` into it where one is given."""
        if text is not None:
            self.write(path, text)
        return parse_page(self.config, path)

    def problems(self, text: str, path: str = PAGE) -> list[Problem]:
        """Return what parsing a page that holds `text` finds wrong with it."""
        return self.parse(text, path).problems

    def check(self, *paths: str, **options: Any) -> Report:
        """Check pages, all by default."""
        return check(self.config, paths or None, **options)

    def record(self, *paths: str, **options: Any) -> Recording:
        """Record pages, all by default."""
        return record(self.config, paths or None, **options)


def _outside(variables: dict[str, str]) -> dict[str, str]:
    """Return the variables of a terminal, not of a test or of continuous integration."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("PYTEST_", "GITHUB_"))}
    kept.pop("CI", None)
    return kept | {"PYTHONDONTWRITEBYTECODE": "1"} | variables


@pytest.fixture(scope="session", autouse=True)
def _as_from_a_terminal() -> Iterator[None]:
    """Run pages as they run where Python lets C buffer what it prints."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CI", "GITHUB_ACTIONS", "PYTHONUNBUFFERED"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session")
def new_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Project]:
    """Make a project that several tests share."""
    return lambda: Project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="session")
def new_outside() -> Iterator[Callable[[], Path]]:
    """Make a folder in which pages can leave a trace: shared memory stays open to them."""
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        yield lambda: Path(tempfile.mkdtemp(dir=folder))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project without pages; recording is allowed even where these tests run under CI."""
    for name in ("CI", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    return Project(tmp_path)
