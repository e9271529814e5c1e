"""Claims about figures: a picture for the page, and columns that cannot drift unnoticed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from driftproof import figures

TEXTS = {"alt": "a line", "caption": "it rises"}
BLOCK = """\
```python
from matplotlib.figure import Figure

import driftproof

height = {height}
fig = Figure()
fig.subplots().plot([1, 2], [0, height])
driftproof.figure(fig, alt="a line", caption="it rises", data={{"x": [1, 2], "y": [0, height]}})
```
"""


@pytest.fixture(autouse=True)
def nothing_drawn() -> Iterator[None]:
    yield
    figures.drawn.clear()


def picture() -> Figure:
    fig = Figure(figsize=(3, 2))
    axes = fig.subplots()
    axes.plot([1, 2, 3], [1, 4, 9], color="black")
    axes.set_xlabel("steps")
    return fig


def drawn(**changes: Any) -> figures.Figure:
    """The figure that a block draws, in its own words but for `changes`."""
    words: dict[str, Any] = {**TEXTS, "data": {"x": [1, 2]}, **changes}
    figures.figure(picture(), **words)
    return figures.drawn[-1]


@pytest.mark.parametrize(
    ("data", "columns"),
    [
        (
            {"T": [1, 10, 100], "loss": [0.5, 0.25, 1e-19]},
            "  T   loss\n  1    0.5\n 10   0.25\n100  1e-19",
        ),
        ({"loss": ([0.5, 1e-19], ".3e")}, "     loss\n5.000e-01\n1.000e-19"),
        ({"cell": ["RNN", "LSTM"], "n": [1, 2]}, "cell  n\n RNN  1\nLSTM  2"),
        ({"x": np.array([0.123456, 2.0])}, "    x\n0.123\n    2"),
        ({"x": (np.array([0.5], np.float32), ".4f")}, "     x\n0.5000"),
        ({"a share": [1 / 3]}, "a share\n  0.333"),
        ({"n": np.arange(2)}, "n\n0\n1"),
        ({"x": range(2)}, "x\n0\n1"),
        ({"ok": [True, None]}, "  ok\nTrue\nNone"),
    ],
)
def test_columns_are_aligned_and_rounded_as_declared(data, columns: str):
    assert columns == drawn(data=data).columns


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alt": " "}, "needs an alternative text"),
        ({"caption": ""}, "and a caption"),
        ({"data": {}}, "data needs columns of one length"),
        ({"data": {"x": []}}, "data needs columns of one length, got {'x': 0}"),
        ({"data": {"x": [1], "y": [1, 2]}}, "columns of one length, got {'x': 1, 'y': 2}"),
        ({"data": {"": [1]}}, "'' cannot stand in the table"),
        ({"data": {"two  blanks": [1]}}, "'two  blanks' cannot stand in the table"),
        ({"data": {"x": ["a|b"]}}, "'a|b' cannot stand in the table"),
        ({"data": {"x": ["a", ""]}}, "'' cannot stand in the table"),
        ({"data": {"x": ["a\nb"]}}, "'a\\nb' cannot stand in the table"),
        ({"data": {"x": ([1.0], "nonsense")}}, "nonsense"),
        ({"widget": 'x" onload="'}, "must be small letters and hyphens"),
        ({"widget": "lags", "data": {"x": [float("nan")]}}, "not JSON compliant"),
    ],
)
def test_a_figure_that_says_too_little_is_refused(change, message: str):
    with pytest.raises(ValueError, match=re.escape(message)):
        drawn(**change)
    assert [] == figures.drawn


def test_the_same_data_give_the_same_bytes():
    assert drawn().svg == drawn().svg


def test_a_picture_says_what_to_see_and_what_is_drawn():
    svg = ElementTree.fromstring(drawn(alt='a "line" < 3', caption="it > 2").svg)
    assert ("img", 'a "line" < 3') == (svg.get("role"), svg.get("aria-label"))
    assert ["it > 2", 'a "line" < 3'] == [element.text for element in list(svg)[:2]]
    assert ["title", "desc"] == [element.tag.partition("}")[2] for element in list(svg)[:2]]


def test_a_widget_is_given_the_columns_as_they_are_not_as_they_are_rounded():
    data = {"layer": ["RNN", "a < b"], "x": (np.array([1 / 3, 2.0]), ".1f"), "n": [True, None]}
    figure = drawn(widget="lags", data=data)
    assert "0.3" in figure.columns
    values = {"layer": ["RNN", "a < b"], "x": [1 / 3, 2.0], "n": [True, None]}
    assert ("lags", values) == (figure.widget, json.loads(figure.values))


def test_a_figure_without_a_widget_carries_its_columns_once():
    assert ("", "") == (drawn().widget, drawn().values)


def test_the_picture_takes_text_colour_and_fonts_from_the_page():
    svg = drawn().svg
    assert ">steps</text>" in svg
    assert "currentColor" in svg
    for unwanted in ("#000000", "font-family", "<style", "<metadata", "<?xml", "<!DOCTYPE", "Date"):
        assert unwanted not in svg


def test_a_figure_is_recorded_as_its_columns_and_then_found_right(project):
    project.write("docs/page.md", BLOCK.format(height=0.5))
    (problem,) = project.check().problems
    assert (1, "missing-output") == (problem.line, problem.code)
    project.record()
    assert '```output show="figure"\nx    y\n1    0\n2  0.5\n```\n' in project.read()
    report = project.check()
    assert [] == report.problems
    (figure,) = report.results["docs/page.md"].run.figures.values()
    assert ("a line", "it rises") == (figure.alt, figure.caption)


def test_a_plotted_number_that_drifts_is_found_at_its_line(project):
    recorded = '\n```output show="figure"\nx    y\n1    0\n2  0.6\n```\n'
    project.write("docs/page.md", BLOCK.format(height=0.5) + recorded)
    (problem,) = project.check().problems
    assert (15, "drift") == (problem.line, problem.code)
    assert ("recorded: 0.6", "printed:  0.5") == problem.detail


@pytest.mark.parametrize(
    ("code", "output", "message"),
    [
        ("figure(fake, **texts)", "```output\nx\n1\n```", "whether this is a figure"),
        ("print(1)", '```output show="figure"\n1\n```', "whether this is a figure"),
        ("figure(fake, **texts)\nprint(1)", "", "shows a figure prints nothing else"),
        ("figure(fake, **texts)\nfigure(fake, **texts)", "", "one figure; split it"),
    ],
)
def test_a_block_and_its_output_agree_on_one_figure(project, code, output, message):
    project.write(
        "src/fakes.py",
        "class Fake:\n    def savefig(self, target, **_):\n        target.write('<svg ></svg>')\n"
        "fake = Fake()\ntexts = {'alt': 'a', 'caption': 'c', 'data': {'x': [1]}}\n",
    )
    start = "from driftproof import figure\nfrom fakes import fake, texts\n"
    project.write("docs/page.md", f"```python\n{start}{code}\n```\n\n{output}\n")
    (problem,) = project.check().problems
    assert message in problem.message
