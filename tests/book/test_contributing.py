"""The contributor's pages quote real messages: each example is checked and answered as they say.

An example is a four-tick `md` fence; the `text` fence after it, if it holds messages, is what a
check answers, and an example without one is right. A four-tick `text` fence lists single mistakes:
a line of code or the header of a fence, with its message under it, with or without the next step.
"""

from __future__ import annotations

import re
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from driftproof.check import check
from driftproof.config import Config, load

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs/contributing").glob("*.md"))
FENCE = re.compile(r"^(`{3,4})(\w+)([^\n`]*)\n(.*?)^\1$", re.DOTALL | re.MULTILINE)
MISTAKE = re.compile(r"^(\S.*)\n((?: {4}.*\n)+)", re.MULTILINE)
EXAMPLE = "docs/chapters/x.md"


def fences(page: Path) -> list[tuple[str, str, str, int]]:
    """Language behind four ticks or fewer, options, body and line of each fence of a page."""
    text = page.read_text("utf-8")
    return [
        (m[1] + m[2], m[3], m[4], text.count("\n", 0, m.start()) + 1) for m in FENCE.finditer(text)
    ]


def examples() -> list:
    found = []
    for page in PAGES:
        for (kind, _, body, line), after in pairwise([*fences(page), ("", "", "", 0)]):
            if kind == "````md":
                answer = after[2].rstrip("\n") if f"{EXAMPLE}:" in after[2] else ""
                found.append(pytest.param(body, answer, id=f"{page.stem}:{line}"))
    return found


def mistakes() -> list:
    return [
        pytest.param(m[1], re.sub(r"(?m)^ {4}", "", m[2]).rstrip("\n"), id=f"{page.stem}: {m[1]}")
        for page in PAGES
        for kind, _, body, _ in fences(page)
        if kind == "````text"
        for m in MISTAKE.finditer(body)
    ]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Config:
    root = tmp_path_factory.mktemp("project").resolve()
    shutil.copy(ROOT / "pyproject.toml", root)
    shutil.copytree(ROOT / "src/onehop", root / "src/onehop")
    for folder in ("docs/chapters", "snippets"):
        (root / folder).mkdir(parents=True)
    for _, options, body, _ in (fence for page in PAGES for fence in fences(page)):
        if title := re.search(r'title="(snippets/[^"]+)"', options):
            (root / title[1]).write_text(body, "utf-8")
    return load(root)


def answers(config: Config, page: str) -> list[str]:
    (config.root / EXAMPLE).write_text(page, "utf-8")
    return [str(problem) for problem in check(config, [EXAMPLE]).problems]


def test_the_pages_have_their_examples():
    assert len(examples()) >= 20
    assert len(mistakes()) >= 30


@pytest.mark.parametrize(("page", "answer"), examples())
def test_an_example_is_answered_as_the_page_says(project, page, answer):
    assert answer == "\n".join(answers(project, page))


@pytest.mark.parametrize(("line", "answer"), mistakes())
def test_a_mistake_is_answered_as_the_page_says(project, line, answer):
    page = f"```python\n{line}\n```\n"
    if line.startswith("```"):
        page = f"{line}\nx = 4\n```\n"
    if line.startswith("```output"):
        page = f"```python\nprint(4)\n```\n\n{line}\n4\n```\n"
    found = [re.sub(r"^\S+: |\n +\|.*", "", text) for text in answers(project, page)]
    whole = [text.replace("\n    ", "\n") for text in found]
    assert answer in [*whole, *(text.partition("\n")[0] for text in whole)]
