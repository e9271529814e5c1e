"""The MkDocs adapter: page names, when to check, the verdict. Only this module knows MkDocs."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs import utils
from mkdocs.config.base import Config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, CombinedEvent, event_priority, get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as SitePage
from mkdocs.structure.toc import get_toc

from driftproof import browser, render, templates
from driftproof import config as settings
from driftproof.anchors import counted, misplaced
from driftproof.check import check
from driftproof.output import Output
from driftproof.page import Page
from driftproof.problem import DriftproofError
from driftproof.provenance import facts
from driftproof.reading import kept, read_page, recall_formulas
from driftproof.reads import noted
from driftproof.rendered import Rendering, changes_templates, is_pure
from driftproof.results import Report
from driftproof.serve import middleware, with_script
from driftproof.unchanged import Built
from driftproof.warned import Warnings, logged

if TYPE_CHECKING:
    from mkdocs.livereload import LiveReloadServer

    from driftproof.verification import Verification

log = get_plugin_logger("driftproof")


class _NoOptions(Config):
    """The plugin is configured in pyproject.toml, as the command line and the tests are."""


class DriftproofPlugin(BasePlugin[_NoOptions]):
    """Checks the book before anything is published, and pages while they are served."""

    def __init__(self) -> None:
        self.serving = self.may_skip = self.is_dirty = False
        self.verification: Verification | None = None
        self.pages_by_url: dict[str, str] = {}
        self.programs: dict[str, str] = {}
        self.warnings = Warnings()
        self.undo = ExitStack()
        self.noting = ExitStack()
        self.read = self.noting.enter_context(noted(everywhere=True))  # hooks are loaded after this

    def on_startup(self, *, command: str, dirty: bool) -> None:
        """Learn whether this is a publishing build."""
        self.serving = command == "serve"
        self.is_dirty = dirty
        self.may_skip = command == "build" and not dirty
        if not self.may_skip:
            self.noting.close()
        self.warned = self.noting.enter_context(logged(logging.WARNING))

    @event_priority(100)
    def _read_settings(self, config: MkDocsConfig) -> None:
        """Read the project's settings, and have templates compiled once, before any is loaded."""
        try:
            self.settings = settings.load(Path(config.config_file_path or ".").parent)
        except DriftproofError as error:
            raise PluginError(str(error)) from None
        docs = self.settings.root / self.settings.docs
        if Path(config.docs_dir).resolve() != docs:
            message = f"docs_dir is {config.docs_dir}, and pyproject.toml has docs {docs}"
            hint = "let both name one folder"
            raise PluginError(str(DriftproofError("settings", message, hint, "mkdocs.yml")))
        self.kept = kept(self.settings)
        theme: Any = config.theme
        theme.get_env = lambda make=theme.get_env: templates.compiled_once(make())

    def _add_extension(self, config: MkDocsConfig) -> None:
        """Add the Markdown extension; while serving, watch the sources as well."""
        if "driftproof" not in config.markdown_extensions:
            config.markdown_extensions.append("driftproof")
        if self.serving:
            for name in (self.settings.source, self.settings.snippets, "pyproject.toml"):
                if (self.settings.root / name).exists():
                    config.watch.append(str(self.settings.root / name))

    on_config = CombinedEvent(_read_settings, _add_extension)

    def on_pre_build(self, *, config: MkDocsConfig) -> None:
        """Check every page before MkDocs empties the folder of the site.

        Raises:
            SystemExit: Nothing has changed since the site was built, so that it is as it should be.
        """
        if not self.serving:
            self.built = self._built(config)
            if self.may_skip and (said := self.built.said()) is not None:
                for line in [*said, "nothing has changed since the last build"]:
                    log.info(line)
                raise SystemExit(0)
            self.built.begin()
        else:
            from driftproof.verification import Verification  # builds that publish need none

            self.verification = self.verification or Verification(log)
            self.verification.look(self.settings)
        self.warnings.start()
        paths = self.settings.pages()
        self.pages: dict[str, Page] = {path: read_page(self.settings, path) for path in paths}
        self.report: Report = self._checked()
        if self.verification:
            self.verification.begin(self.settings, self.pages, self.report)
        else:
            if self.report.problems:
                from driftproof.report import as_text  # it takes a while to import

                raise PluginError(as_text(self.report))
            for line in [*self._notes(), self.report.summary]:
                log.info(line)
        self.output = Output(config.site_dir, utils)
        if not self.is_dirty:
            self.undo.callback(self.output.end)
            self.output.begin()

    @event_priority(-100)
    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> None:
        """Learn what links can lead to, now that all files are known."""
        addresses = [f"{file.src_uri} {file.url} {file.inclusion.name}" for file in files]
        sources = self.settings.root / self.settings.source
        self.rendering = Rendering(self.kept, config, addresses, sources)

    def _checked(self) -> Report:
        if self.serving:
            return check(self.settings, pages=self.pages, recall_only=True)
        from driftproof.cluster import connected

        try:
            with connected(self.settings) as executor:
                return check(self.settings, pages=self.pages, executor=executor)
        except DriftproofError as error:
            raise PluginError(str(error)) from None

    @event_priority(-100)
    def on_page_markdown(
        self, markdown: str, *, page: SitePage, config: MkDocsConfig, files: Files
    ) -> None:
        """Tell the extension which page comes next."""
        path = f"{self.settings.docs}/{page.file.src_uri}"
        parsed = self._parsed(path, markdown)
        runs, self.programs[path] = frozenset(), ""
        if parsed:
            find = partial(browser.program, config=self.settings)
            runs, self.programs[path] = self.kept.of(parsed, "browser", find)
        view = render.showing = render.View(parsed, self.report, markdown, runs) if parsed else None
        convert = partial(self._convert, page.render, view, path) if view else page.render
        page.render = lambda config, files: self.rendering.render(
            page, files, lambda: view and render.shown(view), convert, get_toc
        )
        self.pages_by_url[f"/{page.file.url}" if page.file.url != "./" else "/"] = path

    @event_priority(-100)
    def on_page_content(
        self, html: str, *, page: SitePage, config: MkDocsConfig, files: Files
    ) -> None:
        """See that the page shows exactly the blocks that were parsed, and know its anchors."""
        count = counted(html)
        page.present_anchor_ids = (page.present_anchor_ids or set()) | set(count)
        if parsed := self.pages.get(f"{self.settings.docs}/{page.file.src_uri}"):
            self.warnings.problems += misplaced(parsed, count)

    def on_page_context(
        self, context: Any, *, page: SitePage, config: MkDocsConfig, nav: Any
    ) -> None:
        """Give the template the facts of the page's run."""
        result = self.report.results.get(f"{self.settings.docs}/{page.file.src_uri}")
        context["driftproof"] = facts(result, self.report) if result else None

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
        if changes_templates(config):
            env.bytecode_cache = None  # constants have gone through filters when they are compiled
        templates.laid_out_by(env, self.rendering.lay_out, self.rendering.part)
        for plugin in config.plugins.values():
            if is_pure(plugin) and (index := getattr(plugin, "search_index", None)):
                entries = index.entries if hasattr(index, "entries") else index._entries
                add = index.add_entry_from_context
                index.add_entry_from_context = partial(self.rendering.index, entries, add=add)

    def on_post_page(self, output: str, *, page: SitePage, config: MkDocsConfig) -> str:
        """Publish the page's Markdown and blocks; while serving, add the script of its state."""
        source = page.file.abs_src_path
        if source is not None:
            target = os.path.join(config.site_dir, page.file.src_uri)
            self.output.write(Path(source).read_bytes(), target)
        if blocks := self.programs.get(f"{self.settings.docs}/{page.file.src_uri}"):
            target = Path(config.site_dir, page.file.dest_uri).with_name("blocks.json")
            self.output.write(blocks.encode(), str(target))
        return with_script(output) if self.serving else output

    @event_priority(100)
    def _tidy(self, config: MkDocsConfig) -> None:
        """Remove what is not part of the site any more, before others look through it."""
        if not self.is_dirty:
            self.output.tidy()

    @event_priority(-100)
    def _finish(self, config: MkDocsConfig) -> None:
        """Publish the modules that a browser has; while serving, verify the pages."""
        if self.settings.browser:
            target = os.path.join(config.site_dir, "modules.json")
            self.output.write(browser.modules(self.settings).encode(), target)
        if self.verification:
            self.verification.start(self.problems)
        else:
            runs = [result.run for result in self.report.results.values() if result.run]
            for result in self.report.results.values():
                result.cached = True
            files = {name for run in runs for name in run.files}
            if self.may_skip:
                self.built.end([*self._notes(), self.report.summary], files)
        self.undo.close()

    on_post_build = CombinedEvent(_tidy, _finish)

    def on_serve(self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Any) -> None:
        """See edits at once, and answer for the pages' state."""
        from driftproof import watch  # builds that publish watch nothing

        self.may_skip = False  # `mkdocs serve --clean` publishes into a folder of its own
        watch.at_once(server, self.settings.root)
        application = server.get_app()
        if self.verification and application:
            mount = server.mount_path
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: tidily
            server.set_app(middleware(application, self.verification, mount, self.pages_by_url))

    def on_build_error(self, *, error: Exception) -> None:
        """Leave nothing behind for the next build."""
        render.showing = None
        self.warnings.stop({})
        self.undo.close()

    def on_shutdown(self) -> None:
        """End what runs in the background, and stop taking notes."""
        self.noting.close()
        if self.verification:
            self.verification.close()

    def _built(self, config: MkDocsConfig) -> Built:
        """Return what is known of the last build into the folder of the site."""
        theirs = [*config.watch, *filter(None, [config.theme.custom_dir])]
        ours = (self.settings.docs, self.settings.snippets, self.settings.source)
        folders = [*theirs, *(self.settings.root / name for name in ours)]
        cache = self.settings.root / self.settings.cache
        return Built(self.settings.root, cache, config, folders, self.read, self.warned)

    def _notes(self) -> list[str]:
        return [f"{note.path}:{note.line}: {note.message}" for note in self.report.notes]

    def _convert(
        self,
        convert: Callable[[MkDocsConfig, Files], None],
        view: render.View,
        path: str,
        config: MkDocsConfig,
        files: Files,
    ) -> None:
        """Convert the Markdown of a page; code is coloured once, and formulas converted once."""
        known = self.kept.load(path, "code", self.rendering.key)
        view.coloured = dict(known or {})
        recall_formulas(self.settings, path)
        convert(config, files)
        if self.rendering.key and view.used != known:
            self.kept.store(path, "code", self.rendering.key, view.used)

    def _parsed(self, path: str, markdown: str) -> Page | None:
        """Return the page at `path`; a served one may have been saved since the build began."""
        page = self.pages.get(path)
        is_stale = page is None or not "\n".join(page.lines).endswith(markdown)
        if self.serving and is_stale and (self.settings.root / path).is_file():
            page = self.pages[path] = read_page(self.settings, path)
        return page
