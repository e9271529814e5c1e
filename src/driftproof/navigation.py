"""The navigation of a site, of which a branch without the page is drawn once for many pages.

Material draws all branches on every page, which takes time that grows with the square of the pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import jinja2

TEMPLATE = "partials/nav-item.html"
"""The theme's template whose macro `render` draws a branch."""
_MORE = re.compile(r"\bpage\s*(?:[\[|,}]|\.(?!toc\b))|\bpage\.toc\s*[.\[]")
"""What that template would say if it showed in a branch more of the page than that it is in it."""


class Branches:
    """The branches of the navigation that have been drawn in one build.

    Args:
        nav: The generator's navigation.
    """

    def __init__(self, nav: Iterable[Any]) -> None:
        self._tops = {id(item): (item, {id(each) for each in _all([item])}) for item in nav}
        items = list(_all(nav))
        pages = {_place(item.url) for item in items if item.is_page}
        links = {_place(item.url) for item in items if item.is_link}
        steps = [place.split("/") for place in pages | links]
        self._exact = links.union("/".join(parts[:n]) for parts in steps for n in range(len(parts)))
        self._drawn: dict[tuple[Any, ...], str] = {}

    def draw_once(self, template: jinja2.Template) -> None:
        """Have the theme's template of branches recall what it has drawn."""
        make = template.make_module
        if isinstance(make, partial) or not template.filename:
            return
        with open(template.filename, encoding="utf-8") as file:
            if not _MORE.search(file.read()):
                template.make_module = partial(self._module, make)  # ty: ignore[invalid-assignment]

    def _module(self, make: Any, variables: dict[str, Any], *others: Any) -> Any:
        """Return what `import` makes of the template for a page."""
        module = make(variables, *others)
        if page := variables.get("page"):
            seen = self._where(page.url), str(variables.get("features"))
            draw = partial(self._draw, module.render, page, seen)
            module.render = jinja2.pass_eval_context(draw)
        return module

    def _draw(
        self,
        render: Any,
        page: Any,
        seen: tuple[str, str],
        evaluation: Any,
        item: Any,
        *others: Any,
        **named: Any,
    ) -> str:
        """Return a branch as it is seen from a page."""
        _, inside = self._tops.get(id(item), (None, {id(page)}))
        is_plain = not named and all(isinstance(value, str | int) for value in others)
        if item.active or id(page) in inside or not is_plain:
            return render(evaluation, item, *others, **named)
        known = id(item), *others, *seen
        if known not in self._drawn:
            self._drawn[known] = render(evaluation, item, *others)
        return self._drawn[known]

    def _where(self, address: str) -> str:
        """Return what is common to the pages from which links look as they do from this address.

        Links to a page, or below it, look different from that page.
        """
        place = _place(address.rpartition("/")[0])
        return place if place in self._exact else f"{place.rpartition('/')[0]}/*"


def _place(address: str) -> str:
    return "/".join(part for part in address.split("/") if part not in ("", ".", ".."))


def _all(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        yield item
        yield from _all(item.children or ())
