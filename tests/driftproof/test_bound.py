"""Claims about bound numbers: what the text must be for a value, and that nothing else will do."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftproof.bound import Value, agrees, shown
from driftproof.compare import EXACT, Tolerance

NARROW, THIN = "\u202f", "\u2009"
SHOWN: list[tuple[str, Value, str]] = [
    ("0.25", 1 / 3, "0.33"),
    ("0.2", 0.25, "0.2"),  # a tie goes to the even digit, as in f"{0.25:.1f}"
    ("27", 26.7, "27"),
    ("26", 27, "27"),
    (".5", 0.25, "0.2"),
    ("6.5%", 0.0646, "6.5%"),
    ("6.5%", 0.0656, "6.6%"),
    ("7%", 1, "100%"),
    ("1,000", 2101248, "2,101,248"),
    ("1,000", 999.4, "999"),
    ("1,000.50", 1234.567, "1,234.57"),
    (f"1{NARROW}000", 2101248, f"2{NARROW}101{NARROW}248"),
    (f"1{THIN}000", 2101248, f"2{THIN}101{THIN}248"),
    ("1.00e-05", 2.5e-19, "2.50e-19"),
    ("1.00e-05", 2.5e19, "2.50e+19"),
    ("1e5", 3e7, "3e7"),
    ("1e5", 3e-7, "3e-7"),
    ("1E+05", 3e-7, "3E-07"),
    ("1e−05", 3e-7, "3e−07"),
    ("1.0e+05", 0.0, "0.0e+00"),
    ("5.5×10⁻¹⁹", 5.54e-19, "5.5×10⁻¹⁹"),
    ("5.5 × 10⁻¹⁹", 5.56e7, "5.6 × 10⁷"),
    ("5.50·10³", 123.4, "1.23·10²"),
    ("5×10⁻¹⁹", -2e-3, "-2×10⁻³"),
    ("0.25", -0.5, "-0.50"),
    ("−0.25", -0.5, "−0.50"),
    ("−0.25", 0.5, "0.50"),
    ("+0.25", 0.5, "+0.50"),
    ("+0.25", -0.5, "-0.50"),
    ("0.0", -0.0001, "0.0"),
    ("0.0", -0.0, "0.0"),
    ("about 37 times", 40.2, "about 40 times"),
    ("a factor of 1.0e+05 or so", 2.5e6, "a factor of 2.5e+06 or so"),
    ("(≈0.5)", 0.75, "(≈0.8)"),
    ("1.5", math.inf, "inf"),
    ("1e5", -math.inf, "-inf"),
    ("1.5%", math.nan, "nan"),
    ("nan", 0.25, "0.25"),
    ("inf", math.inf, "inf"),
    ("1.5", 10**400, f"{10**400}.0"),
    ("many", 26, "26"),
    ("?", 0.25, "0.25"),
    ("yes", True, "True"),
    ("1", True, "True"),
    ("LSTM 4", "GRU 5", "GRU 5"),
]


@pytest.mark.parametrize(("text", "value", "expected"), SHOWN)
def test_a_value_is_shown_as_the_text_was_written(text: str, value: Value, expected: str):
    assert expected == shown(text, value)
    assert agrees(expected, value, EXACT)
    assert expected == shown(expected, value) or "nan" in expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.26", 0.25),
        ("0.25", 0.2551),
        ("6.5%", 6.5),
        ("6.5", 0.065),
        ("26", 26.6),
        ("1e-19", 0.0),
        ("0.0", 0.06),
        ("5.5×10⁻¹⁹", 5.5e-18),
        ("−0.5", 0.5),
        ("1,000", 1001),
        ("True", False),
        ("1", True),
        ("GRU", "LSTM"),
        ("1.5", math.inf),
        ("inf", -math.inf),
        ("inf", 1.5),
        ("0.5", math.nan),
        ("26", "26 steps"),
    ],
)
def test_text_that_is_not_the_value_as_rounded_does_not_agree(text: str, value: Value):
    assert not agrees(text, value, EXACT)


@pytest.mark.parametrize(
    ("text", "value", "rtol", "expected"),
    [
        ("0.250", 0.2502, 1e-3, True),
        ("0.250", 0.2506, 1e-3, False),
        ("25.0%", 0.2502, 1e-3, True),
        ("25.0%", 0.2510, 1e-3, False),
        ("about 100 steps", 101, 0.02, True),
        ("2.5×10⁻³", 0.0026, 0.05, True),
        ("1e-19", 0.0, 0.5, False),
        ("0.0", 0.1, 0.9, False),
        ("1.5", math.inf, 0.5, False),
        ("1.5", math.nan, 0.5, False),
        ("inf", 1.5, 0.5, False),
        ("26", "27", 0.5, False),
        ("1", True, 0.5, False),
    ],
)
def test_a_declared_tolerance_is_relative_to_the_value(text, value, rtol, expected):
    assert expected == agrees(text, value, Tolerance(rtol))


FORMS = [
    "26",
    "0.5",
    "0.1250",
    "6.5%",
    "1,000.0",
    "1e5",
    "1.50e-05",
    "2.5×10⁻³",
    "−0.5",
    "+1.0e+01",
]


@given(
    st.sampled_from(FORMS),
    st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans(), st.text(max_size=9)),
)
def test_what_is_shown_agrees_and_is_shown_again(form: str, value: Value):
    text = shown(form, value)
    assert agrees(text, value, EXACT)
    assert text == shown(text, value)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 17))
def test_a_value_is_rounded_as_python_prints_it(value: float, places: int):
    assert f"{value:z.{places}e}" == shown(f"1{'.' * (places > 0)}{'0' * places}e+00", value)


def test_check_and_record_agree_about_every_form(project):
    values = {form: 1 / 7 * 10**i for i, form in enumerate(FORMS)}
    code = "\n".join(f"x{i} = {value!r}" for i, value in enumerate(values.values()))
    prose = "\n".join(f'A <data value="x{i}">{form}</data> here.' for i, form in enumerate(FORMS))
    project.write("docs/page.md", f"```python\n{code}\n```\n\n{prose}\n")
    assert ["drift"] * len(FORMS) == [problem.code for problem in project.check().problems]
    assert len(FORMS) == len(project.record().changes)
    assert [] == project.check().problems


def test_a_drifted_number_is_reported_with_line_value_and_what_it_should_read(project):
    text = '```python\nshare = 0.0646\n```\n\nIt is\n<data value="share">6.4%</data>.\n'
    project.write("docs/page.md", text)
    (problem,) = project.check().problems
    assert ("docs/page.md", 6, "drift") == (problem.path, problem.line, problem.code)
    assert "'6.4%' should read '6.5%': share is 0.0646" == problem.message
    assert "if the new value is right, run `driftproof record docs/page.md`" == problem.hint


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("missing", "'missing' fails: NameError: name 'missing' is not defined"),
        ("1 / 0", "'1 / 0' fails: ZeroDivisionError"),
        ("exit()", "'exit()' fails: SystemExit"),
        ("[1, 2]", "'[1, 2]' fails: TypeError: it is a list, not a number or text"),
        ("7", "7 is bound to itself, and no block writes it"),
        ("-1", "-1 is bound to itself"),
        ("'1'", "'1' is bound to itself"),
        ("other:7", "7 is bound to itself"),
        ("nowhere:x", "no page, or more than one, is called 'nowhere'"),
        ("twice:x", "no page, or more than one, is called 'twice'"),
        ("other:missing", "'missing' fails: NameError"),
        ("broken:x", "the page 'broken' did not run to its end"),
    ],
)
def test_an_expression_without_a_value_is_an_error_at_its_line(project, expression, message):
    project.write("docs/other.md", "```python\nx = 1\n```\n")
    for folder in ("a", "b"):
        project.write(f"docs/{folder}/twice.md", "```python\nx = 1\n```\n")
    project.write("docs/broken.md", "```python\nx = 1\n```\n\n```python\n1 / 0\n```\n")
    project.write("docs/page.md", f'Text.\n\nIt is <data value="{expression}">1</data>.\n')
    (problem,) = project.check("docs/page.md").problems
    assert ("docs/page.md", 3, "bound-number") == (problem.path, problem.line, problem.code)
    assert message in problem.message


@pytest.mark.parametrize("expression", ["1", "other:1", "2**0", "x"])
def test_a_bare_number_is_kept_by_the_block_that_writes_it(project, expression):
    project.write("docs/other.md", "```python\nx = 1\n```\n")
    project.write("docs/page.md", f'```python\nx = 1\n```\n\n<data value="{expression}">1</data>\n')
    assert [] == project.check().problems


def test_a_page_shows_the_number_of_another_that_runs_once(project):
    project.write("docs/owner.md", "```python\nx = 0.25\n```\n")
    project.write("docs/page.md", 'So <data value="owner:x">0.20</data>.\n')
    (problem,) = project.check().problems
    assert ("docs/page.md", "drift") == (problem.path, problem.code)
    assert ["docs/page.md"] == [change.path for change in project.record("docs/page.md").changes]
    assert project.read().endswith('So <data value="owner:x">0.25</data>.\n')
    report = project.check()
    assert [] == report.problems
    assert 1 == report.counts["expected"]
