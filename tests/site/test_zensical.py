"""The way out of Material for MkDocs: Zensical builds the same sources, and fails where they do.

`make test-zensical` installs Zensical and runs these tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEFT = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "build", "dist")
COUNTED = {
    "equations": r"<math[ >]",
    "executed blocks": r'class="driftproof-block"',
    "outputs": r'class="driftproof-output"',
    "figures": r'<figure class="driftproof-figure"',
    "bound numbers": r'<data class="driftproof-bound"',
    "objects of the reference": r'class="doc doc-object',
    "footnotes": r'class="footnote-ref"',
}
SMALL = """\
site_name: Book
markdown_extensions: [pymdownx.superfences, driftproof.mathematics, driftproof]
"""
PAGE = "# Page\n\n```python\nprint({code})\n```\n\n```output\n4\n```\n"

pytestmark = pytest.mark.zensical


def build(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a generator in `root`, with the sources that are tested."""
    source = root / "src" if (root / "src").is_dir() else ROOT / "src"
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(source), "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def counts(site: Path) -> dict[str, int]:
    html = "".join(page.read_text("utf-8") for page in sorted(site.rglob("*.html")))
    return {name: len(re.findall(pattern, html)) for name, pattern in COUNTED.items()}


def pages(site: Path) -> list[str]:
    return sorted(page.relative_to(site).as_posix() for page in site.rglob("*.html"))


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The site that MkDocs builds and the one that Zensical builds, of the same sources."""
    root = tmp_path_factory.mktemp("zensical").resolve()
    shutil.copytree(ROOT, root, ignore=LEFT, dirs_exist_ok=True)
    mkdocs = build(root, "mkdocs", "build", "-q", "-d", "by-mkdocs")
    assert 0 == mkdocs.returncode, mkdocs.stdout
    zensical = build(root, "zensical", "build")
    assert 0 == zensical.returncode, zensical.stdout
    return root / "by-mkdocs", root / "site"


def test_both_build_the_same_pages(sites):
    assert pages(sites[0]) == pages(sites[1])


def test_both_show_as_many_equations_blocks_numbers_and_objects(sites):
    expected = counts(sites[0])
    assert min(expected.values()) > 20, expected
    assert expected == counts(sites[1])


@pytest.mark.parametrize(
    ("code", "message"),
    [("4", ""), ("5", "docs/index.md:8:"), ("1 / 0", "ZeroDivisionError: division by zero")],
    ids=["agrees", "drifts", "fails"],
)
def test_a_block_that_does_not_hold_ends_the_build(tmp_path, code, message):
    root = tmp_path.resolve()
    (root / "docs").mkdir()
    (root / "docs/index.md").write_text(PAGE.format(code=code), "utf-8")
    (root / "mkdocs.yml").write_text(SMALL, "utf-8")
    (root / "pyproject.toml").write_text("[tool.driftproof]\n", "utf-8")
    done = build(root, "zensical", "build")
    assert bool(message) == (done.returncode != 0)
    assert message in done.stdout
    built = root / "site/index.html"
    assert not message or not built.exists() or "driftproof-block" not in built.read_text("utf-8")
