"""Claims about fences: found where the site shows them, with their own lines and nothing else."""

from __future__ import annotations

import re

import markdown
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from driftproof.fences import CONTAINERS, Fence, blanked, find_fences, without_code_spans

FENCE = "```python\nx = 1\n```"


def fences(text: str) -> list[Fence]:
    found, broken = find_fences(text.split("\n"))
    assert [] == broken
    return found


def live(text: str) -> list[int]:
    """The lines, from 1, on which the fences open that are on the page."""
    return [fence.start + 1 for fence in fences(text) if fence.live]


def broken(text: str) -> list[tuple[int, str]]:
    return [(fence.start + 1, fence.reason) for fence in find_fences(text.split("\n"))[1]]


def indented(text: str, by: str) -> str:
    return "\n".join((by + line).rstrip() for line in text.split("\n"))


SPACES = " " * 4
CONTAINED = {
    "tab": f'=== "First"\n\n{indented(FENCE, SPACES)}\n',
    "second tab": f'=== "First"\n\n    text\n\n=== "Second"\n\n{indented(FENCE, SPACES)}\n',
    "admonition": f"!!! note\n\n{indented(FENCE, SPACES)}\n",
    "admonition without a blank line": f"!!! note\n{indented(FENCE, SPACES)}\n",
    "details": f'??? tip "More"\n\n{indented(FENCE, SPACES)}\n',
    "tab in details": f'???+ tip "More"\n\n    === "A"\n\n{indented(FENCE, 2 * SPACES)}\n',
    "list": f"- item\n\n{indented(FENCE, SPACES)}\n",
    "numbered list": f"1. item\n\n{indented(FENCE, SPACES)}\n",
    "nested list": f"- item\n\n    1. inner\n\n{indented(FENCE, 2 * SPACES)}\n",
    "quote": f"{indented(FENCE, '> ')}\n",
    "quote in a quote": f"{indented(FENCE, '> > ')}\n",
    "list in a quote": f"> - item\n>\n{indented(FENCE, '>     ')}\n",
    "quote in a list": f"- item\n\n{indented(FENCE, '    > ')}\n",
    "div markdown": f'<div class="grid" markdown>\n\n{FENCE}\n\n</div>\n',
    "div markdown, indented": f"  <div markdown>\n\n{FENCE}\n\n  </div>\n",
    "tilde": FENCE.replace("```", "~~~"),
    "four ticks": FENCE.replace("```", "````"),
    "definition": f"term\n\n:   text\n\n{indented(FENCE, SPACES)}\n",
    "footnote": f"text[^1]\n\n[^1]: note\n\n{indented(FENCE, SPACES)}\n",
    "tab characters": f'=== "First"\n\n{indented(FENCE, chr(9))}\n',
}


@pytest.mark.parametrize("text", CONTAINED.values(), ids=CONTAINED)
def test_a_fence_is_found_inside(text: str):
    (fence,) = fences(text)
    lines = text.split("\n")
    assert fence.live
    assert "python" == fence.header
    assert ("x = 1",) == fence.body
    assert [line.lstrip("> \t") for line in lines[fence.start : fence.end + 1]] == [
        fence.ticks + "python",
        "x = 1",
        fence.ticks,
    ]
    prefix = lines[fence.start][: lines[fence.start].index(fence.ticks)]
    assert prefix.expandtabs(4) == fence.prefix


NOT_ON_THE_PAGE = {
    "comment": f"<!--\n{FENCE}\n-->\n",
    "comment with blank lines": f"text\n\n<!-- not yet:\n\n{FENCE}\n\n-->\n\ntext\n",
    "indented code": f"text\n\n{indented(FENCE, SPACES)}\n\ntext\n",
    "indented code in a list": f"- item\n\n{indented(FENCE, 3 * SPACES)}\n",
    "comment in an admonition": f"!!! note\n\n    text\n\n<!--\n{FENCE}\n-->\n",
}


@pytest.mark.parametrize("text", NOT_ON_THE_PAGE.values(), ids=NOT_ON_THE_PAGE)
def test_a_fence_is_not_live_inside(text: str):
    assert [] == live(text)


def test_a_fence_inside_a_longer_fence_is_its_text():
    (example,) = fences(f"````md\nWrite:\n\n{FENCE}\n````\n")
    assert ("Write:", "", "```python", "x = 1", "```") == example.body
    (tildes,) = fences(f"~~~md\n{FENCE}\n~~~\n")
    assert ("```python", "x = 1", "```") == tildes.body


def test_code_in_a_sentence_is_no_fence():
    assert [] == fences("```x``` is code\n\n` ```python ` too\n\n| ```python | 3 |\n")


def test_a_comment_in_code_hides_nothing():
    assert [3] == live(f"Comments begin with `<!--`.\n\n{FENCE}\n")
    assert [3] == live(f"Comments begin with ``<!-- `x` ``.\n\n{FENCE}\n\n<!-- hidden -->\n")


def test_lines_are_true_for_every_fence_of_a_long_page():
    text = "\n\n".join(["# Page", *CONTAINED.values(), *NOT_ON_THE_PAGE.values()])
    opening = [
        i
        for i, line in enumerate(text.split("\n"), 1)
        if re.fullmatch(r"[> \t]*(`{3,}|~{3,})python", line)
    ]
    assert opening == [fence.start + 1 for fence in fences(text)]


