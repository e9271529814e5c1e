"""The MkDocs adapter: page names, when to check, the verdict. Only this module knows MkDocs."""

from __future__ import annotations

import logging
import re
from collections import Counter
from pathlib import Path
from typing import Any

from mkdocs.config.base import Config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page as SitePage

from driftproof import browser, render
from driftproof import config as settings
from driftproof.check import check
from driftproof.fences import without_code_spans
from driftproof.grammar import parse_page
from driftproof.page import Block, Page
from driftproof.problem import DriftproofError, Problem
from driftproof.provenance import facts
from driftproof.report import as_text
from driftproof.results import Report
from driftproof.serve import Verification, middleware, with_script

log = get_plugin_logger("driftproof")

_LINK = re.compile(
    r"Doc file '(?P<file>[^']+)' contains an? (?:[a-z]+ )*link (?:to )?'(?P<link>[^']+)'"
)
_ID = re.compile(r"""\sid=(?:"([^"]+)"|'([^']+)')""")


class _NoOptions(Config):
    """The plugin is configured in pyproject.toml, as the command line and the tests are."""


class DriftproofPlugin(BasePlugin[_NoOptions]):
    """Checks the book before anything is published, and pages while they are served."""

    def __init__(self) -> None:
        self.serving = False
        self.verification: Verification | None = None
        self.pages_by_url: dict[str, str] = {}
        self.warnings = _Warnings()

    def on_startup(self, *, command: str, dirty: bool) -> None:
        """Learn whether this is a publishing build."""
        self.serving = command == "serve"

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Read the project's settings and add the Markdown extension."""
        try:
            self.settings = settings.load(Path(config.config_file_path or ".").parent)
        except DriftproofError as error:
            raise PluginError(str(error)) from None
        docs = self.settings.root / self.settings.docs
        if Path(config.docs_dir).resolve() != docs:
            message = f"docs_dir is {config.docs_dir}, and pyproject.toml has docs {docs}"
            hint = "let both name one folder"
            raise PluginError(str(DriftproofError("settings", message, hint, "mkdocs.yml")))
        if "driftproof" not in config.markdown_extensions:
            config.markdown_extensions.append("driftproof")
        if self.serving:
            for folder in (self.settings.source, self.settings.snippets):
                if (self.settings.root / folder).is_dir():
                    config.watch.append(str(self.settings.root / folder))
        return config

    def on_pre_build(self, *, config: MkDocsConfig) -> None:
        """Check every page before MkDocs empties the folder of the site."""
        self.warnings.start()
        paths = self.settings.pages()
        self.pages: dict[str, Page] = {path: parse_page(self.settings, path) for path in paths}
        self.report: Report = check(self.settings, pages=self.pages, recall_only=self.serving)
        if self.serving:
            return
        for note in self.report.notes:
            log.info("%s:%s: %s", note.path, note.line, note.message)
        if self.report.problems:
            raise PluginError(as_text(self.report))
        log.info(self.report.summary)

    @event_priority(-100)
    def on_page_markdown(
        self, markdown: str, *, page: SitePage, config: MkDocsConfig, files: Files
    ) -> None:
        """Tell the extension which page comes next."""
        path = f"{self.settings.docs}/{page.file.src_uri}"
        parsed = self._parsed(path, markdown)
        runs = browser.whole(parsed, self.settings) if parsed else frozenset()
        render.showing = render.View(parsed, self.report, markdown, runs) if parsed else None
        self.pages_by_url[f"/{page.file.url}" if page.file.url != "./" else "/"] = path

    @event_priority(-100)
    def on_page_content(
        self, html: str, *, page: SitePage, config: MkDocsConfig, files: Files
    ) -> None:
        """See that the page shows exactly the blocks that were parsed, and know its anchors."""
        count = Counter(first or second for first, second in _ID.findall(html))
        anchors = set(count)
        page.present_anchor_ids = (page.present_anchor_ids or set()) | anchors
        parsed = self.pages.get(f"{self.settings.docs}/{page.file.src_uri}")
        if parsed is None:
            return
        for block in parsed.blocks:
            if block.anchor not in anchors:
                text = "this block is not on the page"
                hint = "is it inside something that is not rendered?"
                self._found("not-shown", parsed, block, text, hint)
            for anchor in (block.anchor, block.output_anchor):
                if count[anchor] > 1:
                    text = f"the id {anchor!r} is also that of something else on the page"
                    self._found("duplicate-id", parsed, block, text, "ids are unique on a page")

    def on_page_context(
        self, context: Any, *, page: SitePage, config: MkDocsConfig, nav: Any
    ) -> None:
        """Give the template the facts of the page's run."""
        result = self.report.results.get(f"{self.settings.docs}/{page.file.src_uri}")
        context["driftproof"] = facts(result, self.report) if result else None

    def _found(self, code: str, page: Page, block: Block, text: str, hint: str) -> None:
        self.warnings.problems.append(Problem(code, page.path, block.line, text, hint))

    @event_priority(-100)
    def on_env(self, env: Any, *, config: MkDocsConfig, files: Files) -> None:
        """Stop a publishing build before any page is written, if anything was found since."""
        render.showing = None
        for page in (file.page for file in files.documentation_pages()):
            if page is not None:
                page.validate_anchor_links(files=files, log_level=config.validation.links.anchors)
        docs = f"{self.settings.docs}/"
        problems = self.warnings.stop({p.removeprefix(docs): q for p, q in self.pages.items()})
        if problems and not self.serving:
            raise PluginError("\n".join(map(str, problems)))
        self.problems = problems

    def on_post_page(self, output: str, *, page: SitePage, config: MkDocsConfig) -> str:
        """Publish the page's Markdown and blocks; while serving, add the script of its state."""
        source = page.file.abs_src_path
        if source is not None:
            target = Path(config.site_dir, page.file.src_uri)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(Path(source).read_bytes())
        parsed = self.pages.get(f"{self.settings.docs}/{page.file.src_uri}")
        if parsed and browser.whole(parsed, self.settings):
            target = Path(config.site_dir, page.file.dest_uri).with_name("blocks.json")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(browser.as_json(parsed, self.settings))
        return with_script(output) if self.serving else output

    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Publish the modules that a browser has; while serving, begin to verify the pages."""
        if self.settings.browser:
            Path(config.site_dir, "modules.json").write_text(browser.modules(self.settings))
        if self.serving:
            self._verify(self.problems)

    def on_serve(self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Any) -> None:
        """Answer for the pages' state."""
        application = server.get_app()
        if self.verification and application:
            mount = server.mount_path
            server.set_app(middleware(application, self.verification, mount, self.pages_by_url))

    def on_build_error(self, *, error: Exception) -> None:
        """Leave nothing behind for the next build."""
        render.showing = None
        self.warnings.stop({})

    def on_shutdown(self) -> None:
        """End what runs in the background."""
        if self.verification:
            self.verification.close()

    def _parsed(self, path: str, markdown: str) -> Page | None:
        """Return the page at `path`; a served one may have been saved since the build began."""
        page = self.pages.get(path)
        is_stale = page is None or not "\n".join(page.lines).endswith(markdown)
        if self.serving and is_stale and (self.settings.root / path).is_file():
            page = self.pages[path] = parse_page(self.settings, path)
        return page

    def _verify(self, problems: list[Problem]) -> None:
        if self.verification is None:
            self.verification = Verification(self.settings, log)
        self.verification.begin(self.pages, problems)


