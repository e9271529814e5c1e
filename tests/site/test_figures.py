"""The figures of the built book: each says what it shows, and some answer to the reader."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from .conftest import Server, Visit

pytestmark = pytest.mark.browser

PAGES = {
    "multiplier": "chapters/powers-near-one/",
    "lags": "chapters/gradients-measured/",
    "costs": "chapters/counting-the-work/",
    "cliff": "chapters/the-translation-cliff/",
    "alignment": "chapters/reading-with-weights/",
}
WIDGETS = [pytest.param(name, path, id=name) for name, path in PAGES.items()]


SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def figures(built_site: Path) -> dict[str, list[Element]]:
    """The figures of each chapter, by its address."""
    found = {}
    for file in sorted(built_site.glob("chapters/*/index.html")):
        html = file.read_text("utf-8")
        texts = re.findall(r'<figure class="driftproof-figure".*?</figure>', html, re.DOTALL)
        found[f"chapters/{file.parent.name}/"] = list(map(ElementTree.fromstring, texts))
    return found


def widget_of(figures: dict[str, list[Element]], name: str) -> Element:
    (found,) = (f for f in figures[PAGES[name]] if f.get("data-widget") == name)
    return found


def rows_of(figure: Element) -> list[list[str]]:
    """The table under a figure, its head first."""
    return [[cell.text or "" for cell in row] for row in figure.iter("tr")]


def columns_of(figure: Element) -> dict[str, list[str]]:
    """The table under a figure as it was recorded: texts by column."""
    head, *rows = rows_of(figure)
    return {name: [row[i] for row in rows] for i, name in enumerate(head)}


# Every figure.


def test_every_picture_has_a_title_a_description_a_caption_and_its_numbers(
    figures: dict[str, list[Element]],
) -> None:
    assert sum(map(len, figures.values())) > 25
    for path, found in figures.items():
        for figure in found:
            picture, caption = figure[0], figure.findtext("figcaption")
            title, description = picture.findtext(f"{SVG}title"), picture.findtext(f"{SVG}desc")
            assert ("img", description) == (picture.get("role"), picture.get("aria-label")), path
            assert description, path
            assert caption, path
            assert title == caption, path
            assert "The numbers behind the figure" == figure.findtext("details/summary"), path
            assert len(rows_of(figure)) > 1, path
            assert 1 == len({len(row) for row in rows_of(figure)}), path


def test_text_and_axes_take_the_colour_of_the_page(figures: dict[str, list[Element]]) -> None:
    for path, found in figures.items():
        for picture in (figure[0] for figure in found):
            paints = " ".join(f"{e.get('style')} {e.get('fill')}" for e in picture.iter())
            assert "currentColor" in paints, path
            assert not re.search(r"(?i)(?:#000000|black)\b", paints), path


def test_columns_handed_to_a_widget_round_to_the_recorded_ones(
    figures: dict[str, list[Element]],
) -> None:
    for name in PAGES:
        figure = widget_of(figures, name)
        values = json.loads(figure.attrib["data-values"])
        recorded = columns_of(figure)
        assert list(recorded) == list(values), name
        for column, texts in recorded.items():
            for text, value in zip(texts, values[column], strict=True):
                if isinstance(value, str):
                    assert text == value
                else:  # half of the last digit that is recorded
                    digits, _, power = text.partition("e")
                    last = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
                    assert float(text) == pytest.approx(value, abs=0.5001 * last, rel=0.005), column


# Those that answer.


def live(page: Any, name: str) -> Any:
    page.wait_for_selector(f"[data-widget={name}][data-live]")
    return page.locator(f"[data-widget={name}]")


def said(figure: Any) -> str:
    return figure.locator("output").inner_text()


def press(figure: Any, control: str, *keys: str) -> None:
    """Press keys on a control of a figure, with nothing but the keyboard."""
    figure.locator(f"[name={control}]").first.focus()
    for key in keys:
        figure.page.keyboard.press(key)


def short(text: str) -> str:
    """Return a recorded number as a figure writes it: "3.55e-17" as "3.55×10⁻¹⁷"."""
    digits, _, power = text.partition("e")
    if not power or -3 <= int(power) < 6:
        return f"{float(text):,.{max(0, 2 - int(power or 0))}f}"
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{float(digits):.2f}×10{raised}"


@pytest.mark.parametrize(("name", "path"), WIDGETS)
def test_a_figure_is_complete_without_scripts(visit: Visit, name: str, path: str) -> None:
    page = visit(path, java_script_enabled=False)
    figure = page.locator(f"[data-widget={name}]")
    assert figure.locator(":scope > svg").is_visible()
    assert figure.locator("figcaption").is_visible()
    assert 0 == figure.locator("input").count()
    figure.locator("summary").click()
    assert figure.locator("table").is_visible()


@pytest.mark.parametrize(("name", "path"), WIDGETS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 390, 1280])
def test_a_figure_fits_and_moves_nothing(
    visit: Visit, name: str, path: str, scheme: str, width: int
) -> None:
    figure = live(visit(path, width=width, scheme=scheme), name)
    shape = """figure => {
      const widget = figure.querySelector(".widget");
      const drawn = widget.firstElementChild.firstElementChild.getBoundingClientRect();
      const after = figure.getBoundingClientRect().height;
      delete figure.dataset.live;
      widget.hidden = true;
      const before = figure.getBoundingClientRect().height;
      widget.hidden = false;
      figure.dataset.live = "";
      return {over: document.documentElement.scrollWidth - innerWidth,
              wide: drawn.right - figure.getBoundingClientRect().right, moved: after - before};
    }"""
    found = figure.evaluate(shape)
    assert found["over"] <= 0
    assert found["wide"] <= 1
    assert abs(found["moved"]) <= 2


@pytest.mark.parametrize(("name", "path"), WIDGETS)
def test_a_figure_answers_after_instant_navigation(
    visit: Visit, server: Server, name: str, path: str
) -> None:
    page = visit("about:blank")
    # A site that was built without its address lists none, and navigation is not instant then.
    places = "".join(f"<url><loc>{server.url}{path}</loc></url>" for path in ("", *PAGES.values()))
    sitemap = f"<urlset>{places}</urlset>"
    page.route("**/sitemap.xml", lambda route: route.fulfill(body=sitemap, content_type="text/xml"))
    page.goto(server.url)
    page.evaluate("window.isTheSame = true")
    page.locator(f"nav a[href$='{path}']").first.evaluate("link => link.click()")
    figure = live(page, name)
    assert page.evaluate("window.isTheSame")
    first = said(figure)
    page.go_back()
    page.wait_for_url(server.url)
    page.go_forward()
    assert first == said(live(page, name))
    assert page.evaluate("window.isTheSame")


def test_the_multiplier_shows_the_recorded_powers(visit: Visit, figures: Any) -> None:
    recorded = columns_of(widget_of(figures, "multiplier"))
    figure = live(visit(PAGES["multiplier"]), "multiplier")
    press(figure, "factor", "Home")
    press(figure, "steps", "End")
    assert f"0.900 applied 200 times: {short(recorded['0.9'][-1])} is left." == said(figure)
    press(figure, "factor", "End")
    press(figure, "steps", "Home", *["PageUp"] * 5, *["ArrowLeft"])
    steps = int(figure.locator("[name=steps]").input_value())
    press(figure, "steps", *["ArrowRight" if steps < 100 else "ArrowLeft"] * abs(100 - steps))
    assert f"1.100 applied 100 times: {short(recorded['1.1'][5])} is left." == said(figure)


def test_the_lags_show_the_recorded_gradients_of_the_layers_that_are_on(
    visit: Visit, figures: Any
) -> None:
    recorded = columns_of(widget_of(figures, "lags"))
    figure = live(visit(PAGES["lags"]), "lags")
    layers = ["RNN", "LSTM", "GRU", "attention"]
    press(figure, "at", "Home")
    for row, lag in enumerate(recorded["lag"]):
        each = ", ".join(f"{layer} {short(recorded[layer][row])}" for layer in layers)
        assert f"{lag} steps back: {each}." == said(figure)
        assert lag == figure.locator("[name=at]").get_attribute("aria-valuetext")
        press(figure, "at", "ArrowRight")
    assert 4 == figure.locator("path.line").count()
    for layer in layers[:3]:
        press(figure, layer, "Space")
    assert ["attention"] == figure.locator("text.name").all_text_contents()
    assert f"59 steps back: attention {short(recorded['attention'][-1])}." == said(figure)


def test_the_costs_are_those_the_build_recorded(visit: Visit, figures: Any) -> None:
    handed = json.loads(widget_of(figures, "costs").attrib["data-values"])
    page = visit(PAGES["costs"])
    figure = live(page, "costs")
    names = [name for name in handed if name not in ("T", "d")]
    for row, (steps, width) in enumerate(zip(handed["T"], handed["d"], strict=True)):
        for name in names:
            layer, cost = name.split(" ", 1)
            shown = page.evaluate(f"oneHop.costs.formulas['{cost}']['{layer}']({steps}, {width})")
            assert handed[name][row] == shown, (name, steps, width)
    recorded = columns_of(widget_of(figures, "costs"))
    row = list(zip(handed["T"], handed["d"], strict=True)).index((2048, 512))
    press(figure, "length", "ArrowRight", "ArrowRight")
    for layer in ("RNN", "GRU", "LSTM", "attention"):
        assert f"{layer} {short(recorded[f'{layer} FLOPs'][row])}" in said(figure)
    press(figure, "cost", "ArrowRight")
    for layer in ("RNN", "fused", "attention"):
        assert f"{layer} {short(recorded[f'{layer} bytes'][row])}" in said(figure)
    press(figure, "cost", "ArrowRight", "ArrowRight")
    start = "2,048 steps of width 512, products in a row: RNN 2,048, attention 4."
    assert said(figure).startswith(start)


def test_the_cliff_shows_the_recorded_median_and_spread(visit: Visit, figures: Any) -> None:
    recorded = columns_of(widget_of(figures, "cliff"))
    widths = [name for name in recorded if name.isdigit()]
    figure = live(visit(PAGES["cliff"]), "cliff")
    press(figure, "width", "Home")
    for width in widths:
        press(figure, "at", "Home")
        for row, words in enumerate(recorded["words"]):
            middle, least, most = re.findall(r"\d+", recorded[width][row])
            text = f"{words} words: {width} floats translate {middle}% ({least} to {most} over"
            assert said(figure).startswith(text)
            assert said(figure).endswith(f"right in {recorded[f'formula {width}'][row]}%.")
            press(figure, "at", "ArrowRight")
        press(figure, "width", "ArrowRight")
    names = figure.locator("text.name").all_text_contents()
    assert ["attention", f"{widths[-1]} floats"] == names


def test_the_heat_map_shows_the_recorded_weights(visit: Visit, figures: Any) -> None:
    recorded = columns_of(widget_of(figures, "alignment"))
    page = visit(PAGES["alignment"])
    figure = live(page, "alignment")
    sentences = list(dict.fromkeys(recorded["French"]))
    assert len(sentences) == figure.locator("[name=sentence]").count()
    for chosen, sentence in enumerate(sentences):
        if chosen:
            figure.locator("[name=sentence]:checked").focus()
            page.keyboard.press("ArrowRight")
        french = sentence.split()
        rows = [row for row, text in enumerate(recorded["French"]) if text == sentence]
        figure.locator("td[tabindex='0']").focus()
        for row in rows:
            for place, word in enumerate(french, start=1):
                weight = recorded[str(place)][row]
                expected = f"{recorded['writes'][row]} reads {word} with {weight} of its weight."
                assert expected == said(figure)
                assert weight == page.evaluate("document.activeElement.textContent")
                page.keyboard.press("ArrowRight")
            page.keyboard.press("ArrowDown")
            for _ in french[1:]:
                page.keyboard.press("ArrowLeft")


def test_a_weight_is_read_under_the_mouse(visit: Visit) -> None:
    figure = live(visit(PAGES["alignment"]), "alignment")
    assert said(figure).startswith("Most of the weight: the reads")
    figure.locator("td[data-at='1 2']").hover()
    assert said(figure).startswith("black reads noir with 0.")


def test_scripts_of_figures_load_where_a_page_holds_one(visit: Visit) -> None:
    loaded = (
        "performance.getEntriesByType('resource').map(e => e.name).filter(n => /widgets/.test(n))"
    )
    page = visit(PAGES["lags"])
    live(page, "lags")
    files = [name.rsplit("/", 1)[1] for name in page.evaluate(loaded)]
    assert ["lags.js", "plot.css", "plot.js"] == sorted(files)
    assert [] == visit("chapters/the-clock/").evaluate(loaded)


def test_print_shows_the_still_picture(visit: Visit) -> None:
    page = visit(PAGES["lags"])
    figure = live(page, "lags")
    page.emulate_media(media="print")
    assert figure.locator(":scope > svg").is_visible()
    assert not figure.locator(".widget").is_visible()


def test_a_figure_answers_from_a_folder_without_a_server(browser: Any, built_site: Path) -> None:
    page = browser.new_page()
    page.goto((built_site / PAGES["lags"] / "index.html").as_uri())
    assert "49 steps back: RNN" in said(live(page, "lags"))
    page.close()
