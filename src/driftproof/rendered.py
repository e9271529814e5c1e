"""A page as the generator renders it, kept: nothing is converted, laid out or searched twice.

Three functions make a page of a site: of Markdown its content, of content and template its HTML, of
content the entries of the search. Each is replaced, on the objects of one build, by one that
recalls what the same input gave before. Plugins see what they always see.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from driftproof import navigation
from driftproof.generator import about, branch, changes_templates, configured, is_pure
from driftproof.kept import Kept, key, settled, tool
from driftproof.observe import digest_once
from driftproof.reads import Reads, modules, noted, of_projects
from driftproof.telling import tell, telling
from driftproof.warned import logged

_CONTEXT = ("build_date_utc", "config", "nav", "page", "pages")
"""What every template is given, and what counts of it is said otherwise."""
_REFERENCE = re.compile(r"^ *::: ", re.MULTILINE)
_LAYS_OUT_CODE = ("pyproject.toml", "ruff.toml", ".ruff.toml")
"""Files that decide how the code of signatures is laid out."""
_OWN = re.compile(r"(?<![.\w'\"])page\.(?:content|markdown|toc)\b")
_BEYOND = re.compile(
    r"build_date_utc|update_date|[.'\"](?:content|markdown|toc)\b"
    r"|\b(?:for|set|with)\s+page\b|\bmacro\b[^%]*\bpage\b"
)
"""What a template can ask for that is not in the key of a page's HTML."""


