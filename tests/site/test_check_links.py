"""The link check accepts a sound site and names file, line and link of every bad one."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("check_links.py")
HOME = """<!doctype html>
<link rel="canonical" href="https://book.example/one-hop/">
<link rel="stylesheet" href="style.css">
<h1 id="top-of-page">Home</h1>
<a href="chapters/cell/#caf%C3%A9">chapter</a>
<img src="mark.svg?v=1" srcset="mark.svg 1x, mark.svg 2x" alt="">
"""
CHAPTER = """<!doctype html>
<a href="../..">up</a> <a href="/one-hop/index.html#top-of-page">home</a>
<a href="https://book.example/one-hop/chapters/cell/">itself, in full</a>
<a href="https://elsewhere.example/paper">a paper</a> <a href="mailto:me@book.example">write</a>
<h2 id="café">Gates</h2>
<svg><clipPath id="clip"/><path clip-path="url(#clip)"/></svg>
<p>A text may say url(https://elsewhere.example/a.png) without loading it.</p>
"""
STYLE = "/* @import 'https://elsewhere.example/a.css' */\nbody { background: url('mark.svg') }\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A small site without a bad link."""
    folder = tmp_path / "site"
    (folder / "chapters" / "cell").mkdir(parents=True)
    (folder / "index.html").write_text(HOME, encoding="utf-8")
    (folder / "chapters" / "cell" / "index.html").write_text(CHAPTER, encoding="utf-8")
    (folder / "style.css").write_text(STYLE, encoding="utf-8")
    (folder / "mark.svg").write_text('<svg><g id="mark"/></svg>', encoding="utf-8")
    return folder


def run_check(site: Path) -> subprocess.CompletedProcess[str]:
    """Run the script as `make check` does."""
    return subprocess.run(
        [sys.executable, SCRIPT, site], capture_output=True, text=True, check=False
    )


def test_a_sound_site_passes(site: Path) -> None:
    result = run_check(site)
    assert (0, "", "2 pages, 0 bad links\n") == (result.returncode, result.stderr, result.stdout)


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ('<a href="missing/">', "no such file: 'missing/'"),
        ('<a href="#nowhere">', "no such anchor in page.html: '#nowhere'"),
        ('<a href="mark.svg#nothing">', "no such anchor in mark.svg: 'mark.svg#nothing'"),
        ('<a href="chapters/cell/#Café">', "no such anchor in chapters/cell/index.html"),
        ('<meta name="here"><a href="#here">', "no such anchor in page.html: '#here'"),
        ('<a href="/other/">', "leads out of the site: '/other/'"),
        ('<a href="../../etc/passwd">', "leads out of the site"),
        ('<a href="javascript:go()">', "unexpected scheme javascript: 'javascript:go()'"),
        ('<p onclick="go()">', "unexpected scheme javascript: 'javascript:go()'"),
        ('<a href="file:///x">', "unexpected scheme file: 'file:///x'"),
        ('<img src="">', "empty link: ''"),
        ('<img src="none.png">', "no such file: 'none.png'"),
        ('<img srcset="mark.svg 1x, none.png 2x">', "no such file: 'none.png'"),
        (
            '<script src="//cdn.example/x.js"></script>',
            "loaded from another host: '//cdn.example/x.js'",
        ),
        ('<iframe src="https://video.example/1"></iframe>', "loaded from another host"),
        ('<link rel="preconnect" href="https://fonts.example">', "loaded from another host"),
        ('<style>\n@import "https://fonts.example/a.css";</style>', "loaded from another host"),
        ('<p style="background: url(//img.example/a.png)">', "loaded from another host"),
        ('<svg><image xlink:href="https://img.example/a.png"/></svg>', "loaded from another host"),
        (
            '<meta http-equiv="refresh" content="0; url=https://a.example/">',
            "loaded from another host",
        ),
        ('<form action="https://a.example/">', "loaded from another host"),
        ('<link imagesrcset="//a.example/1.png 2x" href="mark.svg">', "loaded from another host"),
        ('<svg><feImage href="https://img.example/a.png"/></svg>', "loaded from another host"),
        ('<svg><path clip-path="url(#gone)"/></svg>', "no such anchor in page.html: '#gone'"),
    ],
)
def test_a_bad_link_fails_with_file_and_line(site: Path, html: str, reason: str) -> None:
    (site / "page.html").write_text(f"<!doctype html>\n{html}\n", encoding="utf-8")
    result = run_check(site)
    assert 1 == result.returncode
    line = 3 if "<style>" in html else 2
    assert result.stderr.startswith(f"page.html:{line}: {reason}")
    assert "3 pages, 1 bad links\n" == result.stdout


def test_a_style_sheet_is_checked_too(site: Path) -> None:
    (site / "style.css").write_text("p { color: red }\n@import 'https://fonts.example/a.css';\n")
    result = run_check(site)
    assert 1 == result.returncode
    assert result.stderr.startswith("style.css:2: loaded from another host: 'https://fonts.example")


def test_a_folder_without_pages_fails(tmp_path: Path) -> None:
    result = run_check(tmp_path / "site")
    assert 1 == result.returncode
    assert "no HTML page here" in result.stderr


def test_no_script_of_the_book_names_another_host() -> None:
    scripts = sorted((ROOT / "docs/assets").rglob("*.js"))
    assert scripts
    names_no_place = {"http://www.w3.org"}  # a namespace of SVG and MathML
    for script in scripts:
        hosts = set(re.findall(r"""(?:https?|wss?):?//[^/"'`\s]+""", script.read_text("utf-8")))
        assert hosts <= names_no_place, script
