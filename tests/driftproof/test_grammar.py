"""Claims about pages: what is a block, an output, a bound number, and what is said of the rest."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftproof.lint import misused_measurements
from driftproof.page import Page
from driftproof.problem import Problem

BLOCK = "```python\nprint(26)\n```\n"
OUTPUT = "\n```output\n26\n```\n"


def wrong(page: Page) -> list[Problem]:
    return page.problems + misused_measurements(page)


def found(page: Page) -> list[tuple[int, str]]:
    return [(problem.line, problem.code) for problem in wrong(page)]


def only(page: Page) -> str:
    """The message and hint of the page's only problem."""
    (problem,) = wrong(page)
    assert "docs/page.md" == problem.path
    assert 1 <= problem.line <= len(page.lines)
    return f"{problem.message}; {problem.hint}"


# Blocks and outputs


def test_a_block_has_code_line_number_and_output(project):
    page = project.parse(f"# Title\n\n{BLOCK}{OUTPUT}\nText.\n\n{BLOCK}{OUTPUT}")
    assert [] == page.problems
    first, second = page.blocks
    assert (1, 3, "print(26)\n", 4) == (first.number, first.line, first.code, first.first)
    assert (2, 13) == (second.number, second.line)
    assert first.output is not None
    assert "26" == first.output.text
    assert ("block-1", "block-2") == (first.anchor, second.anchor)


def test_blocks_and_outputs_pair_wherever_both_are_indented_alike(project):
    for prefix, before in (
        ("    ", '=== "A"\n\n'),
        ("    ", "!!! note\n\n"),
        ("    ", "1. item\n\n"),
        ("        ", "- item\n\n    - inner\n\n"),
        ("> ", ""),
        ("> > ", ""),
        ("\t", '=== "A"\n\n'),
    ):
        text = "".join(f"{prefix}{line}\n" for line in f"{BLOCK}{OUTPUT}".split("\n"))
        page = project.parse(before + text)
        assert [] == page.problems
        assert ["26"] == [block.output.text for block in page.blocks if block.output]


def test_outputs_may_follow_at_once_or_after_blank_lines(project):
    for between in ("", "\n", "\n\n\n", "  \n"):
        (block,) = project.parse(f"{BLOCK}{between}```output\n26\n```\n").blocks
        assert block.output is not None


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (OUTPUT, 2, "does not follow a block"),
        (f"{BLOCK}\nText.\n{OUTPUT}", 7, "does not follow a block"),
        (f"{BLOCK}\n<!-- 3 -->\n{OUTPUT}", 7, "does not follow a block"),
        (f"{BLOCK}{OUTPUT}{OUTPUT}", 9, "does not follow a block"),
        (f"{BLOCK}\n```text\n26\n```\n{OUTPUT}", 9, "does not follow a block"),
        ('```python exec="off" reason="slow"\nx\n```\n' + OUTPUT, 5, "does not run"),
        (f"{BLOCK}\n> ```output\n> 26\n> ```\n", 5, "not indented like its block"),
        ("- a\n\n    ```python\n    x\n    ```\n" + OUTPUT, 7, "not indented like its block"),
    ],
)
def test_an_output_without_its_block_is_an_error(project, text: str, line: int, message: str):
    page = project.parse(text)
    assert [(line, "surplus-output")] == found(page)
    assert message in only(page)


def test_a_block_is_shown_only_with_a_reason(project):
    page = project.parse('```python exec="off" reason="takes an hour"\nx\n```\n')
    assert [] == page.problems
    assert [] == page.running
    assert [False] == [block.runs for block in page.blocks]
    assert 'add reason="…"' in only(project.parse('```python exec="off"\nx\n```\n'))
    assert 'goes with exec="off"' in only(project.parse('```python reason="slow"\nx\n```\n'))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ('rtol="1e-3"', "rtol needs a reason"),
        ('atol="1e-3"', "atol needs a reason"),
        ('rtol="1e-3" because=" "', "must be some text"),
        ('because="float32"', "because goes with rtol or atol"),
        ('measured="m" rtol="1" because="b"', "a measured output has no tolerance"),
        ('rtoll="1e-3"', "did you mean 'rtol'?"),
    ],
)
def test_an_output_that_declares_nonsense_is_an_error(project, options: str, message: str):
    page = project.parse(f"Text.\n\n{BLOCK}\n```output {options}\n26\n```\n")
    assert 7 == page.problems[0].line
    assert message in only(page)


