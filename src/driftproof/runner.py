"""Runs pages in processes of their own and reads what they print.

A `forkserver` process imports torch and numpy once; each page is forked from it and begins with a
clean state. One thread here reads one page's pipes and kills the page at its deadline.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import selectors
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any

from driftproof import family
from driftproof.config import Config
from driftproof.confine import visible
from driftproof.figures import Figure
from driftproof.page import Block, Page
from driftproof.worker import Failure, Job, Step, run_page

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u0085\u2028\u2029]")
_STDERR_KEPT = 4000
_LARGEST_MESSAGE = 100_000_000
_START = 120.0
"""Seconds for what happens once before any block: what is preloaded may import for long."""
_start_lock = threading.Lock()
_running: dict[int, str] = {}


@dataclass
class Run:
    """What happened when a page ran.

    Attributes:
        outputs: What each block printed, by block number.
        figures: The figure of each block that drew one.
        values: The value of each expression, a plain number or text, or a Failure.
        failure: Why the run stopped, and in which block.
        failed: The number of that block, 0 where the page could not begin.
        stderr: The end of what the failing block wrote to standard error.
        files: SHA-256 of the project's files that were read, by path.
        modules: Modules loaded that are not of the standard library.
        variables: Environment variables that were asked for.
        seconds: CPU time of each block.
    """

    outputs: dict[int, str] = field(default_factory=dict)
    figures: dict[int, Figure] = field(default_factory=dict)
    values: dict[str, bool | int | float | str | Failure] = field(default_factory=dict)
    failure: Failure | None = None
    failed: int = 0
    stderr: str = ""
    files: dict[str, str] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    seconds: dict[int, float] = field(default_factory=dict)


def environment(config: Config, device: str) -> dict[str, str]:
    """Return the environment variables of a page's process."""
    chosen = {config.device_variable: device} if device else {}
    with _start_lock:  # while it is held, other variables may be set here
        command = dict(os.environ)
    allowed = (config.device_variable, *config.variables)
    return {**visible(command, allowed), **config.environment, **chosen}


def steps_here(page: Page, device: str) -> list[Block]:
    """Return the blocks of a page that this machine can run."""
    return [b for b in page.running if not b.output or b.output.device in ("", device)]


def run(config: Config, page: Page, expressions: list[str], device: str = "") -> Run:
    """Run a page's blocks in order, then evaluate `expressions`."""
    blocks = steps_here(page, device)
    job = Job(
        root=str(config.root),
        links=tuple(dict.fromkeys((config.docs, config.snippets, config.source))),
        source=config.source,
        clean_state=config.clean_state,
        environment=environment(config, device),
        device=device,
        steps=tuple(
            Step(b.number, b.code, b.file, b.first, str(b.options.get("raises", "")))
            for b in blocks
        ),
        expressions=tuple(expressions),
    )
    with tempfile.TemporaryDirectory(prefix="driftproof-") as folder:
        return _Reader(config, page.path, blocks).read(job, folder)


def stop(path: str = "") -> None:
    """End the page at `path` if it is running now, or every page."""
    for pid, running in list(_running.items()):
        if path in ("", running):
            _kill(pid)


