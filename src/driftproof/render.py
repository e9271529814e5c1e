"""How blocks, outputs, figures and bound numbers look: a Python-Markdown extension.

Everything a page needs is here, so that any generator that reads Python-Markdown extensions can
render it. What to show is in `showing`; a generator without an adapter leaves it empty, and the
extension then checks the page by itself and lets SuperFences' own exception carry the verdict.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any
from xml.etree import ElementTree

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor
from markdown.util import AtomicString
from pymdownx.superfences import SuperFencesCodeExtension, SuperFencesException

from driftproof import borrowed, runner
from driftproof.alone import checked
from driftproof.borrowed import drawn, origin, read
from driftproof.bound import DATA
from driftproof.failure import Failure
from driftproof.fences import Fence
from driftproof.figures import Figure
from driftproof.kept import key
from driftproof.page import Block, Bound, Page
from driftproof.problem import DriftproofError
from driftproof.provenance import output_stamp
from driftproof.results import Report, value_of
from driftproof.show import permalink, shown_figure, shown_output, stamped


@dataclass
class View:
    """The page that is being rendered.

    Attributes:
        page: The parsed page.
        report: What is known of it and of the pages it names.
        markdown: The text that the renderer was given.
        in_browser: Numbers of the blocks that a reader's browser can run.
        coloured: HTML of code as it is known already, by what it was made from.
        used: The same, of the code that is on the page now.
    """

    page: Page
    report: Report
    markdown: str
    in_browser: frozenset[int] = frozenset()
    coloured: dict[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)


def shown(view: View) -> Any:
    """Return, as plain values, all that decides how the blocks and numbers of a page look.

    Raises:
        TypeError: It cannot be said: a page has problems.
    """
    page, report = view.page, view.report
    named = {bound.slug for bound in page.bounds} | borrowed.owners(page)
    owners = [report.owners[slug] for slug in sorted(named) if slug in report.owners]
    about: list[Any] = [page.key, report.judged, report.device]
    for path in (page.path, *owners):
        result = report.results[path]
        if not (page.key and result.page.key):
            raise TypeError(path)
        run = result.run or runner.Run()
        about += [result.page.key, result.problems, run.figures, run.values, sorted(run.outputs)]
        about.append(result.machine.processor)
    return about


showing: View | None = None
"""Set by the generator's adapter before it renders a page."""


class DriftproofExtension(Extension):
    """Renders `python` and `output` fences and `<data>` elements."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Add the two fences, the inline pattern, and the step that begins a page."""
        fences = [e for e in md.registeredExtensions if isinstance(e, SuperFencesCodeExtension)]
        if not fences:
            hint = "list driftproof after pymdownx.superfences"
            error = DriftproofError("settings", "driftproof comes too early", hint, "mkdocs.yml")
            raise SuperFencesException(str(error))
        for language in ("python", "output"):
            fences[0].extend_super_fences(language, _format, _validate, None)
        md.preprocessors.register(_Begin(md), "driftproof", 40)  # before snippets (32)
        # After fences (25), before what reads HTML (20).
        md.preprocessors.register(_BorrowedFigures(md), "driftproof-borrowed", 24)
        md.inlinePatterns.register(_BoundNumber(md), "driftproof-bound", 186)


def makeExtension(**settings: Any) -> DriftproofExtension:  # noqa: N802
    """Return the extension; the name is the one Python-Markdown looks for."""
    return DriftproofExtension(**settings)


class _Begin(Preprocessor):
    """Decides whether this text is a page, and protects include markers that were printed."""

    def run(self, lines: list[str]) -> list[str]:
        text = "\n".join(lines)
        view = showing if showing else _checked_here(lines)
        if view is None or view.markdown != text:
            for name in ("driftproof", "driftproof_errors"):
                vars(self.md).pop(name, None)
            return lines
        page = view.page
        # Formulas are checked with the page; a served page shows those that are malformed as text.
        vars(self.md).update(driftproof=_Rendering(view), driftproof_errors=[])
        offset = len(page.lines) - len(lines)
        lines = list(lines)
        shown = {i for _, fence in page.fences for i in range(fence.start + 1, fence.end)}
        shown |= {problem.line - 1 for problem in page.problems if problem.code == "include"}
        for index in shown:
            lines[index - offset] = _protected(lines[index - offset], self.md)
        return lines


