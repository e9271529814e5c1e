"""A reader is told where each output ran, and what ran for the page."""

import re

import pytest

from driftproof import machine
from driftproof.provenance import Facts, facts, output_stamp
from driftproof.results import seal

PAGE = """\
---
recorded: Python 3.1.4, numpy 1.0.0; x86_64, 1 thread, 4.2 CPU s; 2020-01-02
---

```python id="exact"
share = 0.0646
print("fine 1.000")
```

```output
fine 1.000
```

```python
print(0.5)
```

```output rtol="1e-3" because="kernels differ" code="{near}"
0.5
```

```python
print(1.25)
```

```output measured="A CPU · 2020-01-02" code="{measured}"
1.5
```

```python
raise SystemError("no such device")
```

```output device="cuda" measured="A GPU · 2020-01-02" code="{device}"
1.25 ms
```

```python
raise SystemError("no such device")
```

```output device="cuda"
```

```python exec="off" reason="needs a cluster"
launch()
```

It is <data value="share">6.5%</data>.
"""
HERE = f"{machine.processor()}, CPU"


@pytest.fixture
def page(project):
    """A page with an output of every kind, sealed as recording does it."""
    names = ("near", "measured", "device")
    draft = project.parse(PAGE.format(**dict.fromkeys(names, "0" * 8)))
    seals = (seal(block, block.output.text) for block in draft.blocks[1:4])
    return project.parse(PAGE.format(**dict(zip(names, seals, strict=True))))


def stamps(report, page):
    result = report.results[page.path]
    return [output_stamp(block, result, report) for block in page.blocks if block.output]


def test_each_kind_of_output_says_where_it_ran(project, page):
    report = project.check()
    assert [] == report.problems
    assert [
        f"ran in this build on {HERE}",
        f"ran in this build on {HERE}; floats within 0.001 of their size",
        "recorded on A CPU · 2020-01-02; each build checks the relations, not the digits",
        "recorded on a cuda device, A GPU · 2020-01-02; not verified on this machine",
        "no recording from a cuda device exists yet",
    ] == stamps(report, page)


def test_a_page_that_is_shown_before_it_is_compared_says_so(project, page):
    project.check()
    for kept in (True, False):
        report = project.check(recall_only=True)
        assert kept == (report.results[page.path].run is not None)
        assert [
            "recorded, being verified",
            "recorded, being verified",
            "recorded on A CPU · 2020-01-02; being verified",
        ] == stamps(report, page)[:3]
        for run in project.root.glob(".driftproof/runs/*/*"):
            run.unlink()


def test_an_output_that_drifted_does_not_claim_to_have_run(project, page):
    page = project.parse(project.read().replace("fine 1.000\n```\n\n", "fine 1.001\n```\n\n", 1))
    assert "recorded; it does not hold any more" == stamps(project.check(), page)[0]


def test_the_stamp_of_a_kept_run_is_that_of_the_run(project, page):
    first, second = project.check(), project.check()
    assert [False, True] == [report.results[page.path].cached for report in (first, second)]
    assert stamps(first, page) == stamps(second, page)


def test_the_foot_of_a_page_has_the_facts_of_its_run(project, page):
    report = project.check()
    found = facts(report.results[page.path], report)
    assert "Python 3." in found.versions[0]
    assert "numpy 2." in found.versions[1]
    assert found == Facts(
        verified=True,
        ran=3,
        agreed=3,
        bound=1,
        shown=1,
        elsewhere=2,
        machine=HERE,
        versions=found.versions,
        recorded="2020-01-02",
        cpu_seconds="4.2",
    )


def test_a_page_that_was_never_recorded_has_no_day_and_no_seconds(project):
    page = project.parse("```python\nx = 1\n```\n")
    report = project.check()
    found = facts(report.results[page.path], report)
    assert ((), "", "") == (found.versions, found.recorded, found.cpu_seconds)


def test_an_output_is_found_by_the_id_of_its_block(page):
    anchors = [block.output_anchor for block in page.blocks]
    assert ["exact-output", "output-2", "output-3"] == anchors[:3]


@pytest.mark.parametrize(
    ("expression", "anchor"),
    [
        ("share", "first"),
        ("share * 64", "first"),
        ("width + 64", "second"),
        ("0.5", "first"),
        ("64", "last"),
        ("7", "last"),
        ("str(len('abc'))", "last"),
    ],
)
def test_a_bound_number_leads_to_the_block_behind_it(project, expression, anchor):
    page = project.parse(
        '```python id="first"\nshare = 0.5\n```\n\n```python id="second"\nwidth = 64\n```\n\n'
        '```python id="last"\nboth = 2, 64\n```\n\n'
        '```python exec="off" reason="x" id="shown"\nseven = 7\n```\n'
    )
    assert anchor == page.block_computing(expression).anchor


def test_a_template_is_given_the_facts(new_project):
    book = new_project()
    book.add_site()
    foot = (
        "{% if driftproof %}[{{ driftproof.ran }} ran, {{ driftproof.agreed }} agreed]{% endif %}"
    )
    book.write("theme/main.html", book.read("theme/main.html").replace("</body>", f"{foot}</body>"))
    book.write("docs/index.md", '# Page\n\n```python id="a"\nprint(1)\n```\n\n```output\n1\n```\n')
    assert 0 == book.command("mkdocs", "build", "-q").returncode
    html = book.read("site/index.html")
    assert "[1 ran, 1 agreed]" in html
    assert ["a", "a-output"] == re.findall(r'<div class="driftproof[^>]* id="([^"]*)"', html)
    assert ["#a", "#a-output"] == re.findall(r'class="headerlink" href="([^"]*)"', html)


def test_the_id_of_an_output_belongs_to_nothing_else(new_project):
    book = new_project()
    book.add_site()
    block = '```python id="a"\nprint(1)\n```\n\n```output\n1\n```\n'
    book.write("docs/index.md", f"# A {{ #a-output }}\n\n{block}")
    result = book.command("mkdocs", "build", "-q")
    assert 1 == result.returncode
    assert "docs/index.md:3: the id 'a-output' is also that of something else" in result.stdout


def test_a_borrowed_figure_says_where_it_was_drawn(new_project):
    book = new_project()
    book.add_site()
    block = (
        '```python id="rise"\nfrom matplotlib.figure import Figure\n\nimport driftproof\n\n'
        'driftproof.figure(Figure(), alt="none", caption="none", data={"x": [1]})\n```\n\n'
        '```output show="figure"\nx\n1\n```\n'
    )
    book.write("docs/owner.md", f"# Owner\n\n{block}")
    book.write("docs/index.md", '# Here\n\n<figure data-of="owner#rise"></figure>\n')
    assert 0 == book.command("mkdocs", "build", "-q").returncode
    html = book.read("site/index.html")
    assert f'<p class="driftproof-stamp">ran in this build on {HERE}</p></figure>' in html
