"""Checkpoints while a site is served: an edit to a late block runs that block, not its page.

After each block of a page that runs here, a frozen copy of its process stays. When the page is to
run again, it goes on from the deepest copy whose blocks, settings and files are still the same. A
copy ends when the build closes its end of a socket, and so with the build.
"""

from __future__ import annotations

import itertools
import os
import re
import socket
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any

from driftproof import cache, family, runner
from driftproof.config import Config
from driftproof.frozen import PATIENCE, Copy, Folder
from driftproof.page import Block, Page
from driftproof.reader import Reader
from driftproof.runs import Run
from driftproof.worker import Step

_OF_A_PAGE, _IN_ALL = 32, 64
_MEMORY = min(2**31, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8)
"""Bytes that all copies may hold, each counted with its share of what it shares with others."""
_WORTH = 0.1
"""Seconds of work from which copies are made: a copy takes some 25 ms where torch is loaded."""
_PEAKS = re.compile(r"getrusage|maxrss|VmHWM|VmPeak")
"""What tells of all that a process has been, of which a copy knows nothing."""


class Checkpoints:
    """Runs pages as `runner.run` does, from where they were last the same."""

    def __init__(self) -> None:
        self._copies: list[Copy] = []
        self._lock = threading.RLock()
        self._of_page: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._latest: dict[str, tuple[Step, ...]] = {}
        self._busy: set[Folder] = set()
        self._events = itertools.count()
        self._closed = False

    def run(self, config: Config, page: Page, expressions: list[str], device: str = "") -> Run:
        """Run what has changed of a page, then evaluate `expressions`.

        The run is the one that would have come of all blocks, because a copy is made only where
        it cannot be told from its process, and used only while all that it has read is the same.
        One that ends in another way than by an exception of a block is thrown away.
        """
        if sys.platform != "linux" or device:
            return runner.run(config, page, expressions, device)
        blocks = runner.steps_here(page, device)
        state = cache.settings(config, device), runner.environment(config, device)
        self._latest[page.path] = runner.steps_of(blocks)
        with self._of_page[page.path]:
            copy = self._deepest(config, page.path, state, runner.steps_of(blocks))
            if copy and (run := self._go_on(copy, config, blocks, expressions)):
                return run
            folder = Folder(config)
            with self._lock:
                self._busy.add(folder)
            keep = partial(self._keep, page.path, state, runner.steps_of(blocks), folder)
            try:
                return runner.run_in(folder.name, config, page, expressions, device, keep, _WORTH)
            finally:
                self._release(page.path, folder)

    def depth(self, config: Config, page: Page) -> int:
        """Return from after how many blocks a page would go on now."""
        state = cache.settings(config, ""), runner.environment(config, "")
        steps = runner.steps_of(runner.steps_here(page, ""))
        copy = self._deepest(config, page.path, state, steps)
        return len(copy.steps) if copy else 0

    def close(self) -> None:
        """End every copy."""
        with self._lock:
            self._closed = True
            self._drop(self._copies)

    def _deepest(
        self, config: Config, path: str, state: tuple[Any, ...], steps: tuple[Step, ...]
    ) -> Copy | None:
        with self._lock:
            found = [
                copy
                for copy in self._copies
                if (copy.path, copy.state) == (path, state)
                and copy.is_of(steps)
                and not any(_PEAKS.search(step.code) for step in steps[len(copy.steps) :])
                and cache.holds(config, copy.run)
            ]
        return max(found, key=lambda copy: len(copy.steps), default=None)

    def _go_on(
        self, copy: Copy, config: Config, blocks: list[Block], expressions: list[str]
    ) -> Run | None:
        """Run what comes after a copy; return None where that has to be done from the beginning."""
        with self._lock:
            self._busy.add(copy.folder)
            copy.used = sys.maxsize  # it does not go while what came of it runs
        steps = runner.steps_of(blocks)
        run = copy.run_of(steps)
        keep = partial(self._keep, copy.path, copy.state, steps, copy.folder)
        running = runner.Running(copy.path, run, copy.end_what_resumed)
        try:
            pipes = copy.ask(steps, expressions) if copy.folder.restore(copy.left) else None
            if pipes is None:
                self._drop([copy])
                return None
            reader = Reader(config, blocks, pipes, run, keep)
            with runner.following(running):
                try:
                    reader.follow()
                finally:
                    running.end()
                    reader.close()
        finally:
            copy.used = next(self._events)
            self._release(copy.path, copy.folder)
        if reader.done or (reader.was_told and not copy.has_moved(steps)):
            return run
        if running.stopped:
            reader.stop("Killed", "the page was stopped")
            return run
        self._drop([copy])
        return None

    def _keep(
        self,
        path: str,
        state: tuple[Any, ...],
        steps: tuple[Step, ...],
        folder: Folder,
        pid: int,
        end: socket.socket,
        run: Run,
    ) -> None:
        """Take in a copy made after a block, while its page waits."""
        end.settimeout(PATIENCE)
        done = steps[: len(run.outputs)]
        copy = Copy(path, state, done, run, pid, end, folder, folder.left(), next(self._events))
        with runner.lock:
            family.alive.add(pid)
        with self._lock:
            of_page = [other for other in self._copies if other.path == path]
            self._copies.append(copy)
            for one in (*of_page[-1:], copy):
                one.measure()
            self._drop(
                other
                for other in of_page
                if other.state == state and len(other.steps) == len(done) and other.is_of(done)
            )
            self._bound(path)
            if self._closed:
                self._drop(self._copies)

    def _bound(self, path: str) -> None:
        """Drop those without which least has to run again, of one page and of all."""
        while len([copy for copy in self._copies if copy.path == path]) > _OF_A_PAGE:
            self._drop([self._least(path)])
        while len(self._copies) > _IN_ALL:
            self._drop([self._least()])
        while sum(copy.bytes for copy in self._copies) > _MEMORY:
            least = self._least()
            self._drop([least])
            self._measure(least.path)  # they now share what they have among fewer

    def _least(self, path: str = "") -> Copy:
        """Return the copy that can go first: of a text that is no more, or that saves least."""
        return min(
            (copy for copy in self._copies if path in ("", copy.path)),
            key=lambda copy: (
                copy.used == sys.maxsize,
                copy.is_of(self._latest[copy.path]),
                self._saves(copy),
                copy.used,
            ),
        )

    def _saves(self, copy: Copy) -> float:
        """Return the seconds of work between a copy and the one before it."""
        before = [
            other.seconds
            for other in self._copies
            if (other.path, other.state) == (copy.path, copy.state)
            and len(other.steps) < len(copy.steps)
            and other.is_of(copy.steps)
        ]
        return copy.seconds - max(before, default=0.0)

    def _measure(self, path: str) -> None:
        for copy in self._copies:
            if copy.path == path:
                copy.measure()

    def _release(self, path: str, folder: Folder) -> None:
        """Note that a run has ended; its copies now hold alone what they shared with it."""
        with self._lock:
            self._busy.discard(folder)
            if 4 * sum(copy.bytes for copy in self._copies) > _MEMORY:  # measuring takes 3 ms each
                self._measure(path)
            self._bound(path)
            self._sweep([folder])

    def _drop(self, copies: Iterable[Copy]) -> None:
        """End copies, and remove the folders that none needs any more."""
        with self._lock:
            dropped = list(copies)
            if not dropped:
                return
            for copy in dropped:
                copy.end.close()
            self._copies = [copy for copy in self._copies if copy not in dropped]
            with runner.lock:
                family.alive.difference_update(copy.pid for copy in dropped)
                family.end_orphans()
            self._sweep([copy.folder for copy in dropped])

    def _sweep(self, folders: list[Folder]) -> None:
        needed = self._busy | {copy.folder for copy in self._copies}
        for folder in set(folders) - needed:
            folder.close()
