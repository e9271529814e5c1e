"""The pytest adapter: pytest-markdown-docs collects the blocks, our runner runs them.

With `--markdown-docs`, each block is one test, with the parser, run and comparison of a build, and
each page has one more test for its prose. The only module that knows pytest.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pytest_markdown_docs import _runners, plugin
from pytest_markdown_docs.definitions import FenceTestDefinition

from driftproof.check import check
from driftproof.config import Config, load
from driftproof.page import Page
from driftproof.problem import DriftproofError, Problem
from driftproof.reading import read_page
from driftproof.results import Report, block_of

_book = pytest.StashKey["_Book"]()
_current: _Book | None = None


class _Book:
    """The pages of a test session; they run once, when the first of their tests does."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.pages: dict[str, Page] = {}
        self._report: Report | None = None

    def page(self, path: Path) -> Page | None:
        """Return the page in the file `path`, None where the file is no page."""
        inside = path.suffix == ".md" and path.is_relative_to(self.config.root / self.config.docs)
        if not inside:
            return None
        name = self.config.relative(path)
        if name not in self.pages:
            self.pages[name] = read_page(self.config, name)
        return self.pages[name]

    @property
    def report(self) -> Report:
        if self._report is None:
            self._report = check(self.config, list(self.pages))
        return self._report


class DriftError(AssertionError):
    """A block failed, or what it printed is not what the page says."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))


class _Runner(_runners._Runner):
    """Looks up the verdict on one block."""

    def runtest(self, test: FenceTestDefinition, args: dict[str, Any], **_: Any) -> None:
        assert _current is not None
        page = _current.page(test.source_path)
        assert page is not None
        block = next(block for block in page.blocks if block.line == test.start_line)
        result = _current.report.results[page.path]
        problems = [p for p in result.problems if block_of(page, p) == block]
        if problems:
            raise DriftError(problems)
        if result.run is None or block.number not in result.run.outputs:
            if (
                block.output
                and block.output.device
                and block.output.device != _current.report.device
            ):
                pytest.skip(f"needs a {block.output.device} device; not verified here")
            raise DriftError([Problem("not-run", page.path, block.line, "the block did not run",
                                        "see what stopped its page")])  # fmt: skip

    def repr_failure(
        self,
        test: FenceTestDefinition,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: Any = None,
    ) -> str:
        return str(excinfo.value)


class _Parser:
    """What pytest-markdown-docs takes for markdown-it: gives it the blocks of our parser."""

    def __init__(self, book: _Book) -> None:
        self.book = book

    def parse(self, text: str) -> list[Any]:
        lines = text.removeprefix("\ufeff").split("\n")
        page = next((p for p in self.book.pages.values() if p.lines == lines), None)
        return [
            SimpleNamespace(
                type="fence",
                info="python",
                content=block.code,
                map=[block.fence.start, block.fence.end + 1],
            )
            for block in (page.running if page else [])
        ]


class _PageFile(pytest.File):
    def collect(self) -> Iterable[pytest.Item]:
        yield _ProseItem.from_parent(self, name="prose")


class _ProseItem(pytest.Item):
    """What is wrong with a page outside its blocks: grammar, numbers in prose, formulas."""

    def runtest(self) -> None:
        assert _current is not None
        page = _current.page(self.path)
        assert page is not None
        result = _current.report.results[page.path]
        problems = [p for p in result.problems if block_of(page, p) not in page.running]
        if problems:
            raise DriftError(problems)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        is_ours = isinstance(excinfo.value, DriftError)
        return str(excinfo.value) if is_ours else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.name}: prose"


def pytest_configure(config: pytest.Config) -> None:
    """Take over from pytest-markdown-docs, in a project that has pages of ours."""
    global _current
    if not config.option.markdowndocs:
        return
    try:
        settings = load(config.rootpath)
    except DriftproofError:
        return
    _current = config.stash[_book] = _Book(settings)
    _runners.register_runner(default=True)(_Runner)


@pytest.hookimpl(tryfirst=True)
def pytest_markdown_docs_markdown_it() -> _Parser | None:
    """Give pytest-markdown-docs our parser."""
    return _Parser(_current) if _current else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, Any, Any]:
    """Add a test for each page's prose; leave docstrings, whose fences never run, alone."""
    collectors = yield
    if _current is None:
        return collectors
    ours = [c for c in collectors if not isinstance(c, plugin.MarkdownDocstringCodeModule)]
    if _current.page(file_path) is None:
        return [c for c in ours if not isinstance(c, plugin.MarkdownTextFile)]
    return [*ours, _PageFile.from_parent(parent, path=file_path)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many blocks were found, ran and agreed, in the words of a build."""
    if _current and _current._report:
        terminalreporter.write_line(f"driftproof: {_current._report.summary}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind for another session in this process."""
    global _current
    if config.stash.get(_book, None) is _current:
        _current = None
