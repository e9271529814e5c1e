"""Claims about prose: which numbers something must keep, and which formulas are none."""

from __future__ import annotations

import pytest

from driftproof.lint import malformed_formulas, unbound_numbers

BLOCK = """\
```python
rate = 0.05
width, depth = 512, -3.5
print(f"{rate ** 15:.4e} {1 / 3:.6f}")
```

```output
3.0518e-20 0.333333
```
"""


def unbound(project, text: str) -> list[tuple[int, str]]:
    return [
        (problem.line, problem.message.partition(" is neither")[0])
        for problem in unbound_numbers(project.parse(text))
    ]


def malformed(project, text: str) -> list[tuple[int, str]]:
    return [(p.line, p.message) for p in malformed_formulas(project.parse(text))]


PROSE = [
    "It is {} here.",
    "# Title with {}",
    "| name | {} |",
    "- item {}",
    "1. item {}",
    "> quote {}",
    "[a link of {}](page.md)",
    "![a picture of {}](picture.png)",
    "code `{}` in a sentence",
    "**{}** and *more*",
    "so $x = {}$ holds",
    "so $$x = {}$$ holds",
    '!!! note "Took {} s"',
    '=== "{} steps"',
    "    indented {}",
    "<b>{}</b>",
    "A year such as 2024 beside {}.",
    "<!-- hidden --> {}",
]


@pytest.mark.parametrize("line", PROSE)
@pytest.mark.parametrize("number", ["0.123", "26", "6.5%", "2,101,248", "5.54e-19", "5.5×10⁻¹⁹"])
def test_a_number_that_nothing_keeps_is_an_error_wherever_it_is_read(project, line, number):
    assert [(3, number)] == unbound(project, f"Text.\n\n{line.format(number)}\n")


def test_a_number_in_a_formula_fence_is_prose(project):
    assert [(4, "0.123")] == unbound(project, "Text.\n\n```math\nx = 0.123\n```\n")
    assert [] == unbound(project, "<!--\n```math\nx = 0.123\n```\n-->\n")


@pytest.mark.parametrize(
    "text",
    [
        "Small integers such as 0, 3, 9 and −5.",
        "Years such as 1940, 1997 and 2030.",
        "12. item",
        "- 12. item",
        "> 12) item",
        "## 12. Title",
        "## 12.3. Title",
        'So <data value="x">0.123</data> it is.',
        "[link](page-12.md#0.123)",
        '[link](page.md "0.123")',
        "[link](https://example.org/0.123_(12))",
        "[link][12th]\n\n[12th]: https://example.org/0.123",
        "<https://example.org/0.123> and https://example.org/0.123",
        '![picture](picture.png){ width="300" }',
        "## Title { #title-0.123 }",
        "## Title {: .wide data-width='0.123' }",
        '<img width="300" src="a.png">',
        '<div class="grid-26" style="width: 12.5%" markdown>\n</div>',
        "They report 0.123 [^hochreiter].",
        "They report 0.123 [@hochreiter1997].",
        "They report 0.123, see https://doi.org/10.1162/neco.1997.9.8.1735",
        "They report 0.123 (arXiv:1409.1259).",
        "Names such as GPT-2, version 2.13.0, section 12.3 and 2024-05-06.",
        "```text\n0.123\n```",
        "<!-- 0.123 -->",
        "---\nnumber: 0.123\n---",
    ],
)
def test_a_number_is_free_where_it_cannot_go_stale(project, text: str):
    assert [] == unbound(project, f"{text}\n")


@pytest.mark.parametrize(
    "printed",
    [
        *("3.0518e-20", "3.05e-20", "3.1×10⁻²⁰", "0.333333", "0.33", "33%", "33.3%", "0.05", "5%"),
        *("512", "-3.5", "3.5"),
    ],
)
def test_a_number_is_known_from_an_output_or_the_code_as_rounded(project, printed: str):
    assert [] == unbound(project, f"{BLOCK}\nIt is {printed} here.\n")
    assert [] == unbound(project, f"It is {printed} here.\n\n{BLOCK}")


@pytest.mark.parametrize("printed", ["3.06e-20", "0.3334", "34%", "51", "513", "0.055", "3.0518"])
def test_a_number_that_only_resembles_a_known_one_is_an_error(project, printed: str):
    assert [(11, printed)] == unbound(project, f"{BLOCK}\nIt is {printed} here.\n")


def test_a_citation_frees_its_own_line_only(project):
    assert [(1, "0.123"), (3, "0.789")] == unbound(project, "A 0.123\nB 0.456 [^a]\nC 0.789\n")


def test_the_error_says_what_to_do(project):
    (problem,) = unbound_numbers(project.parse("Text 0.123.\n"))
    assert 'write <data value="expression">' in problem.hint


MALFORMED = {
    "inline": ("Text.\nSo $\\frac{1$ is.\n", 2),
    "inline in a list": ("- item\n\n    So $\\frac{1$ is.\n", 3),
    "inline in a table": ("| a | b |\n|---|---|\n| $x$ | $\\nonsense$ |\n", 3),
    "inline over two lines": ("Text\n$x +\n\\nonsense$ is.\n", 3),
    "second on its line": ("Good $x$, bad $\\frac{1$ is.\n", 1),
    "display": ("Text.\n\n$$\nx = \\frac{1}{2}\n\\nonsense\n$$\n", 5),
    "display in a list": ("1. item\n\n    $$\n    \\nonsense\n    $$\n", 4),
    "display in a quote": ("> text\n> $$\\nonsense$$\n", 2),
    "display in a sentence": ("So $$\\frac{1$$ is.\n", 1),
    "display without a partner": ("Text.\n\n$$\nx\n", 3),
    "fence": ("Text.\n\n```math\nx = 1\ny = \\nonsense\n```\n", 5),
    "fence in a list": ("- item\n\n    ```math\n    \\nonsense\n    ```\n", 4),
    "fence in a tab": ('=== "A"\n\n    ~~~ math\n\n    \\nonsense\n    ~~~\n', 5),
    "empty fence": ("Text.\n\n```math\n```\n", 4),
}


@pytest.mark.parametrize(("text", "line"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_formula_is_an_error_at_its_line(project, text: str, line: int):
    for front in ("", "---\ntitle: x\n---\n"):
        ((found, message),) = malformed(project, front + text)
        assert front.count("\n") + line == found
        assert message
        assert "\n" not in message


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $6.",
        "A dollar \\$ and another \\$.",
        "Code `$\\nonsense$` and ``$$``.",
        "```text\n$\\nonsense$\n```",
        "<!-- $\\nonsense$ -->",
        "<!--\n```math\n\\nonsense\n```\n-->",
        "A price of $5.\n\nAnother of 6$.",
        "So $x_1$, $\\alpha^2$ and $$\\sum_{i=1}^n i$$ hold.",
    ],
)
def test_dollars_that_hold_no_malformed_formula_are_no_error(project, text: str):
    assert [] == malformed(project, f"{text}\n")