class _BorrowedFigures(Preprocessor):
    """Puts the figures of other pages where a page asks for them."""

    def __init__(self, md: Markdown) -> None:
        super().__init__(md)
        self.owner = md

    def run(self, lines: list[str]) -> list[str]:
        rendering: _Rendering | None = vars(self.owner).get("driftproof")
        return [self._shown(line, rendering) for line in lines] if rendering else lines

    def _shown(self, line: str, rendering: _Rendering) -> str:
        borrowed = read(line)
        figure = drawn(borrowed, rendering.report) if borrowed else None
        if borrowed is None or figure is None:
            return line
        stamp = f'<p class="driftproof-stamp">{escape(origin(borrowed, rendering.report))}</p>'
        shown = shown_figure(*figure).removesuffix("</figure>")
        return self.owner.htmlStash.store(f"{shown}{stamp}</figure>")


def _protected(line: str, md: Markdown | None) -> str:
    """Escape what pymdownx.snippets, where it is loaded, would take for a marker of its own."""
    if md is None or "snippet" not in md.preprocessors:
        return line
    snippets: Any = md.preprocessors["snippet"]
    if found := snippets.RE_ALL_SNIPPETS.match(line):
        return f"{found['space']};{line[found.end('space') :]}"
    if found := snippets.RE_SNIPPET_SECTION.match(line):
        return f"{found['pre']};{line[found.end('pre') :]}"
    return line


class _Rendering:
    """One conversion of one page: its fences come in the order in which they were parsed."""

    def __init__(self, view: View) -> None:
        self.page, self.report, self.in_browser = view.page, view.report, view.in_browser
        self.view = view
        self.result = view.report.results.get(view.page.path)
        self.run = self.result.run if self.result else None
        ours = (fence for name, fence in self.page.fences if name in ("python", "output"))
        self.fences: Iterator[Fence] = iter(list(ours))
        self.blocks = {block.fence.start: block for block in self.page.blocks}
        self.outputs = {b.output.fence.start: b for b in self.page.blocks if b.output}

    @property
    def is_unparsed(self) -> bool:
        """Whether it is not known where the page's fences end; it is served, not published."""
        return any(problem.code == "unclosed-fence" for problem in self.page.problems)

    def figure(self, block: Block) -> Figure | None:
        return self.run.figures.get(block.number) if self.run else None

    def stamp(self, block: Block) -> str:
        return output_stamp(block, self.result, self.report)

    def output(self, block: Block) -> str:
        return shown_output(block, self.figure(block), self.stamp(block))

    def coloured(self, code: str, options: dict[str, str], md: Markdown) -> str:
        """Return code as HTML; what is known already is not made again."""
        superfences: Any = md.preprocessors["fenced_code_block"]
        counter = superfences.highlight_ext
        name = key(code, options, counter.pygments_code_block)  # lines may have it in their ids
        if name in self.view.coloured:
            counter.pygments_code_block += 1
        else:
            self.view.coloured[name] = superfences.highlight(
                src=code, language="python", options=options, md=md,
                classes=[], id_value="", attrs={},
            )  # fmt: skip
        self.view.used[name] = self.view.coloured[name]
        return self.view.coloured[name]

    def value(self, bound: Bound) -> Any:
        value = value_of(bound, self.page, self.report)
        return None if isinstance(value, Failure) else value


def _validate(
    language: str,
    inputs: dict[str, str],
    options: dict[str, Any],
    attrs: dict[str, Any],
    md: Markdown,
) -> bool:
    """Accept the fences of a page, whose options are checked elsewhere; decline all others."""
    if "driftproof" not in vars(md):
        return False
    options.update(inputs)
    return True


def _format(src: str, language: str, md: Markdown, **_: Any) -> str:
    rendering: _Rendering = vars(md)["driftproof"]
    if rendering.is_unparsed:
        return f"<pre><code>{escape(src)}</code></pre>"
    fence = next(rendering.fences, None)
    if fence is None or "\n".join(fence.body) != src:
        message = "the text that is rendered is not that of the file"
        hint = "list the plugin that changes it after driftproof, or leave it out"
        raise SuperFencesException(
            str(DriftproofError("changed-text", message, hint, rendering.page.path))
        )
    if block := rendering.blocks.get(fence.start):
        return _format_block(rendering, block, md)
    if block := rendering.outputs.get(fence.start):
        return "" if "source" in block.options else rendering.output(block)
    return f"<pre><code>{escape(src)}</code></pre>"