class _Reader:
    """Starts a page's process and collects what comes out of its three pipes."""

    def __init__(self, config: Config, path: str, blocks: list[Block]) -> None:
        self.config, self.path = config, path
        self.blocks = {block.number: block for block in blocks}
        self.run = Run()
        self.current: Block | None = None
        self.printed, self.complained, self.told = bytearray(), bytearray(), bytearray()

    def read(self, job: Job, folder: str) -> Run:
        context = multiprocessing.get_context("forkserver")
        control, control_w = context.Pipe()
        out, out_w = context.Pipe(duplex=False)
        err, err_w = context.Pipe(duplex=False)
        process = context.Process(target=run_page, args=(job, folder, control_w, out_w, err_w))
        with _start_lock, _bare_main(), _variables(job.environment):
            forkserver.set_forkserver_preload(
                [*self.config.preload, "driftproof.worker", "driftproof.adopt"]
            )
            process.start()
            pid = process.pid
            assert pid is not None
            _running[pid] = self.path
        for end in (control_w, out_w, err_w):
            end.close()
        for end in (control, out, err):
            os.set_blocking(end.fileno(), False)
        with selectors.DefaultSelector() as selector:
            for pipe in (control, out, err):
                selector.register(pipe, selectors.EVENT_READ)
            try:
                self._follow(selector, control, out, err)
            except (EOFError, ConnectionError):
                pass  # its process has ended; how is asked below
            except (AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError):
                self._stop("Interfered", "the block wrote into the pipe through which it is run")
            finally:
                _kill(pid)
                process.join()
                with _start_lock:
                    _running.pop(pid, None)
                    family.end_orphans(spare=_running)
        if self.run.failure is None and not self.done:
            self._stop(*_how_it_ended(process.exitcode))
        if self.run.failure is not None:
            self._drain(err, self.complained)
            self.run.stderr = clean(self.complained.decode("utf-8", "replace"))[-_STDERR_KEPT:]
        for pipe in (control, out, err):
            pipe.close()
        return self.run

    def _follow(
        self,
        selector: selectors.BaseSelector,
        control: Connection,
        out: Connection,
        err: Connection,
    ) -> None:
        self.ready = self.done = False
        self.began = time.monotonic()
        while not self.done and self.run.failure is None:
            limit = self._timeout()
            left = self.began + limit - time.monotonic()
            ready = {key.fileobj for key, _ in selector.select(max(0.0, left))}
            self._drain(out, self.printed)
            self._drain(err, self.complained)
            del self.complained[:-_STDERR_KEPT]
            if control in ready:
                lines = self._lines(control)
                self._drain(out, self.printed)  # what it wrote last
                self._drain(err, self.complained)
                for what, *content in map(json.loads, lines):
                    self._handle(what, *content)
                    if what in ("ready", "end") and self.run.failure is None:
                        self.printed.clear()
                        self.complained.clear()
                        os.write(control.fileno(), b"\n")
            elif left <= 0:
                self._stop("Deadline", f"the block did not end within {limit:g} s")
            if len(self.printed) > self.config.max_output:
                limit = f"{self.config.max_output:,} bytes"
                self._stop("TooMuchOutput", f"the block printed more than {limit}")

    def _timeout(self) -> float:
        if not self.ready:
            return max(_START, self.config.timeout)
        options = self.current.options if self.current else {}
        return options.get("timeout", self.config.timeout)

    def _handle(self, what: str, *content: Any) -> None:
        if what == "ready":
            self.ready = True
            self.run.failure = _failure(content[0]) if content[0] else None
        elif what == "start":
            self.current = self.blocks[content[0]]
        elif what == "end":
            number, failure, figure, seconds = content
            if self.current is None or number != self.current.number:
                raise ValueError(number)
            self.run.seconds[number] = float(seconds)
            self.run.outputs[number] = clean(self.printed.decode("utf-8", "replace"))
            if figure is not None:
                self.run.figures[number] = Figure(**{n: str(text) for n, text in figure.items()})
            if failure is not None:
                self.run.failure, self.run.failed = _failure(failure), number
            self.current = None
        elif what == "values":
            self.run.values = {text: _value(value) for text, value in content[0].items()}
        elif what == "seen":
            files, modules, variables = content
            self.run.files = {str(path): str(digest) for path, digest in files.items()}
            self.run.modules, self.run.variables = [*map(str, modules)], [*map(str, variables)]
            self.done = True
        self.began = time.monotonic()

    def _stop(self, kind: str, message: str) -> None:
        block = self.current
        if block is None:
            self.run.failure = Failure(kind, message, "", 0)
        else:
            self.run.failure = Failure(kind, message, block.file, block.first)
            self.run.failed = block.number

    def _lines(self, control: Connection) -> list[bytes]:
        """Return the messages that have arrived whole; never wait for the rest of one."""
        with suppress(BlockingIOError):
            while chunk := os.read(control.fileno(), 65536):
                self.told += chunk
                if len(self.told) > _LARGEST_MESSAGE:
                    raise ValueError("too long")
            if b"\n" not in self.told:
                raise EOFError
        *lines, self.told = self.told.split(b"\n")
        return [bytes(line) for line in lines]

    def _drain(self, pipe: Connection, into: bytearray) -> None:
        while len(into) <= self.config.max_output:
            try:
                chunk = os.read(pipe.fileno(), 65536)
            except (BlockingIOError, OSError):
                return
            if not chunk:
                return
            into += chunk


def clean(text: str) -> str:
    """Return printed text as it is recorded: last frames of progress bars, no colours.

    Tabs become blanks; trailing blanks, blank lines at the end and control characters are dropped.
    """
    text = _ANSI.sub("", text).replace("\r\n", "\n")
    lines = []
    for line in text.split("\n"):
        frames = [frame for frame in line.split("\r") if frame.strip()]
        lines.append(_CONTROL.sub("", frames[-1] if frames else "").expandtabs().rstrip())
    return "\n".join(lines).rstrip("\n")


def _how_it_ended(exitcode: int | None) -> tuple[str, str]:
    if exitcode is not None and exitcode < 0:
        known = {number.value: number.name for number in signal.Signals}
        name = known.get(-exitcode, f"signal {-exitcode}")
        return "Killed", f"the block's process was killed by {name}"
    return "Exited", f"the block ended its process with status {exitcode}"


def _failure(data: dict[str, Any]) -> Failure:
    kind, message, file, line, frames = (
        data[name] for name in ("kind", "message", "file", "line", "frames")
    )
    return Failure(str(kind), str(message), str(file), int(line), tuple(map(str, frames)))


def _value(data: Any) -> bool | int | float | str | Failure:
    return data if isinstance(data, bool | int | float | str) else _failure(data)


def _kill(pid: int) -> None:
    """End the page's process and everything that it started."""
    for end in (os.killpg, os.kill):
        try:
            end(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


@contextmanager
def _bare_main() -> Generator[None]:
    """Keep multiprocessing from importing the command's own script in every page's process."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = type(sys)("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _variables(wanted: dict[str, str]) -> Generator[None]:
    """Have these variables only while the fork server may start: what it has, every page can read.

    Its hash seed is that of every page.
    """
    before = dict(os.environ)
    _replace_variables({**wanted, "PYTHONHASHSEED": "0"})
    try:
        yield
    finally:
        _replace_variables(before)


def _replace_variables(wanted: dict[str, str]) -> None:
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update(wanted)
