"""Another book uses the engine from a wheel, where neither torch nor this book is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECOND = Path(__file__).with_name("second_book")
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "src")
OUTSIDE = ("CI", "PYTHONPATH", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY")


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={name: value for name, value in os.environ.items() if name not in OUTSIDE},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of a fresh environment into which the wheel was installed."""
    root = tmp_path_factory.mktemp("wheel").resolve()
    sources = root / "sources"
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        sources.mkdir(exist_ok=True)
        copy(ROOT / name, sources / name)
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    built = run(*pip, "wheel", "--no-deps", "--wheel-dir", root, sources, cwd=root)
    assert 0 == built.returncode, built.stdout
    (wheel,) = root.glob("*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", root / "environment", cwd=root)
    commands = root / "environment/bin"
    into = ("--python", commands / "python", "install", "--constraint", ROOT / "constraints.txt")
    done = run(*pip, *into, f"{wheel}[engine]", cwd=root)
    assert 0 == done.returncode, done.stdout
    return commands


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return shutil.copytree(SECOND, tmp_path.resolve() / "book")


def test_the_wheel_has_all_that_pages_need_and_no_torch(installed, book):
    code = "import driftproof, importlib.util; print(importlib.util.find_spec('torch'))"
    done = run(installed / "python", "-c", code, cwd=book)
    assert "None\n" == done.stdout
    for file in ("assets/serve.js", "assets/temml.min.js", "assets/TEMML-LICENSE"):
        assert list(installed.parent.glob(f"lib/python*/site-packages/driftproof/{file}")), file


def test_another_book_is_built_drifts_and_is_recorded(installed, book):
    build = (installed / "mkdocs", "build", "--quiet")
    built = run(*build, cwd=book)
    assert 0 == built.returncode, built.stdout
    html = (book / "site/index.html").read_text("utf-8")
    assert "<msqrt>" in html
    assert re.search(r'<data [^>]*value="0\.0238095[^>]*>.*?0\.024', html)

    page = book / "docs/index.md"
    page.write_text(page.read_text("utf-8").replace("(2, 3, 7)", "(2, 3, 8)"), "utf-8")
    drifted = run(*build, cwd=book)
    assert 1 == drifted.returncode
    assert (
        "docs/index.md:11: relative change 1.8e-2, and no tolerance is declared" in drifted.stdout
    )
    assert html == (book / "site/index.html").read_text("utf-8")

    recorded = run(installed / "driftproof", "record", cwd=book)
    assert 0 == recorded.returncode, recorded.stdout
    assert "\n0.9583\n" in page.read_text("utf-8")
    assert ">0.042</data>" in page.read_text("utf-8")
    assert 0 == run(*build, cwd=book).returncode