class Rendering:
    """What is kept of the pages of one build; nothing is, where that could be wrong.

    Args:
        kept: Where it is kept.
        site: The generator's configuration.
        addresses: The addresses of the site's files, to which links can lead.
        sources: The folder of the modules that reference pages describe.

    Attributes:
        key: A hash of all that pages have in common, "" where that is not known.
    """

    def __init__(self, kept: Kept, site: Any, addresses: Iterable[str], sources: Path) -> None:
        self.kept, self.site, self.sources = kept, site, sources
        self.since = time.time_ns()
        level = logging.getLogger("mkdocs").getEffectiveLevel()  # of what a page may warn
        code = sorted(modules())
        known = [(os.path.relpath(file, kept.root), digest_once(Path(file))) for file in code]
        try:
            self.key = key(tool(), configured(site), sorted(addresses), level, known)
        except TypeError:
            self.key = ""
        if not settled(map(Path, code), self.since):
            self.key = ""
        self._layout: str | None = None
        self._templates: list[Path] = []
        self._branches: navigation.Branches | None = None
        self._references: set[str] = set()

    def render(
        self,
        page: Any,
        files: Any,
        shown: Callable[[], Any],
        convert: Callable[[Any, Any], None],
        get_toc: Callable[[Any], Any],
    ) -> None:
        """Convert the Markdown of a page, or recall its content.

        Args:
            page: The generator's page.
            files: The files of the site.
            shown: Returns all that this package's extension shows on the page, as plain values.
            convert: What converts the Markdown.
            get_toc: Makes a table of contents of its tokens.
        """
        source = page.file.src_uri
        try:
            name = key(self.key, source, page.url, page.markdown, page.meta, shown(),
                       self.site.mdx_configs)  # fmt: skip
        except TypeError:
            name = ""
        made = self.kept.load(source, "content", name) if self.key and name else None
        if made is not None:
            page.content, page.toc = made["content"], get_toc(made["toc"])
            page._title_from_render, page.present_anchor_ids = made["title"], made["anchors"]
            page.links_to_anchors = {
                files.get_file_from_path(to): links for to, links in made["links"].items()
            }
            tell(self.site.plugins, page, made["told"])
            return
        plugins = self.site.plugins
        with noted() as read, logged(logging.INFO) as messages, telling(plugins, page) as told:
            convert(self.site, files)
        files = self._files(read, page.markdown, told)
        if not self.key or not name or messages or read.elsewhere or None in told:
            return
        if not settled(files, read.since):
            return
        made = {
            "content": page.content,
            "toc": [_token(item) for item in page.toc],
            "title": page._title_from_render,
            "anchors": page.present_anchor_ids,
            "links": {to.src_uri: links for to, links in (page.links_to_anchors or {}).items()},
            "told": told,
        }
        self.kept.store(source, "content", name, made, self._named(files))

    def lay_out(
        self, template: str, context: dict[str, Any], render: Callable[[dict[str, Any]], str]
    ) -> str:
        """Return the HTML of a page, or of a template that belongs to none.

        Args:
            template: Its name.
            context: What the template is given.
            render: Makes HTML of the context.
        """
        if self._layout is None:
            self._layout = self._layout_key(context["pages"], context["nav"])
        page, name = context.get("page"), ""
        with suppress(TypeError):
            others = {n: value for n, value in context.items() if n not in _CONTEXT}
            own = page and (page.content, page.markdown, [_token(item) for item in page.toc])
            shown = page and about(page)
            day, extra = context["build_date_utc"].date(), self.site.extra
            name = key(self._layout, template, others, day, extra, shown, own)
        source = page.file.src_uri if page else template
        html = self.kept.load(source, "html", name) if self._layout and name else None
        if html is None:
            with logged(logging.INFO) as messages:
                html = render(context)
            if self._layout and name and not messages and settled(self._templates, self.since):
                self.kept.store(source, "html", name, html)
        return html

    def part(self, template: Any) -> None:
        """Have the theme's template of the navigation draw a branch once for many pages."""
        if self._branches is None or template.name != navigation.TEMPLATE:
            return
        if Path(template.filename) not in self._templates:
            self._branches.draw_once(template)

    def index(self, entries: list[Any], page: Any, add: Callable[[Any], None]) -> None:
        """Add the entries of a page to those of the search.

        Args:
            entries: Those of the pages before.
            page: The generator's page.
            add: What finds the entries of a page, and adds them.
        """
        source, name = page.file.src_uri, ""
        with suppress(TypeError):
            toc = [_token(item) for item in page.toc]
            name = key(self.key, page.url, page.title, page.meta, page.content, toc)
        made = self.kept.load(source, "search", name) if self.key and name else None
        if made is not None:
            entries += made
            return
        before = len(entries)
        add(page)
        if self.key and name:
            self.kept.store(source, "search", name, entries[before:])

    def _layout_key(self, pages: Iterable[Any], nav: Any) -> str:
        """Return a hash of all that a template can show beside its page, "" if that is unknown."""
        if not self.key or not all(map(is_pure, self.site.plugins.values())):
            return ""
        if changes_templates(self.site):
            return ""
        folder = self.site.theme.custom_dir and os.path.normpath(self.site.theme.custom_dir)
        files = sorted(file for file in Path(folder).rglob("*") if file.is_file()) if folder else []
        texts = (_OWN.sub("", file.read_text("utf-8", "replace")) for file in files)
        if any(map(_BEYOND.search, texts)):
            return ""
        self._templates, self._branches = files, navigation.Branches(nav)
        with suppress(TypeError):
            templates = [(str(file.relative_to(folder)), digest_once(file)) for file in files]
            return key(self.key, templates, [about(file.page) for file in pages], branch(nav))
        return ""

    def _files(self, read: Reads, markdown: str, told: list[Any]) -> list[Path]:
        """Return the files on which the content of a page depends."""
        found = of_projects(read.files, [self.kept.folder.parent])
        texts = [Path(name).read_text("utf-8", "replace") for name in found if _is_prose(name)]
        tells = any(each and each[0] == "mkdocstrings" for each in told)
        if tells or any(map(_REFERENCE.search, [markdown, *texts])):
            self._references |= found  # modules are read once, for the first such page
            root = self.kept.root
            paths = [root / name for name in _LAYS_OUT_CODE]
            for sources in {self.sources, *(root / name for name in self._searched())}:
                inside = [
                    path for path in sources.rglob("*") if path.is_dir() or path.suffix == ".py"
                ]
                paths += [sources, *(path for path in inside if path.name != "__pycache__")]
            found = self._references | set(map(str, paths))
        return sorted(map(Path, found))

    def _searched(self) -> list[str]:
        """Return the folders in which modules are looked for to be described."""
        plugin = self.site.plugins.get("mkdocstrings")
        return plugin.config["handlers"].get("python", {}).get("paths", []) if plugin else []

    def _named(self, files: Iterable[Path]) -> list[str]:
        """Return the names of files as seen from the project's root."""
        return [os.path.relpath(file, self.kept.root) for file in files]


def _is_prose(name: str) -> bool:
    return name.endswith((".md", ".txt")) and os.path.isfile(name)


def _token(item: Any) -> dict[str, Any]:
    return {
        "name": item.title,
        "id": item.id,
        "level": item.level,
        "children": [_token(child) for child in item.children],
    }
