"""A small book that authors edit, and builds of it: warm, and cold in another place."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
_SPEC = importlib.util.spec_from_file_location("edits", HERE / "edits.py")
assert _SPEC
assert _SPEC.loader
edits: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(edits)
MADE = ("site", ".driftproof", "__pycache__")
_VARIES = (
    (re.compile(r"\d+ ran, \d+ from cache"), "some ran"),
    (re.compile(r"^(?:DEBUG|INFO) .*\n", re.MULTILINE), ""),
)
"""What two right builds may say differently."""


@dataclass(frozen=True)
class Built:
    """What a command did.

    Attributes:
        code: Its exit status.
        said: What it said, without what may differ.
        log: What it said.
    """

    code: int
    said: str
    log: str


class Zygote:
    """The process that all commands of these tests are forked from."""

    def __init__(self, temporary: Path) -> None:
        self.temporary = temporary
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("PYTEST_", "GITHUB_"))}
        kept.pop("CI", None)
        variables = {
            "NO_MKDOCS_2_WARNING": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "SOURCE_DATE_EPOCH": "1700000000",
            "TMPDIR": str(temporary),
        }
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "zygote.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=kept | variables,
            text=True,
        )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def start(self, folder: Path, *arguments: str) -> int:
        """Begin a command; return the number of its process."""
        assert self._process.stdin
        assert self._process.stdout
        self._log = folder.with_name(f"{folder.name}.log")
        print(json.dumps([str(folder), arguments, str(self._log)]), file=self._process.stdin)
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def end(self, folder: Path) -> Built:
        """Wait until the command has ended."""
        assert self._process.stdout
        code = int(self._process.stdout.readline())
        log = self._log.read_text().replace(str(folder), "ROOT")
        said = log
        for pattern, same in _VARIES:
            said = pattern.sub(same, said)
        return Built(code, said, log)

    def run(self, folder: Path, *arguments: str) -> Built:
        """Run a command to its end."""
        self.start(folder, *arguments)
        return self.end(folder)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(30)


class Book:
    """A book that is edited in one folder, and built without any cache in another."""

    def __init__(self, root: Path, zygote: Zygote, kind: str) -> None:
        self.root, self.zygote = root / "warm", zygote
        self.cold = root / "cold"
        self.style = "write"
        shutil.copytree(HERE / kind, self.root)

    def path(self, name: str) -> Path:
        """Return the path of a file."""
        return self.root / name

    def read(self, name: str) -> str:
        """Return the text of a file."""
        return self.path(name).read_text()

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.style == "rename":
            path.with_name(".saved").write_text(text)
            path.with_name(".saved").replace(path)
            return
        if self.style == "delete":
            path.unlink(missing_ok=True)
        path.write_text(text)

    def replace(self, name: str, old: str, new: str) -> None:
        """Replace a text, which must be there, in a file."""
        text = self.read(name)
        assert old in text, (name, old)
        self.write(name, text.replace(old, new, 1))

    def build(self, *flags: str) -> Built:
        """Build the book as it is, with all that is known from before."""
        return self.zygote.run(self.root, "mkdocs", "build", *(flags or ("-q",)))

    def build_cold(self, *flags: str) -> Built:
        """Build the same sources with nothing known."""
        self.copy()
        return self.zygote.run(self.cold, "mkdocs", "build", *(flags or ("-q",)))

    def converted(self, *flags: str) -> set[str]:
        """Build warm and cold, and return the pages that were converted for the warm one."""
        before = self._contents()
        assert 0 == self.agrees(*flags).code
        return {name for name, _ in self._contents() - before}

    def _contents(self) -> set[tuple[str, int]]:
        entries = self.root.glob(".driftproof/pages/*/content.*")
        return {(entry.parent.name, entry.stat().st_mtime_ns) for entry in entries}

    def copy(self) -> None:
        """Copy the sources, and nothing that was made of them."""
        shutil.rmtree(self.cold, ignore_errors=True)
        shutil.copytree(self.root, self.cold, ignore=shutil.ignore_patterns(*MADE), symlinks=True)

    def record(self) -> Built:
        """Accept what the blocks print."""
        return self.zygote.run(self.root, "driftproof", "record")

    def site(self) -> dict[str, bytes]:
        """Return the files of the site."""
        return contents(self.root / "site")

    def sources(self) -> dict[str, bytes]:
        """Return the files of the book that were not made by a build."""
        found = contents(self.root)
        return {n: text for n, text in found.items() if not set(MADE) & set(n.split("/"))}

    def agrees(self, *flags: str) -> Built:
        """Build warm and cold, and see that both say and make the same; return the warm one."""
        before = self.site()
        warm, cold = self.build(*flags), self.build_cold(*flags)
        assert cold.said.splitlines() == warm.said.splitlines(), flags
        assert cold.code == warm.code
        found = self.site()
        if warm.code == 0 or found != before:  # drift leaves the site, a dead link empties it
            differences(contents(self.cold / "site"), found)
        return warm


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder by their names in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def differences(wanted: dict[str, bytes], found: dict[str, bytes]) -> None:
    """Fail with the first lines that differ between two sites."""
    assert sorted(wanted) == sorted(found)
    for name, content in wanted.items():
        if content != found[name]:
            assert content.splitlines() == found[name].splitlines(), name


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    """The process that has imported what every build needs."""
    process = Zygote(tmp_path_factory.mktemp("temporary"))
    yield process
    process.close()


@pytest.fixture(scope="session")
def new_book(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Book]:
    """Make a book of its own."""
    return lambda kind="book": Book(tmp_path_factory.mktemp(kind), zygote, kind)


@pytest.fixture
def book(new_book: Callable[..., Book]) -> Book:
    """A book that has been built."""
    made = new_book()
    built = made.build()
    assert 0 == built.code, built.log
    return made


@pytest.fixture
def light(new_book: Callable[..., Book]) -> Book:
    """A book of three pages, in which nothing runs, that has been built."""
    made = new_book("light")
    built = made.build()
    assert 0 == built.code, built.log
    return made


@pytest.fixture
def new_author(book: Book) -> Callable[..., Any]:
    """Make someone who edits the book as a seed decides."""
    return lambda seed, *never: edits.Author(book, seed, never)


@pytest.fixture(name="differences")
def _differences() -> Callable[..., None]:
    """Fail where two sites differ."""
    return differences
