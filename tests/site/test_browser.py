"""The browser that the other tests look through sees the book, and what goes wrong in it."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Server, Visit, watch

pytestmark = pytest.mark.browser


def test_the_front_page_opens(visit: Visit) -> None:
    page = visit("")
    assert "One Hop" in page.title()
    assert 1 == page.locator("h1").count()


FETCHING_WORKER = """<script>
const code = new Blob(["fetch('https://elsewhere.example/b')"]);
new Worker(URL.createObjectURL(code));
</script>"""
REFUSED = (
    """<meta http-equiv="Content-Security-Policy" content="script-src 'none'"><script>1</script>"""
)


@pytest.mark.parametrize(
    ("html", "complaint"),
    [
        ('<img src="https://elsewhere.example/a">', "asked for https://elsewhere.example/a"),
        (FETCHING_WORKER, "asked for https://elsewhere.example/b"),
        ("<script>console.error('broken')</script>", "broken"),
        ("<script>throw new Error('thrown')</script>", "thrown"),
        (REFUSED, "Content Security Policy"),
    ],
)
def test_what_goes_wrong_is_written_down(
    browser: Any, server: Server, html: str, complaint: str
) -> None:
    complaints: list[str] = []
    context = browser.new_context()
    watch(context, server.url, complaints)
    page = context.new_page()
    page.set_content(html)
    page.wait_for_timeout(300)
    context.close()
    assert any(complaint in text for text in complaints), complaints
