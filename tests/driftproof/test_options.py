"""Claims about options: a closed set, and every mistake an error that says what was meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftproof.options import OUTPUT, PYTHON, SHOWN, OptionError, parse_header

VALUES = {
    "exec": ("off", "off"),
    "reason": ("takes an hour", "takes an hour"),
    "file": ("length_cliff.py:train", "length_cliff.py:train"),
    "source": ("tabbed-left", "tabbed-left"),
    "title": ("h_t = f(h_{t-1}), step 1, 'quoted'", "h_t = f(h_{t-1}), step 1, 'quoted'"),
    "hl_lines": ("1 3-4", "1 3-4"),
    "linenums": ("1", "1"),
    "id": ("one-step", "one-step"),
    "timeout": ("300", 300.0),
    "raises": ("ValueError", "ValueError"),
    "rtol": ("1e-3", 0.001),
    "atol": ("1.18e-38", 1.18e-38),
    "because": ("float32", "float32"),
    "show": ("table", "table"),
    "measured": ("x86_64 · torch 2.13.0 · 2026-01-02", "x86_64 · torch 2.13.0 · 2026-01-02"),
    "device": ("cuda", "cuda"),
    "code": ("0123abcd", "0123abcd"),
}
KNOWN = [("python", name) for name in PYTHON] + [("output", name) for name in OUTPUT]
KNOWN += [("text", name) for name in SHOWN]


def error(header: str) -> OptionError:
    with pytest.raises(OptionError) as raised:
        parse_header(header)
    return raised.value


@pytest.mark.parametrize(("language", "name"), KNOWN)
def test_an_option_is_understood_with_and_without_braces(language: str, name: str):
    written, meant = VALUES[name]
    option = f'{name}="{written}"'
    assert (language, {name: meant}) == parse_header(f"{language} {option}")
    assert (language, {name: meant}) == parse_header(f"{{.{language} {option}}}")
    assert (language, {name: meant}) == parse_header(f"{{ .{language}   {option} }}")


@pytest.mark.parametrize(("language", "name"), KNOWN)
def test_a_misspelt_option_is_an_error_that_names_the_right_one(language: str, name: str):
    value = VALUES[name][0]
    for misspelt in (name + "s", name.capitalize(), name[0] + name):
        mistake = error(f'{language} {misspelt}="{value}"')
        assert "unknown-option" == mistake.code
        assert repr(misspelt) in mistake.message
        assert f"did you mean {name!r}?" == mistake.hint


@pytest.mark.parametrize(("language", "name"), KNOWN)
def test_an_option_needs_quotes_and_a_value_and_stands_once(language: str, name: str):
    value = VALUES[name][0]
    assert f"the value of {name!r} is not quoted" == error(f"{language} {name}=off").message
    assert f"the value of {name!r} is not quoted" == error(f'{language} {name}="open').message
    assert f'write {name}="…"' == error(f"{language} {name}=").hint
    assert "fence-header" == error(f"{language} {name}").code
    assert (
        f"option {name!r} stands twice" == error(f"{language} {f' {name}={value!r}' * 2}").message
    )
    assert "must be" in error(f'{language} {name}=""').message


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ('python exec="on"', 'exec="on" must be "off"'),
        ('python source="beside"', 'source="beside" must be one of "above", "below"'),
        ('python reason=" "', 'reason=" " must be some text'),
        ('python file="notes.txt"', 'must be "name.py" or "name.py:region"'),
        ('python file="a.py:b:c"', 'must be "name.py" or "name.py:region"'),
        ('python hl_lines="1,2"', 'must be line numbers such as "1 3-4"'),
        ('python linenums="yes"', 'must be a line number such as "1"'),
        ('python id="two,words"', "must be a letter followed by letters, digits"),
        ('python id="1st"', "must be a letter followed by letters, digits"),
        ('python timeout="0"', "must be a number above zero"),
        ('python timeout="inf"', "must be a number above zero"),
        ('python timeout="1 h"', "must be a number above zero"),
        ('python raises="an error"', "must be the name of an exception"),
        ('output rtol="-1"', "must be a number above zero"),
        ('output rtol="nan"', "must be a number above zero"),
        ('output atol="0"', "must be a number above zero"),
        ('output show="graph"', 'show="graph" must be one of "table", "figure"'),
        ('output device="cpu"', 'device="cpu" must be "cuda"'),
        ('output code="0123"', "must be the eight digits that recording writes"),
    ],
)
def test_a_wrong_value_is_an_error_that_says_what_is_allowed(header: str, message: str):
    mistake = error(header)
    assert "option-value" == mistake.code
    assert message in mistake.message


@pytest.mark.parametrize(
    "language",
    [
        "Python",
        "PYTHON",
        "py",
        "Py",
        "py3",
        "python3",
        "ipython",
        "pycon",
        "python-repl",
        "pyodide",
    ],
)
def test_python_by_another_name_would_never_run(language: str):
    for header in (language, f"{{.{language}}}", f'{language} title="x"'):
        mistake = error(header)
        assert "fence-language" == mistake.code
        assert f"a fence in {language!r} would never run" == mistake.message
        assert "write `python`" in mistake.hint


@pytest.mark.parametrize(
    ("language", "meant"),
    [
        *((name, "output") for name in ("Output", "outputs", "ouput", "outpt")),
        *((name, "python") for name in ("pyhton", "pythn", "phyton")),
        *((name, "math") for name in ("maths", "Math")),
    ],
)
def test_a_misspelt_language_is_an_error_that_names_the_right_one(language: str, meant: str):
    assert "fence-language" == error(language).code
    assert f"did you mean {meant!r}?" == error(language).hint


@pytest.mark.parametrize("language", ["", "text", "bash", "c++", "matlab", "mermaid", "pytb", "md"])
def test_other_languages_are_shown(language: str):
    assert (language, {}) == parse_header(language)


@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("python notest", 'options are written name="value": exec, reason'),
        ("{.python notest}", 'options are written name="value": exec, reason'),
        ("{.python .notest}", 'options are written name="value": exec, reason'),
        ("{.python #anchor}", 'options are written name="value": exec, reason'),
        ("{python}", 'options are written name="value"'),
        ('python, exec="off"', 'options are written name="value"'),
        ('"python"', 'options are written name="value"'),
        ('python {title="x"}', "leave the braces out"),
        ('python{title="x"}', "leave the braces out"),
        ("python title='`x`'", "leave it out"),
        ('python\u00a0title="x"', "it knows title, hl_lines, linenums"),
        ('math title="x"', "it knows none"),
        ("math display", 'options are written name="value": here, none'),
    ],
)
def test_a_header_that_the_site_or_github_reads_otherwise_is_an_error(header: str, hint: str):
    assert hint in error(header).hint


@given(st.text(alphabet="python output{}.=\"'`title rtol \t#\\é\u00a0", max_size=40))
def test_a_header_is_understood_or_refused(header: str):
    try:
        language, options = parse_header(header.strip(" \t"))
    except OptionError:
        return
    assert language in header
    assert set(options) <= {"title", "rtol"}
