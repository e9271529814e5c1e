"""What a reader sees: outputs to the letter, and code where it was placed."""

import json
import re
from html.parser import HTMLParser

import markdown
import pytest
from pymdownx.superfences import SuperFencesException

from driftproof import machine, render

EXTENSIONS = [
    "admonition",
    "md_in_html",
    "tables",
    "toc",
    "pymdownx.details",
    "pymdownx.highlight",
    "pymdownx.snippets",
    "pymdownx.superfences",
    "pymdownx.tabbed",
    "driftproof.mathematics",
    "driftproof",
]
SETTINGS = {
    "pymdownx.tabbed": {"alternate_style": True},
    "pymdownx.snippets": {"base_path": ["snippets"], "check_paths": True},
}
LINES = [
    "<script>document.title = 'taken over'</script>",
    """<img src="x" onerror='document.title = "taken over"'>""",
    "<class 'float'> &amp; &lt; a < b && c > d",
    "*stars* _under_ [x](y) `tick` \\* \\_ ~~gone~~ $x^{2}$ \\(y\\)",
    "```",
    "```python",
    "~~~",
    "</code></pre></div><b>escaped the block</b>",
    "</body></html>",
    "# not a heading",
    "Not one either",
    "==============",
    '--8<-- "other.md"',
    "--8<--",
    '    -8<- "other.md"',
    ';--8<-- "other.md"',
    '--8<-- "other.md" and more',
    "# --8<-- [start:train]",
    "x ;--8<-- [end: train] y",
    "{{ config.site_name }} {% raw %}",
    '<data value="x">3</data>',
    "<!-- a comment",
    '=== "A tab"',
    "!!! note",
    "    indented",
    "[x]: http://localhost/ 'a reference'",
    "::: identifier",
    "  two  blanks  ",
    "klzzwxh:0000 wzxhzdk:0",
]
LITERAL = "\n".join(line.rstrip() for line in LINES)
PLACEMENTS = ["above", "below", "block", "tabbed-left", "tabbed-right"]


class Text(HTMLParser):
    """Collects the text inside the element with an id, or of all elements of one name.

    Stamps and permalinks are left out, unless they are what is wanted.
    """

    VOID = ("br", "hr", "img", "input", "link", "meta")
    OURS = ("driftproof-stamp", "headerlink")

    def __init__(self, html, wanted):
        super().__init__(convert_charrefs=True)
        self.wanted, self.depth, self.skipped, self.text, self.tags = wanted, 0, 0, "", []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        kind = dict(attrs).get("class")
        if tag not in self.VOID:
            is_wanted = self.wanted in (tag, kind, dict(attrs).get("id"))
            self.skipped += bool(self.skipped or (self.depth and kind in self.OURS))
            self.depth += bool(self.depth or is_wanted)
        if self.depth and not self.skipped:
            self.tags.append(tag)

    def handle_endtag(self, tag):
        if self.depth and tag not in self.VOID:
            self.depth -= 1
            self.skipped -= bool(self.skipped)

    def handle_data(self, data):
        if self.depth and not self.skipped:
            self.text += data


def text_of(html, wanted):
    return Text(html, wanted).text


def stamp_of(html, anchor):
    """The stamp of one output, without its permalink."""
    (stamp,) = re.findall(
        rf'id="{anchor}">(?:(?!id=").)*?<p class="driftproof-stamp"><span>([^<]*)</span>',
        html,
        re.DOTALL,
    )
    return stamp


def convert(project, text, without=()):
    """Render a page as a generator does that knows nothing of driftproof, in the project."""
    project.write("docs/page.md", text)
    extensions = [name for name in EXTENSIONS if name not in without]
    return markdown.markdown(text, extensions=extensions, extension_configs=SETTINGS)


@pytest.fixture(autouse=True)
def _in_the_project(project, monkeypatch):
    monkeypatch.chdir(project.root)
    project.write("snippets/other.md", "taken from another file\n")


def printing(text, options=""):
    return f"```python{options}\nprint({text!r})\n```\n"