@pytest.mark.parametrize(
    "header", ["python notest", "py", "{.python .notest}", 'python sesion="x"', "python exec=off"]
)
def test_a_mistaken_header_is_one_error_at_its_line_wherever_it_stands(project, header: str):
    for before, prefix in (("", ""), ("- item\n\n", "    "), ('=== "A"\n\n', "    "), ("", "> ")):
        lines = [f"```{header}", "x = 1", "```", "", "```output", "1", "```"]
        page = project.parse(before + "\n".join((prefix + line).rstrip() for line in lines))
        only(page)
        assert before.count("\n") + 1 == page.problems[0].line
        assert [] == page.blocks


def test_a_mistaken_header_that_is_not_on_the_page_is_no_error(project):
    assert [] == project.problems("<!--\n```py notest\nx\n```\n-->\n")
    assert [] == project.problems("text\n\n    ```py notest\n    x\n    ```\n")
    assert [] == project.problems("````md\n```py notest\nx\n```\n````\n")


def test_two_blocks_cannot_have_one_id(project):
    named = '```python id="step"\nx = 1\n```\n'
    page = project.parse(f"{named}\n{BLOCK}\n{named}")
    assert [(9, "duplicate-id")] == found(page)
    assert "'step' is already that of the block at line 1" in only(page)
    assert [(5, "duplicate-id")] == found(
        project.parse(f"{named.replace('step', 'block-2')}\n{BLOCK}")
    )


def test_code_is_written_not_included(project):
    for marker in ('--8<-- "setup.py"', "--8<--", '  -8<- "a.py"'):
        page = project.parse(f"Text.\n\n```python\nx = 1\n{marker}\n```\n")
        assert [(5, "include-in-code")] == found(page)
        assert 'file="name.py"' in only(page)
    assert [] == project.problems('```python\nx = 1\n;--8<-- "setup.py"\n```\n')


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"# Title\n\n{BLOCK}\n```python\ny = 2\n\n## Next\n\n{BLOCK}", 7),
        (f"# Title\n\n{BLOCK}\n```output\n26\n", 7),
        ("1. item\n\n    ```python\n    x\n\n2. item\n", 3),
    ],
)
def test_an_unclosed_fence_is_the_only_error_of_its_page(project, text: str, line: int):
    page = project.parse(text)
    assert [(line, "unclosed-fence")] == found(page)
    assert "more ticks outside than inside" in only(page)


def test_an_unclosed_comment_is_an_error(project):
    page = project.parse(f"Text <!-- not\n\n{BLOCK}{OUTPUT}\n--> more.\n")
    assert [(1, "unclosed-comment")] == found(page)
    assert [(3, "unclosed-comment")] == found(project.parse("Text.\n\n<!-- not\n"))
    assert [] == project.problems(
        "`<!--` begins one, <!-- here\nis one --> more.\n\n<!-- a\n\nb -->\n"
    )


# Files as editors write them


def test_windows_line_endings_change_nothing(project):
    text = f'---\ntitle: x\n---\n# Title\n\n{BLOCK}{OUTPUT}\n<data value="x">3</data>\n'
    unix = project.parse(text)
    windows = project.parse(text.replace("\n", "\r\n"))
    assert unix == windows


