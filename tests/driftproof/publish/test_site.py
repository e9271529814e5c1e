"""The command `driftproof publish` writes what it promises, and says what it leaves out."""

from __future__ import annotations

import sys
from pathlib import Path


def no_chromium(tmp_path: Path) -> str:
    """A path on which Python is the only program."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").symlink_to(sys.executable)
    return str(folder)


def test_without_chromium_the_pdf_is_left_out_and_the_command_says_so(built, tmp_path):
    path = no_chromium(tmp_path)
    said = built.command("driftproof.cli", "publish", "--formats", PATH=path)
    assert "epub notebook offline\n" == said.stdout
    done = built.command("driftproof.cli", "publish", "site", PATH=path)
    assert 0 == done.returncode, done.stdout
    assert "the PDF is left out: Chromium is not installed" in done.stdout
    for name in ("a-small-book.epub", "a-small-book-offline.zip", "chapters/decay.ipynb"):
        assert (built.root / "site" / name).is_file()


def test_without_chromium_continuous_integration_fails(built, tmp_path):
    path = no_chromium(tmp_path)
    assert 1 == built.command("driftproof.cli", "publish", PATH=path, CI="true").returncode


def test_cards_are_made_where_the_address_of_the_site_is_known(built):
    url = "https://book.example/"
    said = built.command("driftproof.cli", "publish", "--formats", SMALL_BOOK_URL=url)
    assert "card" in said.stdout.split()


def test_a_folder_without_a_site_is_an_error(built):
    done = built.command("driftproof.cli", "publish", "docs")
    said = "driftproof: docs holds no site [no-site]\n    build it first\n"
    assert (2, said) == (done.returncode, done.stdout)


def test_a_page_that_drifted_since_the_build_is_not_published(built):
    page = built.read("docs/chapters/decay.md")
    built.write("docs/chapters/decay.md", page.replace("left 0.000977", "left 0.000978"))
    try:
        done = built.command("driftproof.cli", "publish", "site")
    finally:
        built.write("docs/chapters/decay.md", page)
    assert 2 == done.returncode
    assert "and no tolerance is declared" in done.stdout
