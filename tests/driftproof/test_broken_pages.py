"""A hundred broken pages: each one gets an error with its place, and none a stack trace.

The pages are made by a seeded generator: sound sections, and among them one breakage, of which the
line and the code of the error are known. They go through the command and through MkDocs.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import pytest

SOUND = (
    ["Prose with `code`, a [link](#x) and 3 words.", ""],
    ["```python", "x = 4", "print(x)", "```", "", "```output", "4", "```", ""],
    ["- a list", "", "    ```python", "    y = 5", "    ```", ""],
    ["!!! note", "", "    - inside", "", "        ```text", "        shown", "        ```", ""],
    ["> quoted", ">", "> ```text", "> shown", "> ```", ""],
    ["| a | b |", "| - | - |", "| c | d |", ""],
    ["<!-- a comment -->", "", "A formula $x^2$.", ""],
    ["````md", "```python", "1 / 0", "```", "````", ""],
)
BREAKAGES: dict[str, tuple[str, str]] = {
    # name: code of the error, lines of which the one that begins with » is its place
    "never closed": ("unclosed-fence", "»```python\nx = 1\n"),
    "closed by other ticks": ("unclosed-fence", "»~~~python\nx = 1\n```\n"),
    "closed by fewer ticks": ("unclosed-fence", "»`````python\nx = 1\n````\n"),
    "cut off by its indent": (
        "unclosed-fence",
        "- a\n\n»    ```python\n    x = 1\ny = 2\n    ```\n",
    ),
    "comment": ("unclosed-comment", "»<!-- not closed\n"),
    "misspelt option": ("unknown-option", '»```python tilte="x"\nx = 1\n```\n'),
    "option of another fence": ("unknown-option", '»```python rtol="0.1"\nx = 1\n```\n'),
    "unquoted value": ("option-value", "»```python id=x\nx = 1\n```\n"),
    "curly quotes": ("option-value", "»```python id=“x”\nx = 1\n```\n"),
    "one quote": ("option-value", '»```python id="x\nx = 1\n```\n'),
    "twice": ("option-value", '»```python id="x" id="y"\nx = 1\n```\n'),
    "no number": ("option-value", '»```python timeout="soon"\nx = 1\n```\n'),
    "no reason": ("option-value", '»```python exec="off"\nx = 1\n```\n'),
    "no cause": ("option-value", '```python\nprint(4)\n```\n\n»```output rtol="0.1"\n4\n```\n'),
    "words after the language": ("fence-header", "»```python please\nx = 1\n```\n"),
    "back-tick after tildes": ("fence-header", '»~~~python title="`"\nx = 1\n~~~\n'),
    "brace": ("fence-header", '»```{.python title="x"\nx = 1\n```\n'),
    "misspelt language": ("fence-language", "»```pyhton\nx = 1\n```\n"),
    "other Python": ("fence-language", "»```py\nx = 1\n```\n"),
    "same id": ("duplicate-id", '```python id="a"\n```\n\n»```python id="a"\n```\n'),
    "output alone": ("surplus-output", "Words.\n\n»```output\n4\n```\n"),
    "output of a silent block": ("surplus-output", "```python\nx = 1\n```\n\n»```output\n4\n```\n"),
    "output indented otherwise": (
        "surplus-output",
        "- a\n\n    ```python\n    print(4)\n    ```\n\n»```output\n4\n```\n",
    ),
    "tabs and blanks": ("unclosed-fence", "- a\n\n»\t```python\n\tx = 1\n  y = 2\n\t```\n"),
    "no output": ("missing-output", "»```python\nprint(4)\n```\n"),
    "digit": ("drift", "```python\nprint(41)\n```\n\n```output\n»14\n```\n"),
    "second line": ("drift", "```python\nprint('a\\nb')\n```\n\n```output\na\n»c\n```\n"),
    "no Python": ("block-failed", "```python\n»def f(:\n```\n"),
    "raises": ("block-failed", "```python\nx = 1\n»1 / 0\n```\n"),
    "deep brackets": ("block-failed", "```python\n»x = " + "(" * 500 + "\n```\n"),
    "deep sum": ("nesting", "»```python\nx = " + "1 + " * 3000 + "1\n```\n"),
    "deep list": (
        "nesting",
        "".join("    " * i + "- a\n" for i in range(299)) + "»" + "    " * 299 + "- a\n",
    ),
    "long line": ("long-line", "»" + "x" * 1_000_000 + "\n"),
    "long line of code": ("long-line", "```text\n»" + "1 " * 500_000 + "\n```\n"),
    "NUL": ("encoding", "»a\0b\n"),
    "NUL in code": ("encoding", "```python\n»x = '\0'\n```\n"),
    "carriage return": ("encoding", "»a\rb\n"),
    "Latin-1": ("encoding", "»gr\udcfcn\n"),
    "half a character": ("encoding", "»a \udce2\udc82 b\n"),
    "<data> not understood": ("bound-number", '»A <data value="x>3</data>.\n'),
    "<data> with no expression": ("bound-number", '»A <data value="1 +">3</data>.\n'),
    "<data> with two numbers": ("bound-number", '»A <data value="4">4 or 5</data>.\n'),
    "<data> of a missing name": ("bound-number", '»A <data value="missing">4</data>.\n'),
    "<data> of a missing page": ("bound-number", '»A <data value="nowhere:x">4</data>.\n'),
    "<data> nested deeply": ("bound-number", f'»A <data value="{"-" * 9000}1">4</data>.\n'),
    "<data> that drifts": ("drift", '»A <data value="sum(range(4))">5</data>.\n'),
    "number from nowhere": ("unbound-number", "»It is 17.25 times as much.\n"),
    "digits without end": ("unbound-number", f"»It is {'7' * 9000}.\n"),
    "formula": ("formula", "»A formula $\\frac{1$ here.\n"),
    "lone dollars": ("formula", "»$$\n\nx\n"),
    "no file to include": ("include", '»--8<-- "nowhere.md"\n'),
    "include without a file": ("include", "»--8<--\n"),
    "file includes itself": ("include", '»--8<-- "circle.md"\n'),
    "binary file included": ("include", '»--8<-- "binary.md"\n'),
    "include in code": ("include-in-code", '```python\n»--8<-- "a.py"\n```\n'),
    "no such file": ("file", '»```python file="nowhere.py"\n```\n'),
    "outside of snippets": ("file", '»```python file="../src/a.py"\n```\n'),
    "measured name used": (
        "measured-leaf",
        '```python\nt = 1\nprint(t)\n```\n\n```output measured="m" code="4ec9b4b1"\n1\n```\n\n'
        "»```python\nu = t\n```\n",
    ),
    "figure not understood": ("figure", '»<figure data-of="x">text</figure>\n'),
}
PAGES = 100


@dataclass(frozen=True)
class Broken:
    """A broken page: what it is called, its bytes, and the place and code of its error."""

    path: str
    content: bytes
    line: int
    code: str


def broken(number: int) -> Broken:
    """Make the page of this number; it is the same in every run."""
    dice = random.Random(number)
    name = sorted(BREAKAGES)[number % len(BREAKAGES)]
    code, text = BREAKAGES[name]
    before, after = ([line for part in _some(dice) for line in part] for _ in range(2))
    if code == "unclosed-comment":
        after = []  # a comment further down would close this one
    lines = [*before, *text.split("\n"), *after]
    line = next(i for i, content in enumerate(lines, 1) if content.startswith("»"))
    lines[line - 1] = lines[line - 1].removeprefix("»")
    content = dice.choice(["\n", "\r\n"]).join(lines).encode("utf-8", "surrogateescape")
    mark = dice.choice([b"", b"", b"\xef\xbb\xbf"])
    slug = re.sub(r"\W+", "-", name.lower()).strip("-")
    return Broken(f"docs/{number:03}-{slug}.md", mark + content, line, code)


def _some(dice: random.Random) -> list[list[str]]:
    return [dice.choice(SOUND) for _ in range(dice.randrange(6))]


@pytest.fixture(scope="module")
def checked(new_project):
    """A project of broken pages, and what the command and MkDocs say to them."""
    project = new_project()
    project.add_site()
    project.write("snippets/circle.md", '--8<-- "circle.md"\n')
    (project.root / "snippets/binary.md").write_bytes(b"\xff\xfe\0a")
    for page in map(broken, range(PAGES)):
        (project.root / page.path).write_bytes(page.content)
    commands = {
        "driftproof": project.command("driftproof.cli", "check"),
        "mkdocs": project.command("mkdocs", "build", "-q"),
    }
    return project, commands


def test_every_breakage_is_among_the_pages():
    assert set(BREAKAGES) == {sorted(BREAKAGES)[n % len(BREAKAGES)] for n in range(PAGES)}


@pytest.mark.parametrize("command", ["driftproof", "mkdocs"])
@pytest.mark.parametrize("number", range(PAGES), ids=lambda number: broken(number).path[5:-3])
def test_a_broken_page_is_named_with_its_line_and_a_code(checked, command, number):
    page = broken(number)
    said = checked[1][command].stdout
    found = re.findall(rf"^(?:ERROR +-  )?{page.path}:(\d+): .* \[([a-z-]+)\]$", said, re.MULTILINE)
    assert (str(page.line), page.code) in found, [
        line for line in said.split("\n") if page.path in line
    ]


@pytest.mark.parametrize("command", ["driftproof", "mkdocs"])
def test_broken_pages_give_no_stack_trace_and_no_site(checked, command):
    project, commands = checked
    assert 1 == commands[command].returncode
    assert "Traceback" not in commands[command].stdout
    assert not (project.root / "site").exists()


def test_what_is_no_readable_file_is_named_too(new_project):
    project = new_project()
    (project.root / "docs/dangling.md").symlink_to("nowhere")
    (project.root / "docs/folder.md").mkdir()
    (project.root / "docs/elsewhere.md").symlink_to("/etc")
    done = project.command("driftproof.cli", "check")
    assert 1 == done.returncode
    assert "docs/dangling.md:1: cannot be read: No such file or directory [encoding]" in done.stdout
    assert "Traceback" not in done.stdout