def recorded(project, text):
    """Return a page with the outputs that its blocks print."""
    project.write("docs/page.md", text)
    done = project.record()
    assert {} == done.left
    return project.read()


WIDGET = """\
```python
from matplotlib.figure import Figure

from driftproof import figure

data = {"text": ["a \\"b\\" < c & d", "</figure>"], "x": ([1 / 3, 2], ".1f")}
figure(Figure(), alt="Empty axes.", caption="Nothing.", data=data, widget="lags")
```
"""


class Attributes(HTMLParser):
    """Collects the attributes of the figures."""

    def __init__(self, html):
        super().__init__()
        self.figures = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "figure":
            self.figures.append(dict(attrs))


# Without an adapter.


def test_a_figure_names_its_widget_and_hands_it_the_columns(project):
    (found,) = Attributes(convert(project, recorded(project, WIDGET))).figures
    assert "lags" == found["data-widget"]
    values = {"text": ['a "b" < c & d', "</figure>"], "x": [1 / 3, 2]}
    assert values == json.loads(found["data-values"])


def test_a_figure_without_a_widget_names_none(project):
    page = recorded(project, WIDGET.replace(', widget="lags"', ""))
    assert [{"class": "driftproof-figure"}] == Attributes(convert(project, page)).figures


@pytest.mark.parametrize(
    "page",
    [
        printing(LITERAL),
        "!!! note\n\n" + "".join(f"    {line}\n" for line in printing(LITERAL).split("\n")),
        '=== "Tab"\n\n' + "".join(f"    {line}\n" for line in printing(LITERAL).split("\n")),
        "1. Item\n\n" + "".join(f"    {line}\n" for line in printing(LITERAL).split("\n")),
        "".join(f"> {line}\n" for line in printing(LITERAL).rstrip().split("\n")),
    ],
    ids=["page", "note", "tab", "list", "quote"],
)
def test_an_output_is_shown_to_the_letter(project, page):
    html = convert(project, recorded(project, page))
    assert LITERAL == text_of(html, "output-1").strip("\n")
    assert ["div", "pre", "code"] == Text(html, "output-1").tags


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_placed_output_is_shown_to_the_letter(project, placement):
    page = recorded(project, printing(LITERAL, f' source="{placement}"'))
    html = convert(project, page)
    assert LITERAL == text_of(html, "output-1").strip("\n")
    assert 1 == html.count('id="output-1"')


def test_an_output_on_the_console_is_shown_to_the_letter(project):
    html = convert(project, recorded(project, printing(LITERAL, ' source="console"')))
    assert f"print({LITERAL!r})\n{LITERAL}" == text_of(html, "block-1").strip("\n")


def test_an_output_is_shown_to_the_letter_also_without_snippets(project):
    page = recorded(project, printing(LITERAL))
    html = convert(project, page, without=["pymdownx.snippets"])
    assert LITERAL == text_of(html, "output-1").strip("\n")


def test_a_table_shows_its_cells_to_the_letter(project):
    text = "| gate | <b> |\n|---|---:|\n| *f* | 0.5 |"
    page = recorded(project, printing(text)).replace("```output", '```output show="table"')
    html = convert(project, page)
    assert "gate<b>*f*0.5" == re.sub(r"\s", "", text_of(html, "output-1"))
    assert "b" not in Text(html, "output-1").tags


def test_a_cell_may_hold_code(project):
    text = "| call |\n|---|\n| `f(<b>)`, g |"
    page = recorded(project, printing(text)).replace("```output", '```output show="table"')
    assert "<td><code>f(&lt;b&gt;)</code>, g</td>" in convert(project, page)


def test_code_is_shown_to_the_letter(project):
    code = "a = '<b> &amp; *x*'  # <script>\nb = r'$x^{2}$'\n\n\ndef f():\n    return a < 3"
    html = convert(project, f"```python\n{code}\n```\n")
    assert code == text_of(html, "block-1").strip("\n")


