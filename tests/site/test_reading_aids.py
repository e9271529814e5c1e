"""The aids to reading: terms, minutes, neighbours, the map, and a front page of one screen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from .conftest import Server, Visit

pytestmark = pytest.mark.browser

CHAPTER = "chapters/gradients-measured/"
TERM = "article p a.driftproof-term"
NOTE = ".driftproof-value"


@pytest.fixture(scope="module")
def pages(built_site: Path) -> dict[str, str]:
    return {
        file.relative_to(built_site).as_posix(): file.read_text("utf-8")
        for file in sorted(built_site.rglob("*.html"))
    }


@pytest.fixture(scope="module")
def chapters(pages: dict[str, str]) -> dict[str, str]:
    return {name: html for name, html in pages.items() if name.startswith("chapters/")}


def article(html: str) -> str:
    return html[html.index("<article") : html.index("</article>")]


def test_every_page_has_one_heading_of_the_first_level(pages: dict[str, str]) -> None:
    assert {1} == {len(re.findall(r"<h1\b", html)) for html in pages.values()}


def test_every_chapter_says_how_long_it_takes_and_what_its_letters_mean(
    chapters: dict[str, str],
) -> None:
    place = re.compile(
        r'<p class="book-place">[^<]+ <span>\d+ minutes</span> '
        r'<span><a href="\.\./\.\./notation/">Notation</a></span></p>\s*<h1'
    )
    assert [] == [name for name, html in chapters.items() if not place.search(html)]
    assert len(chapters) >= 17


def test_every_chapter_leads_on_and_back_with_a_sentence(chapters: dict[str, str]) -> None:
    sentence = re.compile(
        r'class="book-(prev|next)".*?class="book-sentence">([^<]{20,})<', re.DOTALL
    )
    for name, html in chapters.items():
        assert ["prev", "next"] == [side for side, _ in sentence.findall(html)], name


def test_a_term_is_linked_once_a_page_and_never_in_headings_code_or_links(
    pages: dict[str, str],
) -> None:
    linked = 0
    for name, html in pages.items():
        terms = re.findall(r'class="driftproof-term" href="[^"#]*#([^"]+)"', html)
        assert len(terms) == len(set(terms)), name
        linked += len(terms)
        for outer in ("h1", "h2", "h3", "h4", "code", "pre", "summary", "th"):
            inside = re.findall(rf"<{outer}\b[^>]*>(.*?)</{outer}>", article(html), re.DOTALL)
            assert not [text for text in inside if "driftproof-term" in text], (name, outer)
    assert linked > 300


def test_every_term_leads_to_its_entry(pages: dict[str, str]) -> None:
    entries = set(re.findall(r'<dt id="([^"]+)"', pages["glossary/index.html"]))
    found = {
        anchor
        for html in pages.values()
        for anchor in re.findall(r'class="driftproof-term" href="[^"#]*#([^"]+)"', html)
    }
    assert found <= entries


def test_code_is_copied_without_a_prompt(pages: dict[str, str]) -> None:
    prompt = re.compile(r"^(?:\$|>>>|\.\.\.) ", re.MULTILINE)
    for name, html in pages.items():
        for code in re.findall(r"<pre\b[^>]*>(.*?)</pre>", article(html), re.DOTALL):
            assert not prompt.search(re.sub(r"<[^>]+>", "", code)), name


def test_a_lost_reader_finds_every_chapter(pages: dict[str, str], chapters: dict[str, str]) -> None:
    map_ = article(pages["404.html"])
    for name in chapters:
        assert f'{name.removesuffix("index.html")}">' in map_, name


@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, {"width": 390, "height": 844}])
def test_the_front_page_shows_in_one_screen_what_the_book_does(
    visit: Visit, size: dict[str, int]
) -> None:
    page = visit(**size)
    for part in (".hero-figure svg", ".hero-promise", ".hero-start .begin"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= size["height"], part
    lines = page.locator(".hero-figure svg path[style*='stroke-width: 1.8']")
    assert 4 == lines.count()


def meaning(link: Any) -> str:
    return link.get_attribute("aria-description")


def test_a_term_shows_its_meaning_under_the_mouse_and_with_the_focus(visit: Visit) -> None:
    page = visit(CHAPTER)
    link, note = page.locator(TERM).first, page.locator(NOTE)
    link.hover()
    note.wait_for()
    assert meaning(link) in note.inner_text()
    page.keyboard.press("Escape")
    note.wait_for(state="detached")
    page.mouse.move(0, 0)
    page.keyboard.press("Tab")
    link.focus()
    note.wait_for()
    assert meaning(link) in note.inner_text()


def test_a_tap_shows_the_meaning_within_the_screen_and_a_second_follows(visit: Visit) -> None:
    page = visit(CHAPTER, width=390, height=844, has_touch=True, is_mobile=True)
    link, note = page.locator(TERM).first, page.locator(NOTE)
    link.tap()
    note.wait_for()
    box = note.bounding_box()
    assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
    note.locator("a").tap()
    page.wait_for_url("**/glossary/#*")


def test_no_page_scrolls_sideways(visit: Visit, server: Server, paths: list[str]) -> None:
    page = visit(width=360)
    wide = []
    for path in paths:
        page.goto(server.url + path)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(path)
    assert [] == wide


def test_the_text_of_figures_can_be_read_on_a_phone(visit: Visit, chapters: dict[str, str]) -> None:
    page = visit(width=390)
    # Those of a figure that answers are its script's, and those in a folded answer have no size.
    texts = """[...document.querySelectorAll(".driftproof-figure:not([data-live]) > svg text")]
        .map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)
        .filter((size) => size)"""
    for name in chapters:
        page.goto(name.removesuffix("index.html"))
        page.wait_for_function("!document.querySelector('[data-widget]:not([data-live])')")
        assert min(page.evaluate(texts), default=9) > 8.5, name


def test_a_search_shows_where_and_in_which_words(visit: Visit) -> None:
    page = visit()
    page.locator(".md-search__input").fill("forget bias")
    result = page.locator(".md-search-result__item").first
    result.wait_for()
    assert "Gates and the cell path" in result.inner_text()
    assert {"forget", "bias"} <= {word.lower() for word in result.locator("mark").all_inner_texts()}
