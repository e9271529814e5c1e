"""Claims about formulas: where they are found, what becomes of them, what is refused."""

from __future__ import annotations

import re
import time

import pytest
from markdown import Markdown
from pymdownx.superfences import SuperFencesException

from driftproof import mathematics
from driftproof.mathematics import MathematicsError, check, render

FENCE = {
    "name": "math",
    "class": "math",
    "format": mathematics.format_fence,
    "validator": mathematics.validate_fence,
}


def page() -> Markdown:
    return Markdown(
        extensions=[
            "admonition",
            "md_in_html",
            "tables",
            "toc",
            "pymdownx.superfences",
            "driftproof.mathematics",
        ],
        extension_configs={"pymdownx.superfences": {"custom_fences": [FENCE]}},
    )


def html(source: str) -> str:
    return page().convert(source)


def formulas(source: str) -> list[str]:
    """The characters of each formula, without its markup."""
    found = re.findall(r"<math\b.*?</math>", html(source), re.DOTALL)
    return [re.sub(r"<[^>]*>|\u2061", "", formula) for formula in found]


@pytest.mark.parametrize(
    ("tex", "element", "count"),
    [
        (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "<mtr>", 2),
        (r"\frac{1}{1 + \frac{1}{x}}", "<mfrac>", 2),
        (r"\sqrt{d} + \sqrt[3]{d}", "<msqrt>", 1),
        (r"\sqrt{d} + \sqrt[3]{d}", "<mroot>", 1),
        (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", "<mtd", 4),
        (r"\sum_{t=1}^{T} h_t", "<munderover>", 1),
    ],
)
def test_tex_becomes_mathml(tex: str, element: str, count: int) -> None:
    assert count == render(tex, display=True).count(element)


def test_display_and_inline_differ() -> None:
    assert 'display="block"' in render("x", display=True)
    assert 'display="block"' not in render("x", display=False)


@pytest.mark.parametrize(
    ("tex", "message"),
    [
        (r"\undefined{x}", r"Unsupported function name: \undefined"),
        (r"\frac{1", "Unexpected end of input in a macro argument, expected '}'"),
        ("a_1_2", "Double subscript"),
        (r"\left( x", r"Expected '\right', got 'EOF'"),
        ("a & b", "Expected 'EOF', got '&'"),
        ("x^", "incomplete, or nested too deeply"),
        ("{" * 5000 + "}" * 5000, "incomplete, or nested too deeply"),
        (r"\def\again{\again}\again", "Too many expansions"),
        (" \n", "the formula is empty"),
    ],
)
@pytest.mark.parametrize("display", [False, True])
def test_malformed_tex_is_refused(tex: str, message: str, display: bool) -> None:
    assert message in (check(tex, display) or "")


def test_well_formed_tex_passes() -> None:
    assert check(r"h_t = \tanh(W_h h_{t-1} + W_x x_t + b)", display=True) is None


def test_macro_of_one_formula_is_unknown_to_the_next() -> None:
    assert check(r"\gdef\mine{1}\mine", display=False) is None
    assert check(r"\mine", display=False) == r"Unsupported function name: \mine"


def test_error_tells_formula_and_line() -> None:
    tex = "a\n= b\n+ \\undefined"
    with pytest.raises(MathematicsError) as caught:
        render(tex, display=True)
    assert tex == caught.value.tex
    assert caught.value.line == 2
    assert "\\undefined" in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        r"A sentence with $\undefined$ in it.",
        "$$\n\\undefined\n$$",
        "```math\n\\undefined\n```",
        "| a |\n|---|\n| $\\undefined$ |",
        "$$\na blank line\n\nends a formula\n$$",
        '```math title="no"\nx\n```',
    ],
)
def test_page_with_a_bad_formula_is_not_rendered(source: str) -> None:
    with pytest.raises(SuperFencesException):
        html(source)


def test_caller_can_collect_every_error_of_a_page() -> None:
    md, errors = page(), []
    md.driftproof_errors = errors  # ty: ignore[missing-attribute]
    result = md.convert("$\\one$ and $\\two$\n\n$$\n\\three\n$$\n")
    assert {r"\one", r"\two", "\n\\three\n"} == {error.tex for error in errors}
    assert r"<code>\one</code>" in result


@pytest.mark.parametrize(
    "source",
    [
        "It costs $5 and $6.",
        "From $5-$6 to ($7).",
        r"Not \$x\$ and not \$x$.",
        "US$5 and A$x$B",
        "$ x $",
        "`$x$` and ``a `$x$` b``",
        "    $x$ in indented code",
        "```\n$x$\n```",
        "```\n$$\nx\n$$\n```",
    ],
)
def test_dollar_that_is_no_formula(source: str) -> None:
    assert [] == formulas(source)
    assert "$" in html(source)


def test_escaped_dollar_loses_its_backslash() -> None:
    assert "<p>$5 for $x$</p>" == html(r"\$5 for \$x\$")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Prices of $5 and $x_1$ apples.", ["x1"]),
        ("$a$, ($b$), **$c$** and $d$-wide", ["a", "b", "c", "d"]),
        ("# State $h_t$\n", ["ht"]),
        ("| $a$ | $b$ |\n|---|---|\n| $c$ | $\\lvert d \\rvert$ |", ["a", "b", "c", "|d|"]),
        ("!!! note\n    Take $a$.\n\n    ```math\n    b\n    ```\n", ["a", "b"]),
        ("- $a$\n\n    $$\n    b\n    $$\n", ["a", "b"]),
        ("<div markdown>\n\n$a$\n\n</div>", ["a"]),
        ("$$\na\n$$", ["a"]),
        ("$$\n> a\n$$", [">a"]),
        ("before\n$$ a $$\nafter", ["a"]),
        ("$a*b$ and $c*d$", ["a∗b", "c∗d"]),
        (r"$\text{5\$}$", ["5$"]),
    ],
)
def test_formula_is_found(source: str, expected: list[str]) -> None:
    found = [formula.replace("&gt;", ">") for formula in formulas(source)]
    assert expected == found


@pytest.mark.parametrize("source", ["$a<b$", "$$\na<b\n$$", "```math\na<b\n```"])
def test_text_of_a_formula_is_escaped(source: str) -> None:
    assert "<mo>&lt;</mo>" in html(source)


def test_markup_in_a_formula_is_text() -> None:
    assert "&lt;b&gt;" in html(r"$\text{<b>}$")


def test_operators_of_scripts_stand_close() -> None:
    assert '<mo lspace="0" rspace="0">−</mo>' in html("$h_{t-1}$")
    assert "<mo>−</mo>" in html("$t-1$")


def test_alternative_text_with_a_formula_stays_text() -> None:
    assert 'alt="the state ht"' in html("![the state $h_t$](h.svg)")


def test_two_hundred_formulas_take_less_than_two_seconds() -> None:
    source = "\n\n".join(
        rf"$$\alpha_{{{i}}} = \frac{{\exp(s_{{{i}}})}}{{\sum_{{t=1}}^{{T}} \exp(s_t)}}$$"
        for i in range(200)
    )
    start = time.process_time()
    assert html(source).count("<mfrac>") == 200
    assert time.process_time() - start < 2
