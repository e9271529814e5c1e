"""The anchors of a page as it was converted: each of its blocks has one, and each is one."""

from __future__ import annotations

import re
from collections import Counter

from driftproof.page import Page
from driftproof.problem import Problem

_ID = re.compile(r"""\sid=(?:"([^"]+)"|'([^']+)')""")


def counted(html: str) -> Counter[str]:
    """Return how often each id occurs in HTML."""
    return Counter(first or second for first, second in _ID.findall(html))


def misplaced(page: Page, count: Counter[str]) -> list[Problem]:
    """Return what is wrong with the anchors of a page's blocks and outputs."""
    found = []

    def problem(code: str, line: int, message: str, hint: str) -> None:
        found.append(Problem(code, page.path, line, message, hint))

    for block in page.blocks:
        if block.anchor not in count:
            hint = "is it inside something that is not rendered?"
            problem("not-shown", block.line, "this block is not on the page", hint)
        for anchor in (block.anchor, block.output_anchor):
            if count[anchor] > 1:
                message = f"the id {anchor!r} is also that of something else on the page"
                problem("duplicate-id", block.line, message, "ids are unique on a page")
    return found
