"""While a site is served: verify its pages in the background, the viewed one first.

Verification begins before the site is built anew, runs only what has changed, and never says of a
page that it agrees when a file behind it is newer.
"""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import replace
from typing import Any

from driftproof import cache, check, runner
from driftproof.checkpoints import Checkpoints
from driftproof.config import Config
from driftproof.page import Page
from driftproof.problem import Problem
from driftproof.results import Report
from driftproof.state import Signatures, State, Status, signatures, status_of

Log = logging.Logger | logging.LoggerAdapter

_WORTH = 0.2
"""CPU seconds from which a page that was recalled runs, so that its next edit need not wait."""


class Verification:
    """Checks the latest state of the pages, as many at once as there are cores."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.viewed = ""
        self._state: State | None = None
        self._signatures: Signatures = {}
        self._others: list[Problem] = []
        self._said: set[Problem] = set()
        self._running: set[str] = set()
        self._judging: set[str] = set()
        self._warmed: set[tuple[str, str]] = set()
        self._checkpoints = Checkpoints()
        self._changed = threading.Condition(threading.RLock())
        self._closed = False
        work = [
            threading.Thread(target=self._work, daemon=True) for _ in range(os.cpu_count() or 1)
        ]
        self._threads = work

    def look(self, config: Config) -> None:
        """Note the files that make up pages; call it before these are parsed."""
        self._signatures = signatures(config)

    def begin(self, config: Config, pages: dict[str, Page], report: Report) -> None:
        """Verify `pages`, of which `report` has what was recalled."""
        expressions = check.expressions_of(pages)
        state = State(
            config,
            dict(pages),
            replace(report, judged=True, results=dict(report.results)),
            self._signatures,
            {p: sorted(expressions[p] | expressions[page.slug]) for p, page in pages.items()},
            {path: {path, *check.named_by(page, report.owners)} for path, page in pages.items()},
            {path for path, result in report.results.items() if result.run is None},
        )
        with self._changed:
            for path in pages:
                if not self._take_over(path, state):
                    state.unjudged.add(path)
            for path in {running.path for running in runner.running()}:
                if not self._goes_on(path, state):
                    self._warmed.discard((path, self._state.link(path) if self._state else ""))
                    runner.stop(path)
            self._state = state
            self._changed.notify_all()

    def start(self, others: list[Problem]) -> None:
        """Begin to work, once the site is up; `others` are problems found while it was built."""
        with self._changed:
            self._others = others
            self._tell()
        for thread in self._threads:
            if thread.ident is None:
                thread.start()

    def close(self) -> None:
        """End the threads, every page that runs, and every copy of one."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            while thread.is_alive():
                runner.stop()
                thread.join(0.1)
        self._checkpoints.close()

    def status(self, path: str) -> Status:
        """Return what is known of a page: its state, problems and figures."""
        return self._state.status(path) if self._state else {"state": "unknown", "problems": []}

    def view(self, path: str) -> None:
        """Learn which page is in front of the author."""
        if path != self.viewed:
            with self._changed:
                self.viewed = path
                self._changed.notify_all()

    def _take_over(self, path: str, state: State) -> bool:
        """Take over what was found out about a page, if nothing behind it has changed."""
        before = self._state
        holds = (
            before is not None
            and path in before.statuses
            and before.config == state.config
            and not state.needs[path] & state.waiting
            and before.needs[path] == state.needs[path]
            and before.behind(path) == state.behind(path)
        )
        if before and holds:
            state.statuses[path], state.judged[path] = before.statuses[path], before.judged[path]
        return holds

    def _goes_on(self, path: str, state: State) -> bool:
        """Whether a page that runs is of use for its new state as well."""
        before = self._state
        read = [running.run for running in runner.running() if running.path == path]
        return (
            before is not None
            and path in (state.waiting or state.pages)
            and before.link(path) == state.link(path)
            and all(cache.holds(state.config, run) for run in read)
        )

    def _work(self) -> None:
        while True:
            with self._changed:
                task = None
                while not self._closed and task is None:
                    task = self._next()
                    if task is None:
                        self._changed.wait()
                if self._closed or task is None:
                    return
                do, state, path = task
                busy = self._judging if do == self._judge else self._running
                busy.add(path)
            try:
                do(state, path)
            except Exception:
                self.log.exception(f"{path} could not be verified; the next edit tries again")
                state.waiting.discard(path)
                state.unjudged.discard(path)
            finally:
                with self._changed:
                    busy.discard(path)
                    self._changed.notify_all()

    def _next(self) -> tuple[Any, State, str] | None:
        """Return what to do now: for the viewed page, then what changed, then the others."""
        state = self._state
        if state is None:
            return None
        waiting = state.waiting - self._running
        ready = {p for p in state.unjudged - self._judging if not state.needs[p] & state.waiting}
        viewed = state.needs.get(self.viewed, set())
        for paths, do in (
            (ready & {self.viewed}, self._judge),
            (waiting & viewed, self._run),
            ({path for path in ready if state.needs[path] & state.ran}, self._judge),
            (waiting, self._run),
            (ready, self._judge),
            ({self.viewed} if self._may_warm(state) else set(), self._warm),
        ):
            if paths:
                return do, state, min(paths)
        return None

    def _run(self, state: State, path: str) -> None:
        """Run or recall a page; what it gives counts if its state is still the latest."""
        result = check.run_page(
            state.config,
            state.pages[path],
            state.expressions[path],
            "",
            run=self._checkpoints.run,
            going=lambda: state is self._state and not self._closed,
        )
        with self._changed:
            if state is self._state:
                state.report.results[path] = result
                state.waiting.discard(path)
                state.ran.add(path)

    def _judge(self, state: State, path: str) -> None:
        known = state.report.results[path]
        result = replace(known, problems=[*known.problems], notes=[*known.notes])
        check.conclude(state.config, result, state.report)
        status = status_of(result, state.report)
        with self._changed:
            state.unjudged.discard(path)
            state.judged[path], state.statuses[path] = result, status
            if state is self._state:
                self._tell()

    def _tell(self) -> None:
        """Say in the terminal what is wrong, once; and when everything agrees."""
        state = self._state
        found = [p for result in state.judged.values() for p in result.problems] if state else []
        problems = sorted([*self._others, *found], key=lambda p: (p.path, p.line))
        for problem in problems:
            if problem not in self._said:
                self.log.warning(str(problem))
        self._said = {*problems}
        if state and not problems and len(state.judged) == len(state.pages) and not state.is_told:
            state.is_told = True
            results = {
                path: replace(result, cached=state.report.results[path].cached)
                for path, result in state.judged.items()
            }
            self.log.info(replace(state.report, results=results).summary)

    def _may_warm(self, state: State) -> bool:
        """Whether the viewed page was recalled, and would have to run as a whole when edited."""
        result = state.report.results.get(self.viewed)
        return bool(
            result
            and result.cached
            and result.run
            and sum(result.run.seconds.values()) > _WORTH
            and self.viewed not in self._running
            and (self.viewed, state.link(self.viewed)) not in self._warmed
        )

    def _warm(self, state: State, path: str) -> None:
        """Run a page that was recalled, for the copies that are kept while it does."""
        self._warmed.add((path, state.link(path)))
        if not self._checkpoints.depth(state.config, state.pages[path]):
            self._checkpoints.run(state.config, state.pages[path], [])
