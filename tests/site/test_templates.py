"""What the book's templates add to a page, seen on a book of three pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = """\
site_name: Book
site_url: https://book.example/
{source}
theme: {{name: material, custom_dir: {overrides}, font: false}}
nav: [index.md, Part: [one.md, two.md]]
extra: {{license: "https://licence.example/"}}
"""


def built(folder: Path, source: str) -> Path:
    sentences = {"index": "The whole.", "one": "What it is.", "two": "What follows."}
    (folder / "docs").mkdir()
    for name, sentence in sentences.items():
        page = f"---\ndescription: {sentence}\nminutes: 7\n---\n\n# Page {name}\n"
        (folder / f"docs/{name}.md").write_text(page, "utf-8")
    settings = SETTINGS.format(source=source, overrides=ROOT / "docs/overrides")
    (folder / "mkdocs.yml").write_text(settings, "utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    return folder / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = "repo_url: https://code.example/owner/book\nedit_uri: edit/main/docs/"
    return built(tmp_path_factory.mktemp("book"), source)


def test_a_page_links_to_its_source_where_the_repository_is_known(
    site: Path, tmp_path: Path
) -> None:
    source = "https://code.example/owner/book/edit/main/docs/one.md"
    link = f'<a href="{source}" rel="edit">Edit this page</a>'
    assert link in (site / "one/index.html").read_text("utf-8")
    unknown = built(tmp_path, 'repo_url: ""\nedit_uri: ""')
    assert "Edit this page" not in (unknown / "one/index.html").read_text("utf-8")


def test_a_page_says_where_it_stands_and_how_long_it_takes(site: Path) -> None:
    place = '<p class="book-place">Part <span>7 minutes</span></p>'
    assert place in (site / "one/index.html").read_text("utf-8")


def test_the_pages_on_either_side_come_with_a_sentence(site: Path) -> None:
    html = (site / "one/index.html").read_text("utf-8")
    before, after = html.index('rel="prev"'), html.index('<span class="book-neighbour">')
    assert before < after
    for sentence in ("The whole.", "What follows."):
        assert f'<span class="book-sentence">{sentence}</span>' in html


def test_an_address_without_a_page_offers_the_map_and_the_search(site: Path) -> None:
    html = (site / "404.html").read_text("utf-8")
    assert '<label class="book-search" for="__search">' in html
    for name in ("one", "two"):
        assert f'<li><a href="/{name}/">Page {name}</a></li>' in html