def test_a_byte_order_mark_changes_nothing(project):
    text = f'<data value="x">3</data>\n\n{BLOCK}{OUTPUT}'
    assert project.parse(text) == project.parse("\ufeff" + text)
    text = f"---\ntitle: x\n---\n{BLOCK}{OUTPUT}"
    assert project.parse(text) == project.parse("\ufeff" + text)
    (block,) = project.parse(f"\ufeff{BLOCK}{OUTPUT}").blocks
    assert (1, "26") == (block.line, block.output.text)


def test_a_lone_carriage_return_is_an_error(project):
    page = project.parse(f"Text.\nMore\rtext.\n\n{BLOCK}")
    assert [(2, "encoding")] == found(page)
    assert "end lines with LF or CR LF" in only(page)


def test_a_page_that_is_not_utf_8_is_an_error(project):
    (project.root / "docs/page.md").write_bytes("# Zürich\n".encode("latin-1"))
    page = project.parse()
    assert [(1, "encoding")] == [(p.line, p.code) for p in page.problems]
    assert "save it as UTF-8" == page.problems[0].hint


def test_tab_characters_indent_as_on_the_site(project):
    page = project.parse('=== "A"\n\n\t```python\n\tif True:\n\t\tprint(26)\n\t```\n')
    assert [] == page.problems
    assert "if True:\n    print(26)\n" == page.blocks[0].code


@pytest.mark.parametrize(
    "front",
    [
        "---\ntitle: 0.5\n---\n",
        "---\n---\n",
        "---\ntitle: 0.5\n...\n",
        "---\n# why\ntitle: x\ntags:\n- a\n  b: c\n\n'quoted': 3\n---  \n",
    ],
)
def test_front_matter_is_no_prose(project, front: str):
    page = project.parse(f"{front}{BLOCK}{OUTPUT}")
    assert [] == page.problems
    assert [""] * front.count("\n") == page.prose[: front.count("\n")]
    assert [front.count("\n") + 1] == [block.line for block in page.blocks]


def test_rules_are_no_front_matter(project):
    page = project.parse(f'---\n\nText <data value="x">3</data>\n\n{BLOCK}{OUTPUT}\n---\n\nText.\n')
    assert [5] == [block.line for block in page.blocks]
    assert [3] == [bound.line for bound in page.bounds]


# Bound numbers


def test_a_bound_number_has_expression_text_and_place(project):
    (bound,) = project.parse('A.\n\nSo <data value="share">6.5%</data> is.\n').bounds
    assert ("share", "", "6.5%", 3) == (bound.expression, bound.slug, bound.text, bound.line)