BROKEN = {
    "at the end": (f"text\n\n{FENCE}\n\n```python\ny = 2\n", 7, "never closed"),
    "before a closed one": (f"```python\ny = 2\n\n{FENCE}\n", 1, "line 4, where a fence begins"),
    "four ticks closed by three": ("````python\nx = 1\n```\n", 1, "never closed"),
    "three ticks closed by four": ("```python\nx = 1\n````\n", 1, "never closed"),
    "tildes closed by ticks": ("~~~python\nx = 1\n```\n", 1, "never closed"),
    "in a list": ("- item\n\n    ```python\n    x = 1\n\ntext\n", 3, "cut off at line 6"),
    "in a tab": ('=== "A"\n\n    ```python\n    x = 1\n\n=== "B"\n', 3, "cut off at line 6"),
    "in an admonition": ("!!! note\n\n    ```python\n    x = 1\ntext\n", 3, "cut off at line 5"),
    "in details": ("??? note\n\n    ~~~text\n    x\n# Title\n", 3, "cut off at line 5"),
    "in a quote": ("> ```python\n> x = 1\n\ntext\n", 1, "cut off at line 4"),
    "closed in a deeper quote": ("> ```python\n> > ```\n", 1, "never closed"),
    "behind a bullet": ("- ```python\n  x = 1\n  ```\n", 3, "never closed"),
    "output": (f"{FENCE}\n\n```output\n1\n\nMore prose.\n", 5, "never closed"),
}


@pytest.mark.parametrize(("text", "line", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_fence_that_does_not_close_is_reported_where_it_opens(text: str, line: int, reason: str):
    (first, *_) = broken(text)
    assert line == first[0]
    assert reason in first[1]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <!-- b --> c", "a            c"),
        ("<!-- a\n\nb --> c", "      \n\n      c"),
        ("`<!--` a 0.5 `-->`", "`<!--` a 0.5 `-->`"),
        ("a <!-- `b --> c ` d", "a             c ` d"),
        ("a <!-- b\n\nc --> d", "a <!-- b\n\nc --> d"),  # the site shows this as text
        (f"a\n\n{FENCE}\nb", "a\n\n\n\n\nb"),
    ],
)
def test_blanking_keeps_every_line_and_column(text: str, kept: str):
    lines = text.split("\n")
    assert kept.split("\n") == blanked(lines, fences(text))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a `b` c", "a     c"),
        ("a ``b ` c`` d", "a           d"),
        ("a `b\nc` d", "a   \n   d"),
        ("a ` b\n\nc ` d", "a ` b\n\nc ` d"),
        ("> a ` b\n>\n> c ` d", "> a ` b\n>\n> c ` d"),
        ("a ` b `` c", "a ` b `` c"),
    ],
)
def test_code_in_a_sentence_ends_within_its_paragraph(text: str, kept: str):
    assert kept == without_code_spans(text)


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("", "```", "```python", "````md", "~~~", "```output", "<!--", "-->", "text"),
                *(
                    '=== "A"',
                    "!!! note",
                    "??? note",
                    "- item",
                    "1. item",
                    "<div markdown>",
                    "</div>",
                ),
                *("[^1]: note", ":   text", "| a | b |", "|---|---|", "# Title", "`code`", "<pre>"),
                *("```python title='`'", "``` `", "{", "--8<--", "---", "\x0c", "\u2028", "<data"),
            ]
        ),
        st.text(max_size=12).filter(lambda text: "\n" not in text and "\r" not in text),
    ).flatmap(
        lambda line: st.sampled_from(["", "    ", "        ", "> ", "  ", "\t"]).map(
            lambda prefix: prefix + line
        )
    ),
    min_size=1,
    max_size=14,
)


@settings(max_examples=100, deadline=None)
@given(LINES)
def test_the_search_never_raises_and_stays_inside_the_file(lines: list[str]):
    found, broken = find_fences(lines)
    ends = [-1, *(fence.end for fence in found)]
    for fence, before in zip(found, ends, strict=False):
        assert before < fence.start < fence.end < len(lines)
        assert fence.end - fence.start - 1 == len(fence.body)
    assert all(0 <= fence.start < len(lines) for fence in broken)
    assert [len(line) for line in blanked(lines, [])] == [len(line) for line in lines]


@settings(max_examples=60, deadline=None)
@given(LINES)
def test_what_is_live_is_what_superfences_renders(lines: list[str]):
    found, broken = find_fences([*lines, "", FENCE.partition("\n")[0], "x = 1", "```"])
    assume(not broken and all("`" not in fence.header for fence in found))
    shown: list[str] = []

    def take(source: str, *_: object, **__: object) -> str:
        shown.append(source)
        return f"<p>shown {len(shown) - 1}.</p>"

    rule = {"name": "python", "class": "", "format": take, "validator": lambda *_: True}
    html = markdown.markdown(
        "\n".join([*lines, "", FENCE]),
        extensions=[*CONTAINERS, "pymdownx.superfences"],
        extension_configs={
            "pymdownx.superfences": {"custom_fences": [rule]},
            "pymdownx.tabbed": {"alternate_style": True},
        },
    )
    html = re.sub(r"<!--.*?-->", "", html, flags=re.DOTALL)
    rendered = [shown[int(i)] for i in re.findall(r"<p>shown (\d+)\.</p>", html)]
    parsed = ["\n".join(f.body) for f in found if f.live and f.header == "python"]
    assert sorted(rendered) == sorted(parsed)
