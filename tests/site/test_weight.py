"""A chapter is light: what a reader's browser fetches for it, and how still the page stands."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Server, Visit

pytestmark = pytest.mark.browser

FIRST_LOAD = 130_000  # bytes as a host sends them: text compressed, fonts as they are
WITHOUT_SCRIPTS = 80_000
SEARCH_INDEX = 150_000
REQUESTS = 12
SHIFT = 0.01

COUNT_SHIFTS = """
window.shifted = 0;
new PerformanceObserver(list => list.getEntries().forEach(entry => { shifted += entry.value; }))
  .observe({type: "layout-shift", buffered: true});
"""


@pytest.fixture(scope="session")
def chapters(paths: list[str]) -> list[str]:
    return [path for path in paths if path.startswith("chapters/")]


def settled(page: Any) -> None:
    page.wait_for_load_state("networkidle")


def test_a_chapter_is_light(visit: Visit, server: Server, chapters: list[str]) -> None:
    too_heavy = {}
    for path in chapters:
        server.sent.clear()
        settled(visit(path))
        weight = sum(size for _, size in server.sent)
        if weight > FIRST_LOAD or len(server.sent) > REQUESTS:
            too_heavy[path] = weight, len(server.sent)
    assert {} == too_heavy


def test_a_chapter_without_scripts_is_complete_and_lighter(
    visit: Visit, server: Server, chapters: list[str]
) -> None:
    too_heavy = {}
    for path in chapters:
        server.sent.clear()
        page = visit(path, java_script_enabled=False)
        settled(page)
        weight = sum(size for _, size in server.sent)
        if weight > WITHOUT_SCRIPTS:
            too_heavy[path] = weight
        figures = page.locator(".driftproof-figure svg[role=img]")
        assert figures.count() == page.locator(".driftproof-figure").count()
        hidden = "main :is(p, pre, math, table, svg[role=img], summary, dt):not(details *)"
        assert [] == [e for e in page.locator(hidden).all() if not e.is_visible()], path
    assert {} == too_heavy


def test_the_search_index_arrives_with_the_first_search(visit: Visit, server: Server) -> None:
    server.sent.clear()
    page = visit("chapters/the-clock/")
    settled(page)
    assert [] == [path for path, _ in server.sent if "search" in path]
    page.keyboard.press("/")
    page.keyboard.type("forget gate")
    page.locator(".md-search-result__item").first.wait_for()
    sizes = [size for path, size in server.sent if path == "/search/search_index.json"]
    assert 1 == len(sizes)
    assert sizes[0] <= SEARCH_INDEX


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_a_chapter_loads(visit: Visit, chapters: list[str], width: int) -> None:
    moving = {}
    for path in chapters:
        page = visit("404.html", width=width)
        page.add_init_script(COUNT_SHIFTS)
        page.goto(f"/{path}")
        settled(page)
        if (shift := page.evaluate("shifted")) > SHIFT:
            moving[path] = shift
    assert {} == moving
