"""Every page can be read and used by everyone: axe-core finds nothing, the keyboard suffices."""

from __future__ import annotations

from importlib import resources
from itertools import pairwise
from typing import Any

import pytest

from .conftest import Server, Visit, watch

pytestmark = pytest.mark.browser

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
VARIANTS = [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")]
# One page of each kind.
KINDS = [
    "",
    "404.html",
    "chapters/gates-and-the-cell-path/",
    "contributing/page-grammar/",
    "glossary/",
    "ledger/",
    "reference/onehop.attention/",
]
FIND_VIOLATIONS = """async () => {
  const {violations} = await axe.run({resultTypes: ["violations"]});
  return violations.flatMap(({id, nodes}) =>
    nodes.map(({html, target}) => `${id}: ${target} ${html.slice(0, 120)}`));
}"""
# What has the focus, whether one sees that, and in which of these places it stands.
FOCUS = """places => {
  const element = document.activeElement;
  const {outlineStyle, outlineWidth} = getComputedStyle(element);
  return {
    nowhere: element === document.body,
    seen: outlineStyle !== "none" && outlineWidth !== "0px" || element.matches("input"),
    html: element.outerHTML.slice(0, 120),
    places: places.filter(place => element.matches(place)),
  };
}"""
PLACES = [
    ".md-skip",
    ".md-logo",
    "[data-md-component=palette] input",
    ".md-search__input",
    ".md-nav--primary a",
    ".md-nav--secondary a",
    ".md-code__button",
    "pre",
    "data a",
    "summary",
    ".footnote-ref",
    "footer a",
]


def violations(page: Any) -> list[str]:
    """Return what axe-core finds on the page as it is now, by all of its rules."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    return page.evaluate(FIND_VIOLATIONS)


@pytest.mark.parametrize(("width", "scheme"), VARIANTS)
def test_no_page_breaks_a_rule(
    browser: Any, server: Server, paths: list[str], width: int, scheme: str
) -> None:
    complaints: list[str] = []
    viewport = {"width": width, "height": 800}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
    watch(context, server.url, complaints)
    page = context.new_page()
    found = {}
    for path in paths:
        page.goto(server.url + path)
        if broken := violations(page):
            found[path] = broken
    context.close()
    assert ({}, []) == (found, complaints)


@pytest.mark.parametrize(("width", "scheme"), VARIANTS)
def test_an_open_search_breaks_no_rule(visit: Visit, width: int, scheme: str) -> None:
    page = visit("chapters/the-clock/", width=width, scheme=scheme, reduced_motion="reduce")
    page.keyboard.press("/")
    page.keyboard.type("forget gate")
    page.locator(".md-search-result__item").first.wait_for()
    assert [] == violations(page)


@pytest.mark.parametrize(("width", "scheme"), VARIANTS)
def test_a_page_brought_in_by_a_click_breaks_no_rule(visit: Visit, width: int, scheme: str) -> None:
    page = visit("", width=width, scheme=scheme, reduced_motion="reduce")
    page.evaluate("window.stayed = true")
    for path in KINDS[2:]:  # all but the page it starts on, and that for a missing page
        page.evaluate(
            """address => {
              const link = document.createElement("a");
              link.id = "way";
              link.href = link.textContent = address;
              document.querySelector("article").append(link);
              link.click();
            }""",
            f"/{path}",
        )
        page.locator("#way").wait_for(state="detached")  # with the article that it stood in
        page.wait_for_url(f"**/{path}")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.stayed"), path
        assert [] == violations(page), path


def test_the_keyboard_reaches_everything_and_shows_where_it_is(visit: Visit) -> None:
    page = visit("chapters/gates-and-the-cell-path/")
    reached: list[str] = []
    unseen = []
    before = None
    for _ in range(1_000):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS, PLACES)
        if focus["nowhere"]:
            break
        reached += focus["places"]
        if not focus["seen"]:
            unseen.append(focus["html"])
        before = focus
    else:
        pytest.fail(f"the focus never leaves the page; it was last at {before}")
    assert ".md-skip" == reached[0]
    assert [] == [place for place in PLACES if place not in reached]
    assert [] == unseen


def test_on_a_phone_the_keyboard_opens_menu_and_search(visit: Visit) -> None:
    page = visit("chapters/the-clock/", width=360)
    page.get_by_role("button", name="Navigation").focus()
    page.keyboard.press("Enter")
    assert page.locator("#__drawer").is_checked()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Search").focus()
    page.keyboard.press("Enter")
    assert page.locator(".md-search__input").evaluate("e => e === document.activeElement")


def test_nothing_moves_for_readers_who_asked_for_stillness(visit: Visit) -> None:
    page = visit("chapters/the-clock/", reduced_motion="reduce")
    moving = """() => [...document.querySelectorAll("*")].filter(element => {
      const {transitionDuration, animationDuration} = getComputedStyle(element);
      return [transitionDuration, animationDuration].some(d => parseFloat(d) > 0.01);
    }).map(element => element.outerHTML.slice(0, 80))"""
    assert [] == page.evaluate(moving)


def test_every_page_has_a_language_one_heading_and_landmarks(
    visit: Visit, paths: list[str]
) -> None:
    page = visit("")
    for path in paths:
        page.goto(f"/{path}" if path else "/")
        assert "en" == page.locator("html").get_attribute("lang"), path
        assert 1 == page.locator("h1").count(), path
        levels = page.locator("main :is(h1, h2, h3, h4, h5, h6)").evaluate_all(
            "headings => headings.map(h => Number(h.tagName[1]))"
        )
        assert all(b <= a + 1 for a, b in pairwise(levels)), path
        for landmark in ("banner", "main", "contentinfo"):
            assert 1 == page.get_by_role(landmark).count(), path


def test_formulas_are_mathml_in_the_font_of_the_book(visit: Visit) -> None:
    page = visit("chapters/gates-and-the-cell-path/")
    assert page.locator("math").count() > 10
    assert page.evaluate("document.fonts.check('16px \"STIX Two Math\"')")
    assert 0 == page.locator(".MathJax, .katex, img.math").count()
