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
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from driftproof.kept import Kept, key, settled, tool
from driftproof.observe import digest_once
from driftproof.reads import Reads, modules, noted, of_projects
from driftproof.warned import logged

_TOLD = (
    ("autorefs", "register_anchor"),
    ("mkdocstrings", "handlers.get_handler"),
    ("mkdocstrings", "handlers.inventory.register"),
)
"""What rendering a page tells other plugins: their methods."""
_THE_PAGE = "\0page"
"""Stands for the page among what it tells."""
_STATELESS = ("AutorefsExtension", "MkdocstringsExtension")
"""Markdown extensions given as objects, of which nothing counts but their plugin's settings."""
_PURE = ("driftproof.", "markdown_exec.", "material.plugins.search.", "mkdocs.", "mkdocs_autorefs.",
         "mkdocstrings.")  # fmt: skip
"""Packages whose plugins make the same of the same files."""
_OBJECTS = ("config_file_path", "docs_dir", "exclude_docs", "draft_docs", "hooks", "not_in_nav",
            "markdown_extensions", "plugins", "site_dir", "theme", "watch")  # fmt: skip
"""Settings that hold objects or paths of this machine; what counts of them is said otherwise."""
_PATTERNS = ("exclude_docs", "draft_docs", "not_in_nav")
"""Settings that hold patterns of pages."""
_CONTEXT = ("build_date_utc", "config", "nav", "page", "pages")
"""What every template is given, and what counts of it is said otherwise."""
_OF_PAGES = ("_title_from_render", "abs_url", "active", "canonical_url", "children", "content",
             "edit_url", "file", "is_homepage", "is_page", "links_to_anchors", "markdown", "meta",
             "next_page", "parent", "present_anchor_ids", "previous_page", "render", "title",
             "toc", "update_date")  # fmt: skip
"""What a page always has; anything else was given to it by a plugin."""
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
            for plugin, path, arguments, options in made["told"]:
                owner, method = self._method(plugin, path)
                arguments = [page if value == _THE_PAGE else value for value in arguments]
                getattr(owner, method)(*arguments, **options)
            return
        with noted() as read, logged(logging.INFO) as messages, self._telling(page) as told:
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
            about = page and _about(page)
            day, extra = context["build_date_utc"].date(), self.site.extra
            name = key(self._layout, template, others, day, extra, about, own)
        source = page.file.src_uri if page else template
        html = self.kept.load(source, "html", name) if self._layout and name else None
        if html is None:
            with logged(logging.INFO) as messages:
                html = render(context)
            if self._layout and name and not messages and settled(self._templates, self.since):
                self.kept.store(source, "html", name, html)
        return html

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
        folder = self.site.theme.custom_dir
        files = sorted(file for file in Path(folder).rglob("*") if file.is_file()) if folder else []
        texts = (_OWN.sub("", file.read_text("utf-8", "replace")) for file in files)
        if any(map(_BEYOND.search, texts)):
            return ""
        self._templates = files
        with suppress(TypeError):
            templates = [(str(file.relative_to(folder)), digest_once(file)) for file in files]
            return key(self.key, templates, [_about(file.page) for file in pages], _branch(nav))
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

    @contextmanager
    def _telling(self, page: Any) -> Generator[list[Any]]:
        """Note what a page tells other plugins; None stands for what cannot be said again."""
        told: list[Any] = []
        replaced = []

        def noting(plugin: str, path: str, method: Callable[..., Any]) -> Callable[..., Any]:
            def note(*arguments: Any, **options: Any) -> Any:
                kept = [_THE_PAGE if value is page else value for value in arguments]
                call = (plugin, path, kept, options)
                try:
                    key(call)
                except TypeError:
                    call = None
                if call not in told:
                    told.append(call)
                return method(*arguments, **options)

            return note

        for plugin, path in _TOLD:
            owner, method = self._method(plugin, path)
            if owner is not None:
                replaced.append((owner, method))
                setattr(owner, method, noting(plugin, path, getattr(owner, method)))
        try:
            yield told
        finally:
            for owner, method in replaced:
                delattr(owner, method)

    def _method(self, plugin: str, path: str) -> tuple[Any, str]:
        """Return the object to which pages tell something, None where it is not there."""
        *owners, method = path.split(".")
        owner = self.site.plugins.get(plugin)
        try:
            for name in owners if owner else ():
                owner = getattr(owner, name)
        except RuntimeError:  # the plugin is switched off
            return None, method
        return owner, method


def configured(site: Any) -> Any:
    """Return all settings of a site that decide what its pages hold."""
    extensions = [
        type(each).__name__ if type(each).__name__ in _STATELESS else each
        for each in site.markdown_extensions
    ]
    plugins = {
        name: (type(each).__module__, dict(each.config))
        for name, each in site.plugins.items()
        if not isinstance(each, ModuleType)
    }
    hooks = [digest_once(Path(str(each.__file__))) for each in site.hooks.values()]
    theme = {**dict(site.theme), "locale": str(site.theme.locale), "name": site.theme.name}
    others = {name: value for name, value in site.items() if name not in _OBJECTS}
    patterns = [
        [(each.include, each.regex and each.regex.pattern) for each in site[name].patterns]
        for name in _PATTERNS
        if site[name]
    ]
    return others, extensions, [*plugins.items()], hooks, theme, patterns


def is_pure(plugin: Any) -> bool:
    """Whether a plugin makes the same of the same files; a hook of the project's has to."""
    return isinstance(plugin, ModuleType) or f"{type(plugin).__module__}.".startswith(_PURE)


def changes_templates(site: Any) -> bool:
    """Whether a plugin or hook of which nothing is known can change what templates are given."""
    modules = (getattr(method, "__module__", "") for method in site.plugins.events["env"])
    return not all(f"{name}.".startswith(_PURE) for name in modules)


def _is_prose(name: str) -> bool:
    return name.endswith((".md", ".txt")) and os.path.isfile(name)


def _about(page: Any) -> Any:
    """Return what a template can show of a page that is not its own."""
    given = {name: value for name, value in vars(page).items() if name not in _OF_PAGES}
    place = page.file.src_uri, page.url, page.edit_url, page.canonical_url
    return place, page.title, page.meta, given


def _branch(items: Iterable[Any]) -> list[Any]:
    return [(item.title, getattr(item, "url", ""), _branch(item.children or ())) for item in items]


def _token(item: Any) -> dict[str, Any]:
    return {
        "name": item.title,
        "id": item.id,
        "level": item.level,
        "children": [_token(child) for child in item.children],
    }
