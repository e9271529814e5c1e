"""What is read of a site's settings, and what is made of them elsewhere."""

from __future__ import annotations

import io
import tarfile

import pytest
from PIL import Image

from driftproof.problem import DriftproofError
from driftproof.publish.book import read_book
from driftproof.publish.cards import picture, write_cards
from driftproof.publish.llms import write_llms
from driftproof.publish.sources import write_sources


def test_pages_come_in_the_order_of_the_navigation_with_their_titles(small):
    book = small("https://book.example/small")
    assert [
        ("", "Home", ()),
        ("chapters/decay/", "Decay", ("Chapters",)),
        ("help/", "Help", ()),
    ] == [(entry.url, entry.title, entry.section) for entry in book.entries]
    assert "https://book.example/small/" == book.url
    assert ["index.md", "chapters/decay.md"] == [entry.source for entry in book.volume]


def test_a_navigation_that_names_no_page_is_an_error(project):
    project.write("mkdocs.yml", "site_name: Book\nnav: [gone.md]\n")
    with pytest.raises(DriftproofError, match=r"nav names gone\.md, which is not under docs/"):
        read_book(project.config)


def test_a_book_without_navigation_is_an_error(project):
    project.write("mkdocs.yml", "site_name: Book\n")
    with pytest.raises(DriftproofError, match="a book needs a nav"):
        read_book(project.config)


def test_language_models_get_a_list_of_pages_and_the_whole_text(small, site):
    short, full = (path.read_text("utf-8") for path in write_llms(small(), site))
    assert short.startswith("# A Small Book\n\n> What is left after ten steps.\n")
    assert "## Chapters\n\n- [Decay](chapters/decay.md): A half, ten times.\n" in short
    assert "```text\nleft 0.000977\n```" in full
    assert "There is none." not in full


def test_a_card_is_a_picture_of_the_size_that_links_show(small, site):
    cards = list(write_cards(small(), site))
    assert ["chapters/decay.png", "help.png", "index.png"] == sorted(
        path.relative_to(site / "assets/cards").as_posix() for path in cards
    )
    assert (1200, 630) == Image.open(cards[1]).size


def test_words_too_long_for_a_card_are_cut_and_not_drawn_over_its_edge(small):
    card = picture(small(), "A title " * 40, "A text " * 40, (1200, 630))
    edge = Image.open(io.BytesIO(card)).convert("RGB").crop((0, 620, 1200, 630))
    assert [(12000, (251, 250, 247))] == edge.getcolors()


def test_the_code_is_an_archive_that_pip_can_install(small, site):
    path = write_sources(small(), site)
    with tarfile.open(path) as archive:
        names = archive.getnames()
    assert ["a-small-book-0/pyproject.toml", "a-small-book-0/src/halves.py"] == names