@pytest.mark.parametrize("placement", ["", *PLACEMENTS, "console"])
def test_a_placement_puts_code_and_output_where_it_says(project, placement):
    options = f' source="{placement}"' if placement else ""
    html = convert(project, recorded(project, printing("here 1.5", options)))
    shown = re.sub(r"<[^>]*>", "", html)
    code, output = shown.index("print"), shown.rindex("here 1.5")
    first_output = placement in ("below", "tabbed-right")
    assert first_output == (shown.index("here 1.5") < code)
    assert first_output or code < output
    assert ("tabbed-set" in html) == placement.startswith("tabbed")
    assert ('class="result"' in html) == (placement == "block")


@pytest.mark.parametrize("placement", ["", *PLACEMENTS, "console"])
@pytest.mark.parametrize(
    "title",
    [
        "\"h_t = f(h_{t-1}), step 1, 'quoted'\"",
        "'say \"hidden\" state'",
        '"a < b & c, {.x #y}"',
    ],
)
def test_a_title_is_shown_exactly_as_written(project, placement, title):
    options = f' source="{placement}"' if placement else ""
    page = recorded(project, printing("1.5", f'{options} title={title} hl_lines="1"'))
    html = convert(project, page)
    assert title[1:-1] in text_of(html, "block-1")
    assert "title=" not in text_of(html, "block-1")
    assert 'class="hll"' in html


def test_a_block_that_does_not_run_says_why(project):
    html = convert(project, '```python exec="off" reason="needs <8> GPUs"\nlaunch()\n```\n')
    assert "Shown, not run: needs <8> GPUs" == text_of(html, "driftproof-stamp")


def test_line_numbers_begin_where_they_should(project):
    html = convert(project, '```python linenums="7"\nx = 1\n```\n')
    assert "7" in text_of(html, "block-1")


def test_a_bound_number_has_its_full_value_and_leads_to_its_block(project):
    page = '```python id="share"\nshare = 0.0646\n```\n\n<data value="share">6.5%</data>\n'
    html = convert(project, page)
    assert '<data class="driftproof-bound" value="0.0646"><a href="#share"' in html
    assert 'title="share = 0.0646">6.5%</a></data>' in html


def test_a_page_with_front_matter_is_found(project):
    text = "# Page\n\n```python\nprint('1.5')\n```\n\n```output\n1.5\n```\n"
    project.write("docs/page.md", f"---\ntitle: Page\n---\n{text}")
    html = markdown.markdown(text, extensions=EXTENSIONS, extension_configs=SETTINGS)
    assert "1.5" == text_of(html, "output-1").strip()


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```python\nprint(1.25)\n```\n\n```output\n1.5\n```\n", "docs/page.md:6: "),
        ("```python\n1 / 0\n```\n", "docs/page.md:2: ZeroDivisionError"),
        ("```python\nprint(1.25)\n```\n", "docs/page.md:1: the block prints, but has no output"),
        ("```python exec=off\nprint(1.25)\n```\n", "docs/page.md:1: the value of 'exec'"),
        ("```python\nx = 1\n", "docs/page.md:1: the fence is never closed"),
        ("It is 26.\n", "docs/page.md:1: 26 is neither bound"),
    ],
)
def test_without_an_adapter_a_page_that_does_not_hold_is_not_rendered(project, page, message):
    with pytest.raises(SuperFencesException, match=re.escape(message)):
        convert(project, page)


@pytest.mark.parametrize("placement", ["", *PLACEMENTS, "console"])
def test_without_an_adapter_an_output_says_once_that_it_ran(project, placement):
    options = f' source="{placement}" id="a"' if placement else ' id="a"'
    html = convert(project, recorded(project, printing("1.5", options)))
    assert f"ran in this build on {machine.processor()}, CPU" == stamp_of(html, "a-output")
    assert 1 == html.count("driftproof-stamp")
    assert ["#a", "#a-output"] == sorted(re.findall('class="headerlink" href="([^"]*)"', html))


