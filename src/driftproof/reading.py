"""Reads the pages of a book: each is parsed again when it or what it includes has changed."""

from __future__ import annotations

import os
from functools import partial

from driftproof import lint
from driftproof.config import Config
from driftproof.grammar import parse_bytes, parse_page
from driftproof.kept import Kept, key, settled, tool
from driftproof.mathematics import converted
from driftproof.observe import digest_once
from driftproof.page import Page
from driftproof.problem import Problem
from driftproof.reads import noted, of_projects

_FREE = ("root", "cache")
"""Settings that change nothing in what a page is."""


def kept(config: Config) -> Kept:
    """Return what is kept of the project's pages."""
    return Kept(config.root, config.root / config.cache / "pages")


def read_page(config: Config, path: str) -> Page:
    """Return the page at `path` (relative to the root), as `parse_page` does."""
    try:
        content = (config.root / path).read_bytes()
    except OSError:
        return parse_page(config, path)
    settings = {name: value for name, value in vars(config).items() if name not in _FREE}
    name = key(tool(), settings, path, content)
    page = kept(config).load(path, "parsed", name)
    if page is None:
        with noted() as found:
            page = parse_bytes(config, path, content)
        files = sorted(os.path.relpath(file, config.root) for file in of_projects(found.files))
        paths = [config.root / file for file in files]
        # A file that is missing cannot be seen to be read.
        if not page.problems and settled(paths, found.since):
            page.key = key(name, [digest_once(path) for path in paths])
            kept(config).store(path, "parsed", name, page, files)
    return page


def faults(config: Config, page: Page) -> list[Problem]:
    """Return what is wrong with a page beside its grammar."""
    return kept(config).of(page, "faults", partial(_faults, config))


def _faults(config: Config, page: Page) -> list[Problem]:
    recall_formulas(config, page.path)
    found = lint.problems(page)
    asked = {(tex, display) for *_, tex, display in lint.formulas(page) if tex}
    made = {formula: converted[formula] for formula in sorted(asked & converted.keys())}
    kept(config).store(page.path, "formulas", tool(), made)
    return found


def recall_formulas(config: Config, path: str) -> None:
    """Know the formulas that a page had before, which it most likely has still."""
    converted.update(kept(config).load(path, "formulas", tool()) or {})
