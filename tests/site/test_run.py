"""Blocks run in the reader's browser, and print there what the book has recorded."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Server, Visit

pytestmark = pytest.mark.browser

RUNTIME = 9_000_000  # bytes as a host sends them
VERDICT = ".book-runner[data-verdict]"
SLOW = 90_000  # milliseconds until Python has started on a busy machine


@pytest.fixture(scope="session")
def runtime(built_site: Path) -> Path:
    """The folder of the Python that the site brings along."""
    found = list(built_site.glob("assets/pyodide-*"))
    if not found:
        pytest.skip("the site has no Python for the browser: make site fetches it")
    return found[0]


@pytest.fixture(scope="session")
def runnable(built_site: Path) -> dict[str, list[dict[str, Any]]]:
    """The blocks that run in a browser, by the address of their page."""
    return {
        f"{file.parent.relative_to(built_site).as_posix()}/".removeprefix("./"): [
            block for block in json.loads(file.read_text("utf-8")) if block["runs"]
        ]
        for file in sorted(built_site.rglob("blocks.json"))
    }


def test_every_block_that_can_run_reproduces_its_record(
    visit: Visit, runtime: Path, runnable: dict[str, list[dict[str, Any]]]
) -> None:
    assert sum(map(len, runnable.values())) > 70
    wrong = {}
    for path, blocks in runnable.items():
        page = visit(path)
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        for block in blocks:
            place = page.locator(f"[id='{block['id']}']")
            place.locator("button.book-run").click()
            status = place.get_by_role("status")
            place.locator(VERDICT).wait_for(timeout=SLOW)
            if place.locator(VERDICT).get_attribute("data-verdict") != "same":
                wrong[path, block["id"]] = status.inner_text(), place.locator("li").all_inner_texts()
        page.close()
    assert {} == wrong
