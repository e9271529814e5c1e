"""TeX formulas become MathML while the site is built, so that pages need no script to show them.

Formulas are written as on GitHub: `$…$` in a sentence, `$$…$$` or a `math` fence for display.
Temml 0.13.5 (assets/temml.min.js) does the conversion, in a JavaScript interpreter inside this
process.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from importlib import resources
from typing import Any
from xml.etree import ElementTree

from markdown import Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.util import AtomicString
from pymdownx.superfences import SuperFencesException

from driftproof.problem import DriftproofError

# What a formula may hold: escapes as pairs, no lone dollar, no stashed code span (U+0002, U+0003).
_TEX = r"(?:\\.|[^$\\\x02\x03])+?"

FORMULA = re.compile(
    r"(?<!\\)\$\$(?P<display>" + _TEX + r")\$\$"
    # GitHub's rule, which leaves "$5 and $6" alone: no blank inside the dollars, no word outside.
    r"|(?<![\\\w$])\$(?!\s)(?P<inline>" + _TEX + r")(?<!\s)\$(?![\w$])"
    r"|(?<!\\)(?P<stray>\$\$)",
    re.DOTALL,
)
"""A formula in running text, or a `$$` that belongs to none."""

_DISPLAY_BLOCK = re.compile(r" {0,3}\$\$" + _TEX + r"\$\$\s*", re.DOTALL)

# TeX sets no space around the operators of scripts, browsers do.
_SCRIPTED = {"msub", "msup", "msubsup", "munder", "mover", "munderover"}

_GLUE = """
function toMathML(tex, display) {
  try {
    const options = {displayMode: display, throwOnError: true};
    return JSON.stringify({mathml: temml.renderToString(tex, options)});
  } catch (error) {
    const parse = error instanceof temml.ParseError;
    return JSON.stringify({
      message: parse ? error.message : "incomplete, or nested too deeply",
      position: error.position === undefined ? null : error.position,
    });
  }
}
"""


class MathematicsError(SuperFencesException):
    """TeX that cannot be converted; derived from the one exception SuperFences lets through.

    Attributes:
        tex: The formula without its dollars.
        display: Whether it stands on its own lines.
        message: What Temml says is wrong.
        position: Index into `tex` of the offending character, where Temml knows it.
    """

    def __init__(self, tex: str, display: bool, message: str, position: int | None = None) -> None:
        self.tex, self.display, self.message, self.position = tex, display, message, position
        kind = "display" if display else "inline"
        super().__init__(f"malformed TeX in {kind} formula: {message}\n    {tex.strip()}")

    @property
    def line(self) -> int:
        """The line of `tex`, from 0, on which the error stands (the first where it is unknown)."""
        return self.tex.count("\n", 0, self.position or 0)


@functools.cache
def _interpreter() -> Callable[..., str]:
    from quickjs import Function  # imported late: importing it starts a thread

    temml = resources.files("driftproof").joinpath("assets/temml.min.js").read_text("utf-8")
    # Function keeps to one thread of its own, which QuickJS needs and which makes this thread-safe.
    return Function("toMathML", temml + _GLUE)


converted: dict[tuple[str, bool], str] = {}
"""The MathML of formulas, as far as it is known: to start the conversion takes a while."""


def render(tex: str, display: bool) -> str:
    """Return the MathML of a TeX formula.

    Raises:
        MathematicsError: The formula is empty, malformed or uses an unknown command.
    """
    if (tex, display) not in converted:
        converted[tex, display] = _converted(tex, display)
    return converted[tex, display]


def _converted(tex: str, display: bool) -> str:
    if not tex.strip():
        raise MathematicsError(tex, display, "the formula is empty")
    answer = json.loads(_interpreter()(tex, display, run_gc=False))
    if "mathml" in answer:
        return answer["mathml"]
    # Temml appends an excerpt of the formula, which is shown whole here.
    message = re.split(r" at (?:position \d+|end of input): ", answer["message"])[0].strip()
    raise MathematicsError(tex, display, message, answer["position"])


def check(tex: str, display: bool) -> str | None:
    """Return what is wrong with a TeX formula, or None if nothing is."""
    try:
        render(tex, display)
    except MathematicsError as error:
        return error.message
    return None


def _report(md: Markdown, error: MathematicsError) -> None:
    """Add to the list `md.driftproof_errors` where a caller has put one, else raise."""
    errors = getattr(md, "driftproof_errors", None)
    if errors is None:
        raise error
    errors.append(error)


def _element(md: Markdown, tex: str, display: bool) -> ElementTree.Element:
    """Return the formula as elements whose text other Markdown extensions leave alone."""
    try:
        formula = ElementTree.fromstring(render(tex, display))
    except MathematicsError as error:
        _report(md, error)
        formula = ElementTree.Element("code")
        formula.text = tex
    for element in formula.iter():
        element.text = AtomicString(element.text or "")
        if element.tag in _SCRIPTED:
            for operator in (o for script in element[1:] for o in script.iter("mo")):
                operator.attrib = {"lspace": "0", "rspace": "0"} | operator.attrib
    return formula


class _Inline(InlineProcessor):
    """Formulas inside a paragraph, a heading or a table cell."""

    def __init__(self, md: Markdown) -> None:
        super().__init__("", md)
        self.compiled_re = FORMULA
        self.owner = md

    def handleMatch(  # noqa: N802
        self, m: re.Match[str], data: str
    ) -> tuple[str | ElementTree.Element, int, int]:
        if m["stray"]:
            rest = data[m.start() :]
            _report(self.owner, MathematicsError(rest, True, "this `$$` has no partner"))
            return AtomicString("$$"), m.start(), m.end()
        if m["inline"]:
            return _element(self.owner, m["inline"], False), m.start(), m.end()
        scroller = ElementTree.Element("span", {"class": "driftproof-formula"})
        scroller.append(_element(self.owner, m["display"], True))
        return scroller, m.start(), m.end()


class _Display(BlockProcessor):
    """A block that is one `$$…$$`, whatever its lines begin with."""

    def test(self, parent: ElementTree.Element, block: str) -> bool:
        return _DISPLAY_BLOCK.fullmatch(block) is not None

    def run(self, parent: ElementTree.Element, blocks: list[str]) -> None:
        tex = blocks.pop(0).strip()[2:-2]
        scroller = ElementTree.SubElement(parent, "div", {"class": "driftproof-formula"})
        scroller.append(_element(self.parser.md, tex, True))


def format_fence(
    source: str, language: str, css_class: str, options: dict[str, Any], md: Markdown, **_: Any
) -> str:
    """Render the body of a `math` fence (the `format` of a SuperFences custom fence)."""
    formula = ElementTree.tostring(
        _element(md, source, True), "unicode", short_empty_elements=False
    )
    return f'<div class="driftproof-formula">{formula}</div>'


def validate_fence(
    language: str,
    inputs: dict[str, str],
    options: dict[str, Any],
    attrs: dict[str, Any],
    md: Markdown,
) -> bool:
    """Refuse every option of a `math` fence (the `validator` of a SuperFences custom fence).

    Raises:
        SuperFencesException: The fence has an option.
    """
    if inputs and getattr(md, "driftproof_errors", None) is None:
        message = f"a `math` fence takes no options, got {', '.join(inputs)}"
        error = DriftproofError("unknown-option", message, "leave them out", "a page")
        raise SuperFencesException(str(error))
    return True


class MathematicsExtension(Extension):
    r"""Renders `$…$` and `$$…$$`; `\$` is a dollar."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Add the two processors, and the dollar to what a backslash escapes."""
        md.ESCAPED_CHARS = [*md.ESCAPED_CHARS, "$"]
        # After code spans (190), which hide their dollars; before escapes (180), which TeX needs.
        md.inlinePatterns.register(_Inline(md), "driftproof-mathematics", 185)
        # After indented code (80), before headings (70), rules, lists and quotes.
        md.parser.blockprocessors.register(_Display(md.parser), "driftproof-mathematics", 79)


def makeExtension(**settings: Any) -> MathematicsExtension:  # noqa: N802
    """Return the extension; the name is the one Python-Markdown looks for."""
    return MathematicsExtension(**settings)