def _format_block(rendering: _Rendering, block: Block, md: Markdown) -> str:
    shown = {
        name: block.options[name]
        for name in ("title", "hl_lines", "linenums")
        if name in block.options
    }
    if "file" in block.options:
        shown.setdefault("title", f"{block.file}")
    code = "\n".join(block.fence.body)
    if "source" in block.options:
        html = _placed(rendering, block, code, shown, md)
    else:
        html = rendering.coloured(code, shown, md)
    note = ""
    if not block.runs:
        note = f'<p class="driftproof-stamp">Shown, not run: {escape(block.options["reason"])}</p>'
    anchor = escape(block.anchor)
    link = permalink(anchor, "block")
    runs = " data-runs" if block.number in rendering.in_browser else ""
    attributes = f'class="driftproof-block" data-search-exclude{runs} id="{anchor}"'
    return f"<div {attributes}>{link}{html}{note}</div>"


def _placed(
    rendering: _Rendering, block: Block, code: str, shown: dict[str, str], md: Markdown
) -> str:
    """Let markdown-exec place code and output as `source` says; it is given nothing to run."""
    from markdown_exec._internal.formatters.base import base_format

    def protected(text: str) -> str:
        return "\n".join(_protected(line, md) for line in text.split("\n"))

    placement = block.options["source"]
    text = protected(block.output.text) if block.output else ""
    console = placement == "console"
    title = f"title-of-{block.number}"  # markdown-exec would quote the real one badly
    html = base_format(
        language="python",
        run=lambda *_, **__: text if console else rendering.output(block),
        code=protected(code),
        md=md,
        html=not console,
        source=placement,
        result="python" if console else "",
        update_toc=False,
        extra={**shown, "title": title} if "title" in shown else shown,
    )
    placed = str(html).replace(title, escape(shown.get("title", "")), 1)
    return placed + (stamped(block, "", rendering.stamp(block)) if console and text else "")


class _BoundNumber(InlineProcessor):
    """A `<data>` element: its text, its full value, and a link to the block that computed it."""

    def __init__(self, md: Markdown) -> None:
        super().__init__("", md)
        self.compiled_re = DATA
        self.owner = md

    def handleMatch(  # noqa: N802
        self, m: re.Match[str], data: str
    ) -> tuple[ElementTree.Element | None, int | None, int | None]:
        rendering: _Rendering | None = vars(self.owner).get("driftproof")
        bounds = rendering.page.bounds if rendering else []
        bound = next(
            (b for b in bounds if b.text == m["text"] and f'"{_spelled(b)}"' in m[0]), None
        )
        if rendering is None or bound is None:
            return None, None, None
        value = rendering.value(bound)
        element = ElementTree.Element("data", {"class": "driftproof-bound"})
        element.set("value", bound.text if value is None else str(value))
        target = _target(rendering, bound)
        inner = ElementTree.SubElement(element, "a", {"href": target}) if target else element
        inner.set("title", bound.expression if value is None else f"{bound.expression} = {value}")
        inner.text = AtomicString(bound.text)
        return element, m.start(), m.end()


def _spelled(bound: Bound) -> str:
    return f"{bound.slug}:{bound.expression}" if bound.slug else bound.expression


def _target(rendering: _Rendering, bound: Bound) -> str:
    page, report = rendering.page, rendering.report
    path = report.owners.get(bound.slug, page.path) if bound.slug else page.path
    owner = report.results[path].page if path in report.results else page
    block = owner.block_computing(bound.expression)
    anchor = f"#{block.anchor}" if block else ""
    if owner is page:
        return anchor
    return posixpath.relpath(owner.path, posixpath.dirname(page.path)) + anchor


def _checked_here(lines: list[str]) -> View | None:
    """Return the page that holds `lines`, checked here because no adapter has done so.

    Raises:
        SuperFencesException: The page has a problem.
    """
    found = checked(lines)
    if found is None:
        return None
    result, report = found
    if result.problems:
        raise SuperFencesException("\n".join(map(str, result.problems)))
    return View(result.page, report, "\n".join(lines))
