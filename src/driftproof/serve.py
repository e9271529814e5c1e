"""While a site is served: verify its pages in the background and tell the browser."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Callable, Iterable
from functools import partial
from importlib import resources
from typing import Any

from driftproof import runner
from driftproof.check import check
from driftproof.config import Config
from driftproof.page import Page
from driftproof.problem import Problem
from driftproof.provenance import output_stamp
from driftproof.results import Report, block_of

SCRIPT = "driftproof-serve.js"
STATUS = "driftproof-status.json"

Log = logging.Logger | logging.LoggerAdapter
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Verification:
    """Checks the latest state of the pages, one state after another, the viewed page first.

    Args:
        config: The project's settings.
        log: Where the terminal's messages go.
    """

    def __init__(self, config: Config, log: Log) -> None:
        self.config, self.log = config, log
        self.viewed = ""
        self._status: dict[str, dict[str, Any]] = {}
        self._said: set[Problem] = set()
        self._pages: dict[str, Page] = {}
        self._wanted = threading.Condition()
        self._latest, self._closed = 0, False
        self._thread = threading.Thread(target=self._work, daemon=True)

    def begin(self, pages: dict[str, Page], others: list[Problem]) -> None:
        """Verify `pages`; `others` are problems found elsewhere, to be shown at once."""
        with self._wanted:
            for path, page in pages.items():
                if path in self._pages and page.blocks != self._pages[path].blocks:
                    runner.stop(path)
            self._pages = pages
            self._latest += 1
            self._status = {path: {"state": "checking", "problems": []} for path in pages}
            self._tell(others)
            self._wanted.notify_all()
        if not self._thread.is_alive():
            self._thread.start()

    def close(self) -> None:
        """End the thread and every page that runs."""
        with self._wanted:
            self._closed = True
            self._wanted.notify_all()
        while self._thread.is_alive():
            runner.stop()
            self._thread.join(0.1)

    def status(self, path: str) -> dict[str, Any]:
        """Return what is known of a page: its state, problems and figures."""
        return self._status.get(path, {"state": "unknown", "problems": []})

    def _work(self) -> None:
        done = 0
        while True:
            with self._wanted:
                while done == self._latest and not self._closed:
                    self._wanted.wait()
                if self._closed:
                    return
                done, pages = self._latest, self._pages
            try:
                self._verify(pages, done)
            except Exception:
                self.log.exception("pages could not be verified; the next edit tries again")

    def _verify(self, pages: dict[str, Page], generation: int) -> None:
        going = partial(self._is_latest, generation)
        if self.viewed in pages:
            self._learn(check(self.config, [self.viewed], pages=pages, going=going), generation)
        report = check(self.config, pages=pages, going=going)
        if self._learn(report, generation) and not report.problems:
            self.log.info(report.summary)

    def _is_latest(self, generation: int) -> bool:
        return generation == self._latest and not self._closed

    def _learn(self, report: Report, generation: int) -> bool:
        with self._wanted:
            if not self._is_latest(generation):
                return False
            for path in report.wanted:
                result = report.results[path]
                figures = result.run.figures if result.run else {}
                outputs = [block for block in result.page.blocks if block.output]
                self._status[path] = {
                    "state": "problems" if result.problems else "agreed",
                    "problems": [_shown(problem, result.page) for problem in result.problems],
                    "figures": {
                        block.output_anchor: figures[block.number].svg
                        for block in outputs
                        if block.number in figures
                    },
                    "stamps": {
                        block.output_anchor: output_stamp(block, result, report)
                        for block in outputs
                    },
                }
            self._tell(report.problems)
        return True

    def _tell(self, problems: list[Problem]) -> None:
        for problem in problems:
            if problem not in self._said:
                self.log.warning(str(problem))
        self._said = {*(self._said & set(problems)), *problems}


def middleware(
    application: Application,
    verification: Verification,
    mount: str,
    pages_by_url: dict[str, str],
) -> Application:
    """Wrap a WSGI application: answer for the status and the script, note which page is viewed."""

    def respond(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = "/" + environ.get("PATH_INFO", "").removeprefix(mount).lstrip("/")
        folder, _, name = path.rpartition("/")
        if name == STATUS:
            page = pages_by_url.get(f"{folder}/", "")
            verification.viewed = page
            body = json.dumps(verification.status(page)).encode()
            return _answer(start_response, "application/json", body)
        if name == SCRIPT:
            script = resources.files("driftproof").joinpath("assets/serve.js").read_bytes()
            return _answer(start_response, "text/javascript", script)
        if path in pages_by_url:
            verification.viewed = pages_by_url[path]
        return application(environ, start_response)

    return respond


def with_script(html: str) -> str:
    """Return a page's HTML with the script that polls its status."""
    tag = f'<script src="{SCRIPT}" data-driftproof-status="{STATUS}"></script>'
    return re.sub(r"(?i)(?=</body>)", lambda _: tag, html, count=1)


def _answer(start_response: Callable[..., Any], kind: str, body: bytes) -> list[bytes]:
    headers = [("Content-Type", kind), ("Content-Length", str(len(body)))]
    start_response("200 OK", [*headers, ("Cache-Control", "no-store")])
    return [body]


def _shown(problem: Problem, page: Page) -> dict[str, Any]:
    block = block_of(page, problem)
    return {
        "where": f"{problem.path}:{problem.line}",
        "message": problem.message,
        "hint": problem.hint,
        "detail": list(problem.detail),
        "anchor": block.anchor if block else "",
    }
