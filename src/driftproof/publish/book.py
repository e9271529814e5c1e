"""What the site's own settings say about the book: its name, its pages and their order."""

from __future__ import annotations

import datetime
import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urljoin

import yaml
from yaml_env_tag import construct_env_tag

from driftproof.config import Config
from driftproof.grammar import FRONT_MATTER, parse_page
from driftproof.page import Page
from driftproof.problem import DriftproofError

_EARLIEST = 315532800  # 1980, the first year that a zip file can name


@dataclass(frozen=True)
class Entry:
    """A page of the navigation.

    Attributes:
        page: The parsed page.
        source: Its path under the folder of the pages.
        title: What it is called.
        description: What it says, in a sentence; "" where it has none.
        section: The names of the sections that hold it, outermost first.
    """

    page: Page
    source: str
    title: str
    description: str
    section: tuple[str, ...]

    @property
    def url(self) -> str:
        """Its address on the site, relative to the front page."""
        path = PurePosixPath(self.source)
        if path.name in ("index.md", "README.md"):
            return "" if path.parent == PurePosixPath() else f"{path.parent}/"
        return f"{path.with_suffix('')}/"

    @property
    def slug(self) -> str:
        """A name for it that can stand in a link and in a file name."""
        return _hyphenated(self.source.removesuffix(".md"))


@dataclass(frozen=True)
class Book:
    """A book as its readers know it.

    Attributes:
        config: The project's settings.
        name: What it is called.
        description: What it is about, in a sentence.
        author: Who wrote it, "" where the site does not say.
        copyright: On what terms it may be used.
        language: The language of its text.
        url: Where it is published, with a slash at the end; "" where that is not known.
        entries: Its pages in the order of the navigation.
    """

    config: Config
    name: str
    description: str
    author: str
    copyright: str
    language: str
    url: str
    entries: tuple[Entry, ...]

    @property
    def file_name(self) -> str:
        """The name that its files share."""
        return _hyphenated(self.name)

    @property
    def volume(self) -> list[Entry]:
        """The pages that make up the book where it is one document."""
        apart = self.config.online_only
        return [e for e in self.entries if not any(fnmatch(e.page.path, p) for p in apart)]

    @property
    def notebooks(self) -> list[Entry]:
        """The pages that are offered as notebooks."""
        wanted = self.config.notebooks
        return [e for e in self.entries if any(fnmatch(e.page.path, p) for p in wanted)]

    @property
    def sources(self) -> str:
        """The name of the archive from which the code of the pages is installed."""
        project = tomllib.loads((self.config.root / "pyproject.toml").read_text("utf-8"))
        named = project.get("project", {})
        return f"{named.get('name', self.file_name)}-{named.get('version', '0')}.tar.gz"

    def at(self, path: str) -> str:
        """Return the full address of a path of the site; "" where none is known."""
        return urljoin(self.url, path) if self.url else ""


def read_book(config: Config) -> Book:
    """Read mkdocs.yml as data, and the pages that it names.

    Raises:
        DriftproofError: There is no mkdocs.yml, or it has no navigation.
    """
    file = config.root / "mkdocs.yml"
    if not file.is_file():
        raise DriftproofError(
            "navigation", f"there is no {file.name}", "it stands beside pyproject.toml"
        )
    site = yaml.load(file.read_text("utf-8"), _Loader)
    named = list(_named(site.get("nav") or [], ()))
    if not named:
        hint = "list the pages in `nav`, which gives them their order"
        raise DriftproofError("navigation", "a book needs a nav", hint, file.name)
    url = site.get("site_url") or ""
    return Book(
        config,
        name=site["site_name"],
        description=site.get("site_description", ""),
        author=site.get("site_author", ""),
        copyright=site.get("copyright", ""),
        language=(site.get("theme") or {}).get("language", "en"),
        url=url if not url or url.endswith("/") else f"{url}/",
        entries=tuple(_entry(config, *found) for found in named),
    )


def published_at() -> datetime.datetime:
    """Return the date that files bear: that of SOURCE_DATE_EPOCH, so that it is no clock's."""
    seconds = max(int(os.environ.get("SOURCE_DATE_EPOCH") or 0), _EARLIEST)
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def _hyphenated(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _named(nav: list[Any], section: tuple[str, ...]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield path, title ("" where the page has its own) and sections of each page."""
    for item in nav:
        title, target = next(iter(item.items())) if isinstance(item, dict) else ("", item)
        if isinstance(target, list):
            yield from _named(target, (*section, title))
        elif str(target).endswith(".md"):
            yield target, title, section


def _entry(config: Config, source: str, title: str, section: tuple[str, ...]) -> Entry:
    path = f"{config.docs}/{source}"
    if not (config.root / path).is_file():
        message = f"nav names {source}, which is not under {config.docs}/"
        raise DriftproofError("navigation", message, "correct its path", "mkdocs.yml")
    page = parse_page(config, path)
    front = FRONT_MATTER.match("\n".join(page.lines))
    meta = yaml.safe_load(front[0].strip().strip("-.")) if front else None
    meta = meta if isinstance(meta, dict) else {}
    title = title or meta.get("title") or _heading(page) or Path(source).stem
    return Entry(page, source, title, meta.get("description", ""), section)


def _heading(page: Page) -> str:
    heading = next((text for text in page.prose if text.startswith("# ")), "")
    return re.sub(r"\s*\{[^}]*\}\s*$", "", heading.removeprefix("# ")).strip()


class _Loader(yaml.SafeLoader):
    """Knows MkDocs' `!ENV`, and leaves out what names an object of Python."""


_Loader.add_constructor("!ENV", construct_env_tag)
_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