class _Warnings(logging.Handler):
    """Collects what MkDocs warns of, whatever the verbosity: a quiet build must fail as well."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []
        self.problems: list[Problem] = []

    def start(self) -> None:
        self.messages.clear()
        self.problems.clear()
        logger = logging.getLogger("mkdocs.structure")
        logger.addHandler(self)
        logger.setLevel(logging.WARNING)

    def stop(self, pages: dict[str, Page]) -> list[Problem]:
        logger = logging.getLogger("mkdocs.structure")
        logger.removeHandler(self)
        logger.setLevel(logging.NOTSET)
        return [*self.problems, *(_located(message, pages) for message in self.messages)]

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def _located(message: str, pages: dict[str, Page]) -> Problem:
    """Give a warning about a link its page, by its path under docs, and line."""
    match = _LINK.search(message)
    page = pages.get(match["file"]) if match else None
    if match is None or page is None:
        return Problem("mkdocs", "mkdocs.yml", 1, message, "see to what MkDocs says")
    target = re.compile(rf"""(?:[(<"'\s]){re.escape(match["link"])}(?:$|[)>"'\s])""")
    prose = without_code_spans("\n".join(page.prose)).split("\n")
    lines = [(page.path, i, text) for i, text in enumerate(prose, 1)] + page.shared
    path, line = next(((p, i) for p, i, text in lines if target.search(text)), (page.path, 1))
    text = message.partition(" contains ")[2].rstrip(".")
    return Problem("link", path, line, text, "correct the link, or what it leads to")
