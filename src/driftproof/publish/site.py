"""Publishing: everything that readers take away, written into a site that is built."""

from __future__ import annotations

from pathlib import Path

from driftproof.check import check
from driftproof.config import Config
from driftproof.problem import DriftproofError
from driftproof.publish.book import read_book
from driftproof.publish.cards import write_cards
from driftproof.publish.chromium import find_chromium
from driftproof.publish.epub import write_epub
from driftproof.publish.llms import write_llms
from driftproof.publish.notebooks import write_notebook
from driftproof.publish.offline import write_offline
from driftproof.publish.pdf import write_pdf
from driftproof.publish.sources import write_sources
from driftproof.report import as_text


def formats(config: Config) -> list[str]:
    """Return the names of what this machine can make of the book, for the site's templates."""
    book = read_book(config)
    found = ["epub", "offline"]
    found += ["notebook"] if book.notebooks else []
    found += ["card"] if book.url else []  # only a full address leads to one
    found += ["pdf"] if find_chromium() else []
    return sorted(found)


def publish(config: Config, site: Path) -> list[Path]:
    """Write what readers take away into the built site; return what was written.

    Raises:
        DriftproofError: The folder holds no site, or not that of these pages; a page drifted.
    """
    if not (site / "index.html").is_file():
        raise DriftproofError("no-site", f"{site} holds no site", "build it first")
    book, made = read_book(config), formats(config)
    written = write_llms(book, site)
    if "notebook" in made:
        report = check(config, [entry.page.path for entry in book.notebooks])
        if report.problems:
            message = f"pages do not hold, so none is taken away\n{as_text(report)}"
            raise DriftproofError("not-held", message, "`driftproof check` names what to correct")
        written += [write_notebook(book, entry, report, site) for entry in book.notebooks]
        written.append(write_sources(book, site))
    if "card" in made:
        written += write_cards(book, site)
    if "pdf" in made:
        written.append(write_pdf(book, site))
    written.append(write_epub(book, site))
    written.append(write_offline(book, site))  # last: it is a copy
    return written