def test_bound_numbers_name_expressions_of_this_or_another_page(project):
    page = project.parse(
        '<data value="x">1</data> <data value="other-page:x[1:2]">2</data> '
        '<data value=\'d["a"]\'>3</data> <data value="{1: 2}[1]">4</data>\n'
        '<data value="x" rtol="1e-3" because="float32">about 5 steps</data>\n'
    )
    assert [] == page.problems
    assert [
        ("", "x", "1"),
        ("other-page", "x[1:2]", "2"),
        ("", 'd["a"]', "3"),
        ("", "{1: 2}[1]", "4"),
        ("", "x", "about 5 steps"),
    ] == [(bound.slug, bound.expression, bound.text) for bound in page.bounds]
    assert 0.001 == page.bounds[-1].tolerance.rtol
    assert all(
        page.lines[bound.line - 1][bound.start :].startswith(bound.text) for bound in page.bounds
    )


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ("<data>3</data>", 'it takes value="expression"'),
        ("<data value=x>3</data>", "is not understood"),
        ('<data value="x>3</data>', "is not understood"),
        ('<data vlaue="x">3</data>', "is not understood"),
        ('<data value="x" class="y">3</data>', "is not understood"),
        ('<data value="x" rtol>3</data>', "is not understood"),
        ('<data value="x">3', "is not understood"),
        ('<data value="x">3</dat>', "is not understood"),
        ('<data value="x">\n3</data>', "on one line"),
        ('<data\nvalue="x">3</data>', "on one line"),
        ('<data value="x"><b>3</b></data>', "is not understood"),
        ('<data value="x">3 <data value="y">4</data></data>', "is not understood"),
        ('<data value="">3</data>', "'' is not a Python expression"),
        ('<data value="x +">3</data>', "'x +' is not a Python expression"),
        ('<data value="x = 1">3</data>', "is not a Python expression"),
        ('<data value="My page:x">3</data>', "is not a Python expression"),
        ('<data value="page:">3</data>', "is not a Python expression"),
        ('<data value="x"></data>', "the element is empty"),
        ('<data value="x"> </data>', "the element is empty"),
        ('<data value="x">3 of 4</data>', "give each an element of its own"),
        ('<data value="x" rtol="1e-3">3</data>', 'add because="…"'),
        ('<data value="x" rtol="1e-3" because="">3</data>', 'add because="…"'),
        ('<data value="x" rtol="small" because="b">3</data>', "is not a number from 0 to 1"),
        ('<data value="x" rtol="-1" because="b">3</data>', "is not a number from 0 to 1"),
        ('<data value="x" rtol="nan" because="b">3</data>', "is not a number from 0 to 1"),
    ],
)
def test_a_malformed_bound_number_is_an_error_at_its_line(project, element: str, message: str):
    for before, after in (("", ""), ("", ' and <data value="y">4</data>'), ("> ", "")):
        page = project.parse(f"Text.\n\n{before}Then {element}{after} follows.\n")
        assert {(3, "bound-number")} == set(found(page))
        assert message in f"{page.problems[0].message}; {page.problems[0].hint}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("So $x = {}$ holds.", "end the formula before it"),
        ("So $$x = {}$$ holds.", "end the formula before it"),
        ("| name | {} |", "give the expression a name without |"),
    ],
)
def test_a_bound_number_cannot_stand_in_a_formula_or_cut_a_row(project, line: str, message: str):
    page = project.parse("Text.\n\n" + line.format('<data value="x | y">3</data>') + "\n")
    assert [(3, "bound-number")] == found(page)
    assert message in only(page)


def test_a_number_is_not_bound_inside_code_comments_and_fences(project):
    element = '<data value="x">3</data>'
    text = f"`{element}` `` ` {element} ``\n\n<!-- {element} -->\n\n```html\n{element}\n```\n"
    page = project.parse(text)
    assert [] == page.problems
    assert [] == page.bounds


def test_a_stray_back_tick_hides_no_bound_number(project):
    page = project.parse('A stray ` here.\n\n<data value="x">3</data>\n\n- and ` there.\n')
    assert [3] == [bound.line for bound in page.bounds]


@pytest.mark.parametrize(
    "line",
    [
        "| a | {} |",
        "## Title {} {{ #title }}",
        "- {}",
        "> {}",
        "[{}](x.md)",
        '!!! note "{}"',
        "**{}**",
    ],
)
def test_a_number_is_bound_wherever_prose_is(project, line: str):
    page = project.parse("Text.\n\n" + line.format('<data value="x">3</data>') + "\n")
    assert [] == page.problems
    assert [3] == [bound.line for bound in page.bounds]


# Measured blocks are leaves


MEASURED = '```output measured="m · 2026-01-02" code="00000000"\n1\n```\n'


def leaf(code: str, later: str) -> str:
    return f"```python\n{code}\n```\n\n{MEASURED}\n{later}"


