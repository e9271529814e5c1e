"""What of a generator's objects decides what its pages hold, as values that can be compared."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from driftproof.observe import digest_once

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
_OF_PAGES = ("_title_from_render", "abs_url", "active", "canonical_url", "children", "content",
             "edit_url", "file", "is_homepage", "is_page", "links_to_anchors", "markdown", "meta",
             "next_page", "parent", "present_anchor_ids", "previous_page", "render", "title",
             "toc", "update_date")  # fmt: skip
"""What a page always has; anything else was given to it by a plugin."""


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


def about(page: Any) -> Any:
    """Return what a template can show of a page that is not its own."""
    given = {name: value for name, value in vars(page).items() if name not in _OF_PAGES}
    place = page.file.src_uri, page.url, page.edit_url, page.canonical_url
    return place, page.title, page.meta, given


def branch(items: Iterable[Any]) -> list[Any]:
    """Return what a template can show of a part of the navigation."""
    return [(item.title, getattr(item, "url", ""), branch(item.children or ())) for item in items]
