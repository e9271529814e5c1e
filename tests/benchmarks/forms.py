"""One book in three forms: ours, plain MkDocs Material that runs nothing, stock markdown-exec."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from book import Spec, settings

_FENCE = re.compile(r"^```(python|output)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_DATA = re.compile(r"<data [^>]*>([^<]*)</data>")
_TITLE = re.compile(r'title="[^"]*"')
DRAWN = '''\
"""What draws a figure where markdown-exec runs the block."""

import io


def figure(fig, alt, caption, data):
    picture = io.StringIO()
    fig.savefig(picture, format="svg")
    return picture.getvalue()
'''


@dataclass(frozen=True)
class Form:
    """How a tool wants the book.

    Attributes:
        name: What the tool is called in the table.
        plugins: Its lines in mkdocs.yml, after the search.
        extensions: Its Markdown extensions.
        page: Makes its page from the text and the name of one of ours.
        runs: Whether it runs blocks.
    """

    name: str
    plugins: str
    extensions: str
    page: Callable[[str, str], str]
    runs: bool = True

    def settings(self, spec: Spec) -> str:
        """Return mkdocs.yml."""
        return settings(spec, self.plugins, self.extensions)

    def copy(self, source: Path, target: Path, spec: Spec) -> None:
        """Write a recorded book to another folder in this form."""
        for folder in ("src", "snippets"):
            shutil.copytree(source / folder, target / folder)
        shutil.copy(source / "pyproject.toml", target)
        (target / "src/drawn.py").write_text(DRAWN)
        (target / "mkdocs.yml").write_text(self.settings(spec))
        for page in (source / "docs").rglob("*.md"):
            self.put(target, page.relative_to(source).as_posix(), page.read_text("utf-8"))

    def put(self, target: Path, path: str, text: str) -> None:
        """Write one file of ours into a book of this form."""
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        is_page = path.endswith(".md")
        content = self.page(text, Path(path).stem) if is_page else text
        (target / path).write_text(content, "utf-8")


def _plain(text: str, _: str) -> str:
    """Return a page with its code and the recorded outputs as they are."""

    def fence(match: re.Match[str]) -> str:
        if 'show="table"' in match[2]:
            return match[3]
        title = _TITLE.search(match[2])
        options = f" {title[0]}" if title else ""
        return f"```{match[1]}{options}\n{match[3]}```"

    return _DATA.sub(r"\1", _FENCE.sub(fence, text))


def _executed(text: str, name: str) -> str:
    """Return a page whose blocks share a session, and whose outputs come from running them."""

    def fence(match: re.Match[str]) -> str:
        if match[1] == "output":
            return ""
        title = _TITLE.search(match[2])
        options = f' exec="1" source="above" session="{name}"' + (f" {title[0]}" if title else "")
        code = match[3]
        if "from driftproof import figure" in code:
            options += ' html="1"'
            code = code.replace("from driftproof import figure", "from drawn import figure")
            code = code.replace("\nfigure(\n", "\nshown = figure(\n") + "print(shown)\n"
        return f"```python{options}\n{code}```"

    return _DATA.sub(r"\1", _FENCE.sub(fence, text))


_ARITHMATEX = "  - pymdownx.arithmatex:\n      generic: true\n"
DRIFTPROOF = Form(
    "driftproof",
    '  - markdown-exec:\n      ansi: "off"\n      languages: [python]\n  - driftproof\n',
    "  - driftproof.mathematics\n  - driftproof\n",
    lambda text, _: text,
)
PLAIN = Form("plain MkDocs", "", _ARITHMATEX, _plain, runs=False)
EXECUTED = Form("markdown-exec", "  - markdown-exec\n", _ARITHMATEX, _executed)
FORMS = (DRIFTPROOF, PLAIN, EXECUTED)