@pytest.mark.parametrize(
    ("code", "later", "refused"),
    [
        ("t = clock()", "```python\nu = t\n```\n", "'t' comes from the block at line 1"),
        ("t = clock()", "```python\nt = t + 1\n```\n", "'t'"),
        ("t = clock()", "```python\nt += 1\n```\n", "'t'"),
        ("t = clock()", "```python\ndef f():\n    return t\n```\n", "'t'"),
        ("t = clock()", "```python\n[u for u in t]\n```\n", "'t'"),
        ("t = clock()", "```python\nfor u in t:\n    pass\n```\n", "'t'"),
        ("t = clock()", 'Took <data value="t">3</data> s.\n', "'t'"),
        ("a, (b, *c) = clock()", 'Took <data value="max(c)">3</data> s.\n', "'c'"),
        ("for t in clock(): pass", 'Took <data value="t">3</data> s.\n', "'t'"),
        ("with clock() as t: pass", 'Took <data value="t">3</data> s.\n', "'t'"),
        ("if (t := clock()): pass", 'Took <data value="t">3</data> s.\n', "'t'"),
        ("match clock():\n    case [t]: pass", 'Took <data value="t">3</data> s.\n', "'t'"),
        ("def clock(): pass", 'Took <data value="clock()">3</data> s.\n', "'clock'"),
        ("import time", 'Took <data value="time.time()">3</data> s.\n', "'time'"),
        ("t = clock()", '```python\nt = 1\n```\n\n<data value="t">1</data>\n', ""),
        ("t = clock()", "```python\nfor t in range(3):\n    print(t)\n```\n", ""),
        ("t = clock()", "```python\n[t for t in range(3) if t]\n```\n", ""),
        ("t = clock()", "```python\ndef f(t):\n    return t\n```\n", ""),
        ("t = clock()", "```python\ndef f():\n    t = 1\n    return t\n```\n", ""),
        ("[t for t in clock()]", "```python\nu = t\n```\n", ""),
        ("t = clock()", "```python\nu = 1\n```\n", ""),
        ("t = clock()", 'Took <data value="other:t">3</data> s.\n', ""),
    ],
)
def test_nothing_may_use_the_names_of_a_measured_block(project, code, later, refused):
    page = project.parse(leaf(code, later))
    if refused:
        assert [(8 + code.count("\n") + 1, "measured-leaf")] == found(page)
        assert refused in only(page)
    else:
        assert [] == found(page)


def test_a_block_for_another_device_is_a_leaf_too(project):
    text = leaf("t = 1", "```python\nu = t\n```\n").replace(
        'measured="m · 2026-01-02"', 'device="cuda"'
    )
    assert [(9, "measured-leaf")] == found(project.parse(text))


def test_a_measured_block_may_use_what_stands_before_it(project):
    page = project.parse(f"```python\nx = 1\n```\n\n{leaf('t = x', '')}")
    assert [] == page.problems


# Anything


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *(
                    "",
                    "```",
                    "```python",
                    "````",
                    "~~~python exec='off'",
                    "```output",
                    "<!--",
                    "-->",
                ),
                *('<data value="x">3</data>', '<data value="x', "</data>", "`", "``", "---", "$$"),
                *('--8<-- "a.md"', "--8<--", "x = 1", "def (", "\x00", "\u2028", '=== "A"', "- a"),
                *('```python file="a.py"', '```output measured="m"', '```python id="a"', "\ufeff"),
            ]
        ),
        st.text(max_size=10),
    ).flatmap(
        lambda line: st.sampled_from(["", "    ", "> ", "\t"]).map(lambda prefix: prefix + line)
    ),
    max_size=12,
)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(LINES, st.sampled_from(["\n", "\r\n"]))
def test_parsing_never_raises_and_points_into_the_file(project, lines: list[str], ending: str):
    page = project.parse(ending.join(lines))
    count = max(1, len(page.lines))
    assert all(1 <= problem.line <= count for problem in page.problems)
    assert all(1 <= block.line < block.fence.end + 1 <= count for block in page.blocks)
    for bound in page.bounds:
        assert page.lines[bound.line - 1][bound.start :].startswith(bound.text)


def test_an_id_may_hold_blanks_and_its_anchor_does_not(project):
    page = project.parse('```python id="two words"\nx = 1\n```\n')
    assert page.problems == []
    assert page.blocks[0].anchor == "two-words"
