"""The font of the book has every character that its pages set in it."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

pytestmark = pytest.mark.browser

ELSEWHERE = re.compile(r"<(script|style|pre|code|svg|header|nav|title)\b.*?</\1>", re.DOTALL)


def test_the_font_has_every_character_of_the_pages(built_site: Path) -> None:
    font = TTFont(built_site / "assets/fonts/stix-two.woff2")
    drawn_by_the_theme = "↩"
    known = {chr(int(code)) for code in font.getBestCmap() or ()} | set("\n\t" + drawn_by_the_theme)
    missing = {}
    for file in built_site.rglob("*.html"):
        text = unescape(re.sub(r"<[^>]+>", "", ELSEWHERE.sub("", file.read_text("utf-8"))))
        if lacking := set(text) - known:
            missing[file.relative_to(built_site).as_posix()] = "".join(sorted(lacking))
    assert {} == missing
