"""`make new` begins a chapter that holds: it is checked, built and linted as the book is."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("new_chapter", ROOT / "snippets/new_chapter.py")
assert SPEC is not None
assert SPEC.loader is not None
new_chapter: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(new_chapter)

SLUG, TITLE = "my-own-question", "My own question: how far?"
PAGE = f"docs/chapters/{SLUG}.md"
TESTS = ("tests/book/test_pages.py", "tests/book/test_mutations.py")
LEFT = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "build", "dist")


def copy_of_the_book(root: Path) -> Path:
    """The book and the runs that were kept."""
    shutil.copytree(ROOT, root, ignore=LEFT, dirs_exist_ok=True)
    return root


def run(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the copy, with the copy's own sources."""
    variables = {n: v for n, v in os.environ.items() if n != "CI" and "PYTEST" not in n}
    path = os.pathsep.join([str(root / "src"), variables.get("PYTHONPATH", "")]).strip(os.pathsep)
    tools = f"{Path(sys.executable).parent}{os.pathsep}{variables['PATH']}"
    return subprocess.run(
        command,
        cwd=root,
        env=variables | {"PYTHONPATH": path, "PATH": tools, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A copy of the book with a new chapter, and what beginning it said."""
    root = copy_of_the_book(tmp_path_factory.mktemp("book").resolve())
    done = run(root, sys.executable, "snippets/new_chapter.py", SLUG, TITLE)
    assert 0 == done.returncode, done.stdout
    return root, done.stdout


def test_it_says_what_it_wrote_and_what_is_left_to_do(begun):
    written = begun[1].split("\n", 1)[1]
    assert written.startswith(f"wrote {PAGE}, docs/index.md, docs/reproducibility.md, mkdocs.yml")
    assert "move its line in mkdocs.yml" in begun[1]


def test_the_navigation_gains_one_line_and_changes_nowhere_else(begun):
    before = (ROOT / "mkdocs.yml").read_bytes().splitlines(keepends=True)
    after = (begun[0] / "mkdocs.yml").read_bytes().splitlines(keepends=True)
    line = f"      - chapters/{SLUG}.md\n".encode()
    assert 1 == after.count(line)
    assert re.match(rb"      - chapters/", after[after.index(line) - 1])
    after.remove(line)
    assert before == after


def test_the_new_chapter_fits_the_book_and_the_book_still_holds(begun):
    done = run(begun[0], sys.executable, "-m", "driftproof.cli", "check")
    assert 0 == done.returncode, done.stdout
    assert done.stdout.endswith("no problems\n")


def test_the_new_chapter_meets_the_tests_of_a_chapter(begun):
    chosen = f"{SLUG} or navigation or numbers_to_change"
    done = run(begun[0], sys.executable, "-m", "pytest", "-q", "-k", chosen, *TESTS)
    assert 0 == done.returncode, done.stdout
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) >= 6


def test_the_new_chapter_is_published_with_sound_links(begun):
    root = begun[0]
    built = run(root, sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", "site")
    assert 0 == built.returncode, built.stdout
    html = (root / "site/chapters" / SLUG / "index.html").read_text("utf-8")
    assert TITLE in html
    assert 4 == html.count('class="driftproof-block"')
    links = run(root, sys.executable, "tests/site/check_links.py", "site")
    assert 0 == links.returncode, links.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "format", "--check", PAGE),
        ("ruff", "check", PAGE),
        ("rumdl", "check", PAGE),
        ("typos", PAGE),
    ],
    ids=" ".join,
)
def test_the_new_chapter_is_clean(begun, command):
    done = run(begun[0], *command)
    assert 0 == done.returncode, done.stdout


REFUSED = [
    ("", "", "both names are needed"),
    ("a", " ", "both names are needed"),
    ("My Question", "T", "use lower-case letters, digits and single hyphens"),
    ("My Question", "T", "begin with a letter, such as 'my-question'"),
    ("2-cells", "T", "such as 'cells'"),
    ("../escape", "T", "such as 'escape'"),
    ("the-clock", "T", "docs/chapters/the-clock.md has this name already"),
    ("glossary", "T", "docs/glossary.md has this name already"),
    ("one", "A $title$", "use words and plain punctuation, on one line"),
    ("one", "A\ntitle", "use words and plain punctuation, on one line"),
    ("one", "{slug}", "use words and plain punctuation, on one line"),
]  # fmt: skip


@pytest.mark.parametrize(("slug", "title", "message"), REFUSED)
def test_names_that_cannot_be_are_refused_and_nothing_is_written(begun, slug, title, message):
    root = begun[0]
    before = {path: path.read_bytes() for path in [*root.glob("docs/**/*.md"), root / "mkdocs.yml"]}
    done = run(root, sys.executable, "snippets/new_chapter.py", slug, title)
    assert 1 == done.returncode
    assert done.stdout.startswith("make new: ")
    assert message in done.stdout
    assert before == {path: path.read_bytes() for path in before}
    assert before.keys() == {*root.glob("docs/**/*.md"), root / "mkdocs.yml"}


def test_line_endings_of_the_navigation_are_kept():
    before = b"nav:\r\n  - chapters/a.md\r\n  # why\r\n  - chapters/b.md # last\r\n"
    after = b"  - end.md\r\n"
    expected = before + b"  - chapters/c.md\r\n" + after
    assert expected == new_chapter.with_chapter(before + after, "c")
    with pytest.raises(new_chapter.RefusedError, match=r"no line `- chapters/….md`"):
        new_chapter.with_chapter(b"nav:\n  - index.md\n", "c")
