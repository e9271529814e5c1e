"""What makes the site light changes no word, and keeps every rule that a page can use."""

from __future__ import annotations

import importlib.util
import re
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from driftproof.kept import Kept

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "snippets" / "slim.py"
spec = importlib.util.spec_from_file_location("slim", SCRIPT)
assert spec
assert spec.loader
slim = importlib.util.module_from_spec(spec)
sys.modules["slim"] = slim
spec.loader.exec_module(slim)


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        (".kept", True),
        (".gone", False),
        (".kept .gone", False),
        ("#kept > p::before", True),
        (":not(.gone)", True),
        (".kept:is(.gone, .kept)", True),
        (":is(:not(.gone), .gone).kept", True),
        ("[data-scheme=kept]", True),
        ('[data-scheme="gone"]', False),
        (r".md\:kept", False),
        ("p:first-child", True),
        (".kept > h6:hover", False),
        ("h6", False),
    ],
)
def test_a_rule_is_kept_when_all_its_names_occur(selector: str, matches: bool) -> None:
    assert matches is slim.can_match(selector, {"kept", "p"})


def test_of_a_style_sheet_remains_what_can_be_used() -> None:
    css = """
    :root { --a: 1px; --b: var(--c); --c: 2px; --icon: url("data:image/svg+xml,<svg>;{}</svg>") }
    .kept, .gone { margin: var(--a) !important; }
    @media print { .gone { color: red } }
    @media screen and (min-width: 10em) { .gone { color: red } .kept { color: blue } }
    @font-face { font-family: "Book"; }
    """
    expected = (
        ":root{--a:1px}.kept{margin:var(--a)!important}"
        "@media screen and (min-width: 10em){.kept{color:blue}}"
        '@font-face { font-family: "Book"; }'
    )
    assert expected == slim.slim_styles(css, {"kept"})


def test_a_class_that_only_a_script_gives_keeps_its_rule(tmp_path: Path) -> None:
    files = {
        "index.html": '<link rel="stylesheet" href="assets/stylesheets/a.css">'
        '<p class="still" title="gone">',
        "assets/stylesheets/a.css": ".still{top:0}.lively{top:1px}.gone{top:2px}",
        "assets/javascripts/widgets/w.js": 'figure.className = "lively";',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    slim.slim(tmp_path, Kept(tmp_path, tmp_path / "kept"))
    styles = (tmp_path / "assets/stylesheets/site.css").read_text("utf-8")
    assert ".still{top:0}.lively{top:1px}" == styles


def test_blanks_go_where_no_reader_sees_them() -> None:
    html = "<p>\n   one\n\n   <b>two</b>  three</p>\n<pre>\n  as\n\n  it is</pre>\n\n\n<p>"
    expected = "<p>\none\n<b>two</b>  three</p>\n<pre>\n  as\n\n  it is</pre>\n<p>"
    assert expected == slim.slim_page(html)


def test_names_and_operators_in_code_need_no_element() -> None:
    code = '<span class="k">def</span><span class="w"> </span><span class="n">f</span>'
    html = f"<pre><span></span>{code}</pre>"
    assert '<pre><span class="k">def</span> f</pre>' == slim.slim_page(html)


def test_neighbours_of_one_colour_become_one_element() -> None:
    string = '<span class="sa">f</span><span class="s2">"</span><span class="si">{</span>'
    html = f'<pre>{string}<span class="n">x</span> <span class="mf">1.5</span></pre>'
    expected = '<pre>f<span class="s2">"{</span>x <span class="mi">1.5</span></pre>'
    assert expected == slim.slim_page(html)


def test_tokens_become_others_of_the_same_colour() -> None:
    theme = Path(str(files("material") / "templates/assets/stylesheets"))
    theirs = next(theme.glob("main.*.min.css")).read_text("utf-8")
    rules = re.findall(r"([^{}]*)\{color:var\(--md-code-hl-(\w+)-color\)\}", theirs)
    kinds = {token: kind for tokens, kind in rules for token in tokens.split(",")}
    book = (ROOT / "docs/assets/stylesheets/book.css").read_text("utf-8")
    colours = dict(re.findall(r"--md-code-(?:hl-)?(\w+)-color: ([^;]*);", book))

    def colour(token: str) -> str:
        return colours[kinds.get(f".highlight .{token}", "fg")]

    for token, other in slim._COLOUR.items():
        assert colour(token) == colour(other)
    plain = slim._PLAIN_TOKEN.pattern.partition("(?:")[2].partition(")")[0].split("|")
    assert {colours["fg"]} == set(map(colour, plain))


def test_a_picture_loses_idle_groups_and_digits_but_no_text() -> None:
    svg = """<svg role="img" aria-label="0.12345 of all">
<g>
  <g clip-path="url(#c)"><path d="M 0 0.12345
L 7.999 3
z
" style="opacity: 0.333333"/></g>
  <g/>
  <text x="1.005001" transform="rotate(-0 1 2)">0.12345</text>
</g>
</svg>"""
    expected = """<svg role="img" aria-label="0.12345 of all">
<g clip-path="url(#c)"><path d="M0 0.1L8 3z" style="opacity: 0.333333"/></g>
<text x="1">0.12345</text>
</svg>"""
    assert expected == slim.slim_page(svg)


def test_what_a_picture_says_twice_it_says_once() -> None:
    svg = """<svg role="img"><defs><path id="m1" d="M 0 0
" style="stroke: red"/></defs>
<use xlink:href="#m1" x="1" style="stroke: red"/><use xlink:href="#m1" x="2" style="stroke: blue"/>
<g><path d="M 0 0
L 1 1
" style="fill: none; stroke: red"/></g>
<g><path d="M 2 2
L 3 3
" style="fill: none; stroke: red"/></g>
<path d="M 4 4" style="fill: none; stroke: blue"/></svg>"""
    expected = """<svg role="img"><defs><path id="m1" d="M0 0" style="stroke: red"/></defs>
<use xlink:href="#m1" x="1"/><use xlink:href="#m1" x="2" style="stroke: blue"/>
<path d="M0 0L1 1M2 2L3 3" style="fill: none; stroke: red"/>
<path d="M4 4" style="fill: none; stroke: blue"/></svg>"""
    assert expected == slim.slim_page(svg)


def test_the_shape_of_an_icon_stays() -> None:
    icon = '<svg viewBox="0 0 24 24"><path d="M3.04.5a1 1 0 012.34.56z"/></svg>'
    assert icon == slim.slim_page(icon)


def test_a_page_names_one_style_sheet() -> None:
    html = (
        '<link rel="stylesheet" href="../../assets/stylesheets/main.1234.min.css">\n'
        '  <link rel="stylesheet" href="../../assets/_mkdocstrings.css">\n<p>'
    )
    expected = '<link rel="stylesheet" href="../../assets/stylesheets/site.css">\n<p>'
    assert expected == slim.slim_page(html)


def test_another_version_of_the_theme_is_an_error_not_a_slow_site() -> None:
    with pytest.raises(ValueError, match="this version of Material has no"):
        slim.search_on_demand("var t=new Worker(e)")
