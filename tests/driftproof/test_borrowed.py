"""Claims about borrowed figures: the picture of one page on another, or a message."""

from __future__ import annotations

import markdown
import pytest

OWNER = """\
```python id="rise"
from matplotlib.figure import Figure

import driftproof

fig = Figure()
fig.subplots().plot([1, 2], [0, 4])
driftproof.figure(fig, alt="a line", caption="it rises", data={"x": [1, 2]})
```

```output show="figure"
x
1
2
```
"""
BORROWER = '# Here { #here }\n\n<figure data-of="owner#rise"></figure>\n'


@pytest.fixture(autouse=True)
def _in_the_project(project, monkeypatch):
    monkeypatch.chdir(project.root)
    project.write("docs/owner.md", OWNER)


def html(project, text: str) -> str:
    project.write("docs/page.md", text)
    extensions = ["md_in_html", "pymdownx.superfences", "driftproof"]
    return markdown.markdown(text, extensions=extensions)


@pytest.mark.parametrize("page", [BORROWER, f"<div markdown>\n\n{BORROWER}\n</div>\n"])
def test_a_page_shows_the_picture_that_another_draws(project, page):
    shown = html(project, page)
    assert 1 == shown.count('<svg role="img" aria-label="a line"')
    assert 1 == shown.count("<figcaption>it rises</figcaption>")
    assert "data-of" not in shown


def test_the_page_that_draws_runs_also_when_only_the_other_is_checked(project):
    project.write("docs/page.md", BORROWER)
    report = project.check("docs/page.md")
    assert [] == report.problems
    assert {"docs/page.md", "docs/owner.md"} == report.results.keys()


@pytest.mark.parametrize(
    ("element", "message"),
    [
        (
            '<figure data-of="owner#fall"></figure>',
            "no page 'owner' has a figure with the id 'fall'",
        ),
        (
            '<figure data-of="other#rise"></figure>',
            "no page 'other' has a figure with the id 'rise'",
        ),
        ('See <figure data-of="owner#rise"></figure>', "this <figure> is not understood"),
        ('<figure data-of="owner"></figure>', "this <figure> is not understood"),
    ],
)
def test_a_figure_that_is_not_there_is_found_at_its_line(project, element, message):
    project.write("docs/page.md", f"Text.\n\n{element}\n")
    (problem,) = project.check().problems
    assert ("docs/page.md", 3, message) == (problem.path, problem.line, problem.message)


def test_an_example_in_a_fence_borrows_nothing(project):
    shown = html(project, f"````text\n{BORROWER}````\n")
    assert "<svg" not in shown
    assert "data-of" in shown
