"""Blocks run in the reader's browser, and print there what the book has recorded."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Server, Visit
from .test_accessibility import FOCUS, violations

pytestmark = pytest.mark.browser

RUNTIME = 9_000_000  # bytes as a host sends them
SLOW = 120_000  # milliseconds that Python may take to start on a busy machine
PAGE, BLOCK = "chapters/an-idle-accelerator/", "one-tick"


@pytest.fixture(scope="session")
def runtime(built_site: Path) -> Path:
    """The folder of the Python that the site brings along."""
    found = list(built_site.glob("assets/pyodide-*"))
    if not found:
        pytest.skip("the site has no Python for the browser: make runtime fetches it")
    return found[0]


@pytest.fixture(scope="session")
def runnable(built_site: Path) -> dict[str, list[str]]:
    """The ids of the blocks that run in a browser, by the address of their page."""
    return {
        f"{file.parent.relative_to(built_site).as_posix()}/".removeprefix("./"): [
            block["id"] for block in json.loads(file.read_text("utf-8")) if block["runs"]
        ]
        for file in sorted(built_site.rglob("blocks.json"))
    }


def opened(page: Any, block: str = BLOCK) -> Any:
    """Press "Run / edit" at a block; return the block."""
    place = page.locator(f"[id='{block}']")
    place.locator("button.book-run").click()
    return place


def verdict(place: Any, wanted: str) -> str:
    """Wait for the verdict of a run, which has to be the wanted one; return its sentence."""
    runner = place.locator(".book-runner[data-verdict]")
    runner.wait_for(timeout=SLOW)
    said = place.get_by_role("status").inner_text()
    assert wanted == runner.get_attribute("data-verdict"), (said, runner.inner_text())
    return said


def test_every_block_that_can_run_reproduces_its_record(
    visit: Visit, runtime: Path, runnable: dict[str, list[str]]
) -> None:
    assert sum(map(len, runnable.values())) > 70
    page = visit()
    wrong = {}
    for path, blocks in runnable.items():
        page.goto(f"/{path}")
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        for block in blocks:
            place = opened(page, block)
            runner = place.locator(".book-runner[data-verdict]")
            runner.wait_for(timeout=SLOW)
            if runner.get_attribute("data-verdict") != "same":
                wrong[path, block] = runner.inner_text()
    assert {} == wrong


def test_nothing_is_loaded_before_the_click_and_little_after(
    visit: Visit, server: Server, runtime: Path
) -> None:
    server.sent.clear()
    page = visit(PAGE)
    page.wait_for_load_state("networkidle")
    assert [] == [path for path, _ in server.sent if "/run/" in path or runtime.name in path]
    verdict(opened(page), "same")
    fetched = {path.rpartition("/")[2] for path, _ in server.sent if runtime.name in path}
    assert {file.name for file in runtime.iterdir()} == fetched
    files = [gzip.compress(file.read_bytes(), 9, mtime=0) for file in runtime.iterdir()]
    assert sum(map(len, files)) <= RUNTIME

    server.sent.clear()
    page.reload()
    verdict(opened(page), "same")
    heavy = [path for path, size in server.sent if size > 2_000_000]
    assert [] == heavy, "kept by the browser"


def test_an_edit_shows_the_difference_and_reset_brings_the_record_back(
    visit: Visit, runtime: Path
) -> None:
    place = opened(visit(PAGE))
    verdict(place, "same")
    code = place.get_by_role("textbox")
    written = code.input_value()
    code.fill(f"{written}\nprint(6 * 7)")
    code.press("Control+Enter")
    assert verdict(place, "differs").startswith("One difference from what is recorded.")
    assert "recorded nothing, now 42" in place.locator("li").inner_text()
    code.fill("1 / 0")
    place.get_by_role("button", name="Run", exact=True).click()
    page_says = place.get_by_role("status")
    page_says.get_by_text("line 1: ZeroDivisionError: division by zero").wait_for()
    place.get_by_role("button", name="Reset").click()
    assert written == code.input_value()
    place.get_by_role("button", name="Run", exact=True).click()
    page_says.get_by_text("Same as recorded.").wait_for()


def test_blocks_above_run_first_and_once(visit: Visit, runtime: Path) -> None:
    page = visit(PAGE)
    assert "blocks above ran first" in verdict(opened(page, "roofline-table"), "same")
    assert "Same as recorded." == verdict(opened(page, "below-the-peak"), "same").split(" One")[0]
    first = opened(page, "data-sheets")
    verdict(first, "same")
    code = first.get_by_role("textbox")
    code.fill("raise SystemExit('no more')")
    below = page.locator("[id='roofline-table']")
    below.get_by_role("button", name="Run", exact=True).click()
    assert "A block above, “data-sheets”, failed" in verdict(below, "failed")


def test_a_run_without_end_is_stopped_by_the_reader_or_by_the_clock(
    visit: Visit, runtime: Path
) -> None:
    page = visit(PAGE)
    place = opened(page)
    verdict(place, "same")
    code, run = place.get_by_role("textbox"), place.get_by_role("button", name="Run", exact=True)
    code.fill("while True: pass")
    run.click()
    status = place.get_by_role("status")
    status.get_by_text("Running").wait_for()
    place.get_by_role("button", name="Stop").click()
    status.get_by_text("Stopped.").wait_for()
    page.evaluate("runner.limit = 2")
    run.click()
    status.get_by_text("Running").wait_for(timeout=SLOW)
    status.get_by_text("Stopped after 2 seconds.").wait_for()
    page.evaluate("runner.limit = 60")
    place.get_by_role("button", name="Reset").click()
    run.click()
    verdict(place, "same")


def test_what_runs_asks_nobody_for_anything(visit: Visit, runtime: Path) -> None:
    place = opened(visit(PAGE))
    verdict(place, "same")
    place.get_by_role("textbox").fill("import js\nprint(js.fetch, js.XMLHttpRequest, js.WebSocket)")
    place.get_by_role("button", name="Run", exact=True).click()
    verdict(place, "differs")
    assert "None None None" == place.locator("pre").last.inner_text().strip()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light")])
def test_an_open_editor_breaks_no_rule(
    visit: Visit, runtime: Path, width: int, scheme: str
) -> None:
    page = visit(PAGE, width=width, scheme=scheme, reduced_motion="reduce")
    assert [] == violations(page)
    place = opened(page)
    verdict(place, "same")
    place.get_by_role("textbox").fill("print(2)")
    place.get_by_role("button", name="Run", exact=True).click()
    verdict(place, "differs")
    assert [] == violations(page)


def test_keys_are_enough(visit: Visit, runtime: Path) -> None:
    page = visit(PAGE)
    place = page.locator(f"[id='{BLOCK}']")
    place.locator("button.book-run").focus()
    page.keyboard.press("Enter")
    verdict(place, "same")
    assert place.get_by_role("textbox").evaluate("element => element === document.activeElement")
    page.keyboard.press("Control+End")
    page.keyboard.type("\nprint(1)")
    page.keyboard.press("Control+Enter")
    verdict(place, "differs")
    for name in ("Run", "Reset", "Close"):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS, [".book-runner button"])
        assert f">{name}<" in focus["html"]
        assert focus["seen"]
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.matches('.book-run')")
    assert 0 == place.locator(".book-runner").count()


def test_blocks_run_after_instant_navigation(visit: Visit, runtime: Path) -> None:
    page = visit("self-test/")
    page.evaluate("here = document.querySelector('details:has(#answer-work)'); here.open = true")
    verdict(opened(page, "answer-work"), "same")
    page.locator(f".md-nav--primary a[href$='{PAGE.removeprefix('chapters/')}']").first.evaluate(
        "link => link.click()"
    )
    page.locator(f"[id='{BLOCK}'] button.book-run").wait_for()
    assert page.evaluate("!!here"), "the page was loaded anew"
    verdict(opened(page), "same")


@pytest.mark.parametrize("blocked", ["worker.js", "pyodide.js", "pyodide.asm.wasm", "blocks.json"])
def test_where_python_cannot_be_loaded_the_record_stays_and_a_sentence_says_why(
    browser: Any, server: Server, runtime: Path, blocked: str
) -> None:
    page = browser.new_context().new_page()
    page.route(f"**/{blocked}", lambda route: route.abort())
    page.goto(f"{server.url}{PAGE}")
    place = opened(page)
    said = place.get_by_role("status").filter(has_text="What is recorded stays below.")
    said.wait_for(timeout=SLOW)
    assert "Python could not be loaded here" in said.inner_text()
    assert page.locator(f"[id='{BLOCK}-output'] pre").is_visible()
    page.context.close()


def test_a_page_from_a_folder_says_that_it_cannot_run(
    browser: Any, built_site: Path, runtime: Path
) -> None:
    page = browser.new_context().new_page()
    page.goto(f"file://{built_site}/{PAGE}index.html")
    place = opened(page)
    place.get_by_text("opened from a folder can start no Python").wait_for()
    page.context.close()


def test_a_block_of_torch_leads_to_the_notebook(visit: Visit, server: Server) -> None:
    page = visit("404.html")
    found = '<nav class="downloads" aria-label="Downloads"><a href="../x.ipynb">Notebook</a></nav>'
    page.route(
        "**/counting-the-work/",
        lambda route: route.fulfill(
            response=(answer := route.fetch()),
            body=answer.text().replace("</article>", f"{found}</article>", 1),
        ),
    )
    page.goto(f"{server.url}chapters/counting-the-work/")
    link = page.locator("#three-answers").get_by_role("link", name="Open as notebook")
    assert link.get_attribute("href").endswith(".ipynb")


def test_a_readers_answer_is_compared_with_the_recorded_one(visit: Visit) -> None:
    page = visit("self-test/")
    form = page.locator(".book-answer").first
    box, status = form.get_by_label("Your answer"), form.get_by_role("status")
    for typed, said in (
        ("3,072 and 9663676416", "Agrees with the recorded answer."),
        ("equal at 512", "Not in the recorded answer: 512."),
        ("I do not know", "Type a number, or several."),
    ):
        box.fill(typed)
        box.press("Enter")
        status.get_by_text(said).wait_for()
    assert [] == violations(page)