def test_without_an_adapter_text_that_is_no_page_is_left_alone(project):
    project.write("docs/a.md", "```python\n1 / 0\n```\n")
    for text in ("", "\n\n", "Elsewhere.\n", "```python\nnever = run\n```\n"):
        html = markdown.markdown(text, extensions=EXTENSIONS, extension_configs=SETTINGS)
        assert "driftproof" not in html


def test_the_extension_says_where_it_belongs():
    with pytest.raises(SuperFencesException, match=r"after pymdownx\.superfences"):
        markdown.markdown("text", extensions=["driftproof"])


# As MkDocs publishes it.


@pytest.fixture(scope="module")
def site(new_project):
    """A page with every kind of output, as it is published."""
    book = new_project()
    book.add_site()
    book.write("snippets/other.md", "taken from another file\n")
    blocks = [printing(LITERAL)]
    blocks += [printing(LITERAL, f' source="{place}"') for place in [*PLACEMENTS, "console"]]
    text = "# Output\n\n## Printed\n\n" + "\n".join(blocks)
    book.write("docs/index.md", text)
    assert {} == book.record().left
    done = book.command("mkdocs", "build", "--strict")
    assert 0 == done.returncode, done.stdout
    return book.read("site/index.html")


@pytest.mark.parametrize("number", range(1, 7))
def test_published_output_is_shown_to_the_letter(site, number):
    assert LITERAL == text_of(site, f"output-{number}").strip("\n")


def test_published_output_on_the_console_is_shown_to_the_letter(site):
    assert text_of(site, "block-7").strip("\n").endswith(f"\n{LITERAL}")


def test_printed_headings_do_not_enter_the_table_of_contents(site):
    assert "[Output]" == text_of(site, "nav")
    assert ["h1", "h2"] == re.findall(r"<(h\d)", site)


def test_printed_markup_does_not_act(site):
    assert "Book" == text_of(site, "title")
    assert "<script" not in site
    assert "<img" not in site
    assert "taken from another file" not in site
    assert "{{ config.site_name }}" in site


# While a device is missing.

CUDA = """\
# Kernel

```python
x = 1
```

```python
raise SystemError("no such device")
```

```output device="cuda" measured="A GPU · torch 2.13.0 · 2026-01-05" code="{seal}"
1.25 ms
```
"""


def test_a_recording_of_another_device_is_shown_with_its_stamp(project):
    from driftproof.results import seal

    block = project.parse(CUDA.replace("{seal}", "0" * 8)).blocks[1]
    page = CUDA.replace("{seal}", seal(block, block.output.text))
    html = convert(project, page)
    assert "1.25 ms" == text_of(html, "output-2").strip()
    assert (
        "recorded on a cuda device, A GPU · torch 2.13.0 · 2026-01-05; not verified on this machine"
    ) == stamp_of(html, "output-2")
    report = project.check()
    assert [] == report.problems
    assert (1, 1, 1) == tuple(report.counts[n] for n in ("expected", "agreed", "elsewhere"))
    assert "not verified here" in report.notes[0].message


def test_a_recording_of_another_device_is_sealed(project):
    (problem,) = project.parse(CUDA.replace("{seal}", "0" * 8)) and project.check().problems
    assert ("seal", "docs/page.md", 11) == (problem.code, problem.path, problem.line)


def test_a_recording_that_does_not_exist_yet_is_said(project):
    html = convert(project, '```python\n1 / 0\n```\n\n```output device="cuda"\n```\n')
    assert "no recording from a cuda device exists yet" == stamp_of(html, "output-1")
    (note,) = project.check().notes
    assert ("docs/page.md", 5) == (note.path, note.line)
    assert "no recording from a cuda device exists yet" == note.message


def test_a_measurement_is_shown_with_its_stamp(project):
    page = recorded(project, printing("1.25 ms")).replace("```output", '```output measured="x"')
    project.write("docs/page.md", page)
    project.record()
    html = convert(project, project.read())
    assert re.fullmatch(
        r"recorded on .+ · \d{4}-\d\d-\d\d; each build checks the relations, not the digits",
        stamp_of(html, "output-1"),
    )


def test_nothing_is_left_of_a_page_for_the_next_conversion():
    assert render.showing is None
