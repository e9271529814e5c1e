"""Every page is reachable, every public object is in the reference, every block runs."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import driftproof
import onehop
from driftproof.check import check
from driftproof.config import load
from driftproof.grammar import parse_page
from driftproof.page import Page
from driftproof.results import Report

CONFIG = load(Path(__file__).parent)
ROOT = CONFIG.root
CHAPTERS = [path for path in CONFIG.pages() if "/chapters/" in path]

# CPU seconds of a chapter's blocks on the processor that recorded them; 5 where nothing is said.
BUDGETS = {
    "the-clock": 15,
    "agreement-over-a-distance": 20,
    "the-translation-cliff": 40,
    "recurrence-returns": 15,
}
SLACK = 2


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without importing what its tags name."""


_Loader.add_multi_constructor("", lambda loader, suffix, node: None)


def nav_pages() -> list[str]:
    def leaves(entry: Any) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        for inner in entry.values() if isinstance(entry, dict) else entry:
            if not isinstance(entry, str):
                yield from leaves(inner)

    nav = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), _Loader)["nav"]
    return list(leaves(nav))


def modules(package: Any) -> list[str]:
    found = (
        f"{package.__name__}.{module.name}" for module in pkgutil.iter_modules(package.__path__)
    )
    return [name for name in found if not name.endswith(".__main__")]


def parts(name: str) -> list[str]:
    """A module, and the modules inside of it if it is a package."""
    module = importlib.import_module(name)
    return [name, *(modules(module) if hasattr(module, "__path__") else ())]


def public_objects(name: str) -> list[str]:
    module = importlib.import_module(name)
    return [
        key
        for key, value in vars(module).items()
        if not key.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == name
    ]


def imported(page: Page) -> list[str]:
    """The modules of the book that a page's blocks import."""
    nodes = [node for block in page.blocks if block.tree for node in ast.walk(block.tree)]
    found = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return sorted(name for name in found if name.startswith("onehop."))


@pytest.fixture(scope="module")
def report() -> Report:
    return check(CONFIG)


def test_every_page_is_in_the_navigation_once() -> None:
    pages = [page.removeprefix(f"{CONFIG.docs}/") for page in CONFIG.pages()]
    assert pages == sorted(nav_pages())


@pytest.mark.parametrize("name", modules(onehop))
def test_every_module_of_the_book_has_its_reference_page(name: str) -> None:
    page = (ROOT / CONFIG.docs / "reference" / f"{name}.md").read_text("utf-8")
    assert sorted(re.findall(r"^::: (\S+)$", page, re.MULTILINE)) == sorted(parts(name))
    assert f"# {name} " in page


@pytest.mark.parametrize("name", [part for name in modules(onehop) for part in parts(name)])
def test_every_public_object_of_the_book_says_what_it_is(name: str) -> None:
    module = importlib.import_module(name)
    found = public_objects(name)
    assert found, name
    assert [key for key in found if not inspect.getdoc(getattr(module, key))] == []


def test_every_module_of_the_engine_is_in_its_map() -> None:
    page = (ROOT / CONFIG.docs / "reference" / "driftproof.md").read_text("utf-8")
    rows = "".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    assert sorted(re.findall(r"`(\w+)`", rows)) == sorted(
        name.removeprefix("driftproof.") for name in modules(driftproof)
    )


def test_every_public_object_of_the_engine_is_in_the_reference() -> None:
    page = (ROOT / CONFIG.docs / "reference" / "driftproof.md").read_text("utf-8")
    named = {name.rpartition(".")[2] for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE)}
    assert named == set(driftproof.__all__)


@pytest.mark.parametrize("path", CHAPTERS)
def test_a_chapter_links_the_modules_that_it_uses_and_they_link_it(path: str) -> None:
    page = parse_page(CONFIG, path)
    said = next((t for t in page.lines if t.startswith("This page's code comes from ")), "")
    assert re.findall(r"\(\.\./reference/([\w.]+)\.md\)", said) == imported(page)
    for name in imported(page):
        reference = (ROOT / CONFIG.docs / "reference" / f"{name}.md").read_text("utf-8")
        assert f"](../chapters/{page.slug}.md)" in reference, name


@pytest.mark.parametrize("name", modules(onehop))
def test_a_module_links_only_chapters_that_use_it(name: str) -> None:
    reference = (ROOT / CONFIG.docs / "reference" / f"{name}.md").read_text("utf-8")
    for slug in re.findall(r"\]\(\.\./chapters/([\w-]+)\.md\)", reference):
        assert name in imported(parse_page(CONFIG, f"{CONFIG.docs}/chapters/{slug}.md")), slug


@pytest.mark.parametrize("path", CHAPTERS)
def test_the_front_of_a_chapter_is_read(path: str) -> None:
    front = (ROOT / path).read_text("utf-8").split("---\n")[1]
    found = yaml.safe_load(front)  # where this fails, the site shows it as text
    assert isinstance(found["minutes"], int), f"{path}: minutes: no whole number"
    assert isinstance(found["description"], str), f"{path}: description: no text"


def test_a_tolerance_leaves_the_second_digit_alone() -> None:
    pages = [parse_page(CONFIG, path) for path in CONFIG.pages()]
    found = [
        (page.path, line, tolerance.rtol)
        for page in pages
        for line, tolerance in (
            *((b.output.fence.start + 1, b.output.tolerance) for b in page.blocks if b.output),
            *((bound.line, bound.tolerance) for bound in page.bounds),
        )
        if tolerance.rtol
    ]
    assert found
    assert [] == [where for where in found if where[-1] > 1e-2]


@pytest.mark.parametrize("path", CHAPTERS)
def test_a_chapter_has_a_figure(path: str) -> None:
    page = parse_page(CONFIG, path)
    assert [b for b in page.blocks if b.output and b.output.show == "figure"]


def test_the_chapters_keep_to_their_budgets(report: Report) -> None:
    runs = {Path(path).stem: report.results[path].run for path in CHAPTERS}
    spent = {slug: sum(run.seconds.values()) for slug, run in runs.items() if run}
    assert spent.keys() == runs.keys()
    allowed = {slug: SLACK * BUDGETS.get(slug, 5) for slug in spent}
    assert {slug: seconds for slug, seconds in spent.items() if seconds > allowed[slug]} == {}
    assert sum(spent.values()) < SLACK * 120


def test_every_block_ran_and_took_time(report: Report) -> None:
    counts = report.counts
    assert counts["found"] == counts["shown"] + counts["elsewhere"] + counts["expected"]
    assert counts["expected"] == counts["ran"] + counts["recalled"] == counts["agreed"]
    for path, result in report.results.items():
        seconds = result.run.seconds if result.run else {}
        assert all(spent > 0 for spent in seconds.values()), path
