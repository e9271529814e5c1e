"""What the built pages say of their numbers can be touched: with a mouse, keys or a finger."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest

from .conftest import Visit

pytestmark = pytest.mark.browser

CHAPTER = "chapters/gradients-measured/"
NUMBER = "article p data.driftproof-bound > a"
NOTE = ".driftproof-value"


@pytest.fixture(scope="module")
def pages(built_site: Path) -> dict[Path, str]:
    return {file: file.read_text("utf-8") for file in sorted(built_site.rglob("*.html"))}


@pytest.fixture(scope="module")
def ids(pages: dict[Path, str]) -> dict[Path, Counter[str]]:
    return {
        file: Counter(re.findall(r'<\w[^<>]* id="([^"]+)"', html)) for file, html in pages.items()
    }


def test_every_output_has_its_stamp_and_its_link(pages: dict[Path, str]) -> None:
    outputs = 0
    for file, html in pages.items():
        found = re.findall(r'<div class="driftproof-output"[^>]* id="([^"]+)"', html)
        stamps = re.findall(
            r'<p class="driftproof-stamp"><span>((?:ran in this build|recorded|no recording) [^<]+)'
            r'</span><a class="headerlink" href="#([^"]+)"',
            html,
        )
        assert found == [anchor for _, anchor in stamps], file
        assert not [stamp for stamp, _ in stamps if "being verified" in stamp], file
        outputs += len(found)
    assert outputs > 250


def test_ids_are_unique_on_every_page(ids: dict[Path, Counter[str]]) -> None:
    twice = {str(f): [name for name, n in count.items() if n > 1] for f, count in ids.items()}
    assert {} == {file: names for file, names in twice.items() if names}


def test_every_bound_number_leads_to_a_block_that_exists(
    pages: dict[Path, str], ids: dict[Path, Counter[str]]
) -> None:
    numbers = 0
    for file, html in pages.items():
        elements = re.findall(r'<data class="driftproof-bound" value="[^"]+">(<[^>]*>)', html)
        assert html.count('class="driftproof-bound"') == len(elements), file
        for element in elements:
            numbers += 1
            link, anchor = urldefrag(unquote(re.findall(r'<a href="([^"]+)"', element)[0]))
            target = (file.parent / link / "index.html").resolve() if link else file
            assert anchor in ids[target], f"{file}: {element}"
    assert numbers > 1500


def test_every_chapter_has_its_foot(built_site: Path, ids: dict[Path, Counter[str]]) -> None:
    chapters = sorted(built_site.glob("chapters/*/index.html"))
    assert len(chapters) > 15
    for file in chapters:
        (foot,) = re.findall(
            r'(?s)<footer class="provenance">.*?</footer>', file.read_text("utf-8")
        )
        text = re.sub(r"<[^>]*>|\s+", " ", foot)
        ran, agreed = re.findall(r"(\d+) ran, (\d+) agreed; \d+ bound numbers agreed", text)[0]
        assert ran == agreed
        assert re.search(r"Recorded +\d{4}-\d\d-\d\d, in [\d.]+ CPU seconds", text), file
        source, *ledger = (urldefrag(link) for link in re.findall(r'href="([^"]+)"', foot))
        assert (file.parent / source.url).resolve().suffix == ".md"
        assert (file.parent / source.url).is_file()
        decides = f"on-{file.parent.name}" in ids[(built_site / "ledger/index.html").resolve()]
        assert decides * [("../../ledger/", f"on-{file.parent.name}")] == [*map(tuple, ledger)]


def number(page: Any, nth: int = 0) -> Any:
    """A bound number in a sentence, in view."""
    link = page.locator(NUMBER).nth(nth)
    link.scroll_into_view_if_needed()
    return link


def shows_its_number(page: Any, link: Any) -> None:
    """Check that the note is there, says what the page holds, and lies inside the window."""
    note = page.locator(NOTE)
    note.wait_for()
    data = link.locator("xpath=..")
    assert data.get_attribute("value") == note.locator("strong").inner_text()
    assert "" != note.locator("code").inner_text()
    assert link.evaluate("a => a.href") == note.locator("a").evaluate("a => a.href")
    box, number_box = note.bounding_box(), link.bounding_box()
    assert 0 <= box["x"]
    assert box["x"] + box["width"] <= page.viewport_size["width"]
    assert 0 <= box["y"]
    assert box["y"] + box["height"] <= page.viewport_size["height"]
    gap = max(box["y"] - number_box["y"] - number_box["height"], number_box["y"] - box["y"])
    assert gap <= box["height"] + 2


def test_under_the_mouse_a_number_shows_its_value(visit: Visit) -> None:
    page = visit(CHAPTER)
    link = number(page, 3)
    height = page.evaluate("document.documentElement.scrollHeight")
    place = link.bounding_box()
    link.hover()
    shows_its_number(page, link)
    assert place == link.bounding_box()
    assert height == page.evaluate("document.documentElement.scrollHeight")
    page.locator(NOTE).hover()
    page.wait_for_timeout(500)
    assert page.locator(NOTE).is_visible()
    page.mouse.move(2, 2)
    page.locator(NOTE).wait_for(state="detached")
    assert " = " in link.get_attribute("title")


def test_with_the_focus_a_number_shows_its_value_and_enter_leads_to_its_block(
    visit: Visit,
) -> None:
    page = visit(CHAPTER)
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('data.driftproof-bound > a')"):
            break
    link = page.locator("data.driftproof-bound > a:focus")
    shows_its_number(page, link)
    assert link.evaluate("a => document.getElementById(a.getAttribute('aria-describedby'))")
    page.keyboard.press("Escape")
    page.locator(NOTE).wait_for(state="detached")
    assert link.evaluate("a => a === document.activeElement")
    assert link.get_attribute("aria-describedby") is None
    href = link.get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{href}")


@pytest.mark.parametrize("width", [360, 390, 800])
def test_a_tap_shows_the_value_and_a_second_one_leads_to_the_block(
    visit: Visit, width: int
) -> None:
    page = visit(CHAPTER, width=width, height=800, has_touch=True, is_mobile=True)
    before = page.url
    for nth in range(12):
        link = number(page, nth)
        link.tap()
        shows_its_number(page, link)
        page.keyboard.press("Escape")
        page.locator(NOTE).wait_for(state="detached")
    link.tap()
    page.locator(NOTE).wait_for()
    link.tap()
    page.locator(NOTE).wait_for(state="detached")
    assert before == page.url
    link.tap()
    target = link.get_attribute("href")
    page.locator(f"{NOTE} a").tap()
    page.wait_for_url(f"**{target}")
    page.locator(NOTE).wait_for(state="detached")
    assert before == page.url.partition("#")[0]


def test_a_tap_elsewhere_closes_the_note(visit: Visit) -> None:
    page = visit(CHAPTER, width=390, has_touch=True, is_mobile=True)
    number(page, 2).tap()
    page.locator(NOTE).wait_for()
    page.locator("h1").tap()
    page.locator(NOTE).wait_for(state="detached")


def test_a_number_of_another_page_leads_there(visit: Visit) -> None:
    page = visit("", width=390, has_touch=True, is_mobile=True)
    link = page.locator("article data.driftproof-bound > a[href*='chapters/']").first
    link.scroll_into_view_if_needed()
    link.tap()
    shows_its_number(page, link)
    target = link.evaluate("a => a.href")
    page.locator(f"{NOTE} a").tap()
    page.locator(f"[id='{urldefrag(target).fragment}']").wait_for()  # the address comes before
    assert target == page.url
    assert 0 == page.locator(NOTE).count()
    number(page).tap()
    page.locator(NOTE).wait_for()


def test_without_scripts_a_number_is_a_link_with_its_value(visit: Visit) -> None:
    page = visit(CHAPTER, java_script_enabled=False)
    link = number(page)
    assert " = " in link.get_attribute("title")
    target = link.get_attribute("href")
    link.click()
    page.wait_for_url(f"**{target}")
    assert page.locator(target).count() == 1


def test_a_permalink_appears_with_the_mouse_and_with_the_focus(visit: Visit) -> None:
    from playwright.sync_api import expect

    page = visit(CHAPTER)
    for place in (".driftproof-block", ".driftproof-output"):
        box = page.locator(place).first
        link = box.locator(".headerlink")
        page.mouse.move(2, 2)
        expect(link).to_have_css("opacity", "0")
        box.hover()
        expect(link).to_have_css("opacity", "1")
        page.mouse.move(2, 2)
        link.focus()
        expect(link).to_have_css("opacity", "1")
        expect(link).to_be_in_viewport()
        link.click()
        page.wait_for_url(f"**#{box.get_attribute('id')}")
