"""Follows a page that runs, through the three pipes from its process."""

from __future__ import annotations

import json
import os
import re
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from driftproof.config import Config
from driftproof.failure import Failure
from driftproof.figures import Figure
from driftproof.page import Block
from driftproof.runs import Read, Run, Value

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u0085\u2028\u2029]")
_STDERR_KEPT = 4000
_LARGEST_MESSAGE = 100_000_000
_START = 120.0
"""Seconds for what happens once before any block: what is preloaded may import for long."""
_UNINHERITED = getattr(socket, "MSG_CMSG_CLOEXEC", 0)

Keep = Callable[[int, socket.socket, Run], None]
"""Told of a frozen copy of the page: its process, the socket on which it waits, the run so far."""


class Reader:
    """Collects what comes out of a page's pipes.

    Args:
        config: The project's settings.
        blocks: The blocks that run.
        pipes: For messages, output and errors.
        run: What is known already; what comes is added to it.
        keep: Takes frozen copies of the page, where there will be any.

    Attributes:
        done: Whether the run is complete.
        was_told: Whether the page's own process said why it failed.
    """

    def __init__(
        self,
        config: Config,
        blocks: list[Block],
        pipes: tuple[socket.socket, int, int],
        run: Run,
        keep: Keep | None = None,
    ) -> None:
        self.config, self.run, self.keep = config, run, keep
        self.control, self.out, self.err = pipes
        self.blocks = {block.number: block for block in blocks}
        self.current: Block | None = None
        self.printed, self.complained, self.told = bytearray(), bytearray(), bytearray()
        self.ready = bool(run.reads)
        self.done = self.was_told = False
        self.copy: tuple[int, socket.socket] | None = None
        self.ends: list[int] = []

    def follow(self) -> None:
        """Collect until the run is complete or fails, or the process has ended."""
        for end in (self.control.fileno(), self.out, self.err):
            os.set_blocking(end, False)
        with selectors.DefaultSelector() as selector:
            for pipe in (self.control, self.out, self.err):
                selector.register(pipe, selectors.EVENT_READ)
            try:
                self._follow(selector)
            except (EOFError, ConnectionError):
                pass  # its process has ended; the caller can ask how
            except (AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError):
                self.stop("Interfered", "the block wrote into the pipe through which it is run")

    def stop(self, kind: str, message: str) -> None:
        """Note why the run fails, and in which block."""
        block = self.current
        if block is None:
            self.run.failure = Failure(kind, message, "", 0)
        else:
            self.run.failure = Failure(kind, message, block.file, block.first)
            self.run.failed = block.number

    def close(self) -> None:
        """Close the pipes, after what a page that failed wrote last has been read."""
        if self.run.failure is not None:
            self._drain(self.err, self.complained)
            self.run.stderr = clean(self.complained.decode("utf-8", "replace"))[-_STDERR_KEPT:]
        self.control.close()
        if self.copy is not None:
            self.copy[1].close()
        for end in (self.out, self.err, *self.ends):
            os.close(end)

    def _follow(self, selector: selectors.BaseSelector) -> None:
        self.began = time.monotonic()
        while not self.done and self.run.failure is None:
            limit = self._timeout()
            left = self.began + limit - time.monotonic()
            ready = {key.fileobj for key, _ in selector.select(max(0.0, left))}
            self._drain(self.out, self.printed)
            self._drain(self.err, self.complained)
            del self.complained[:-_STDERR_KEPT]
            if self.control in ready:
                lines = self._lines()
                self._drain(self.out, self.printed)  # what it wrote last
                self._drain(self.err, self.complained)
                for what, *content in map(json.loads, lines):
                    self._handle(what, *content)
                    if what in ("ready", "end") and self.run.failure is None:
                        self.printed.clear()
                        self.complained.clear()
                        self.control.send(b"\n")
            elif left <= 0:
                self.stop("Deadline", f"the block did not end within {limit:g} s")
            if self.run.failure is None and self._is_too_much():
                self._stop_printing()

    def _is_too_much(self) -> bool:
        return len(self.printed) > self.config.max_output

    def _stop_printing(self) -> None:
        most = f"{self.config.max_output:,} bytes"
        self.stop("TooMuchOutput", f"the block printed more than {most}")

    def _timeout(self) -> float:
        if not self.ready:
            return max(_START, self.config.timeout)
        options = self.current.options if self.current else {}
        return options.get("timeout", self.config.timeout)

    def _handle(self, what: str, *content: Any) -> None:
        if what == "ready":
            self.ready = True
            failure, news = content
            self.run.failure = _failure(failure) if failure else None
            self.run.reads.append(_read(news))
        elif what == "start":
            self.current = self.blocks[content[0]]
        elif what == "kept":
            self.copy = int(content[0]), socket.socket(fileno=self.ends[-1])
            self.ends.pop()
        elif what == "end":
            self._end(*content)
        elif what == "values":
            values, news = content
            self.run.values = {text: _value(value) for text, value in values.items()}
            self._add_to_last(_read(news))
            self.done = True
        self.began = time.monotonic()

    def _end(
        self, number: int, failure: Any, figure: Any, seconds: float, news: Any, asked: Any
    ) -> None:
        """Take in what a block has done."""
        if self.current is None or number != self.current.number:
            raise ValueError(number)
        if self._is_too_much():
            self._stop_printing()
            return
        run = self.run
        run.seconds[number] = float(seconds)
        run.outputs[number] = clean(self.printed.decode("utf-8", "replace"))
        if figure is not None:
            run.figures[number] = Figure(**{n: str(text) for n, text in figure.items()})
        run.reads.append(_read(news))
        run.asked.append({str(text): _value(value) for text, value in asked.items()})
        if failure is not None:
            run.failure, run.failed = _failure(failure), number
            self.was_told = True
        self.current = None
        if self.keep and self.copy and run.failure is None:
            pid, end = self.copy
            self.copy = None
            self.keep(pid, end, run.copy())

    def _add_to_last(self, read: Read) -> None:
        last = self.run.reads[-1]
        last.files = last.files | read.files
        last.modules = last.modules + read.modules
        last.variables = last.variables + read.variables

    def _lines(self) -> list[bytes]:
        """Return the messages that have arrived whole; never wait for the rest of one."""
        with suppress(BlockingIOError):
            while chunk := self._receive():
                self.told += chunk
                if len(self.told) > _LARGEST_MESSAGE:
                    raise ValueError("too long")
            if b"\n" not in self.told:
                raise EOFError
        *lines, self.told = self.told.split(b"\n")
        return [bytes(line) for line in lines]

    def _receive(self) -> bytes:
        if self.keep is None:
            return self.control.recv(65536)
        chunk, ends, _, _ = socket.recv_fds(self.control, 65536, 1, _UNINHERITED)
        self.ends += ends
        return chunk

    def _drain(self, pipe: int, into: bytearray) -> None:
        while len(into) <= self.config.max_output:
            try:
                chunk = os.read(pipe, 65536)
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


def _failure(data: dict[str, Any]) -> Failure:
    kind, message, file, line, frames = (
        data[name] for name in ("kind", "message", "file", "line", "frames")
    )
    return Failure(str(kind), str(message), str(file), int(line), tuple(map(str, frames)))


def _value(data: Any) -> Value:
    return data if isinstance(data, bool | int | float | str) else _failure(data)


def _read(news: Any) -> Read:
    files, modules, variables = news
    return Read(
        {str(path): str(digest) for path, digest in files.items()},
        [*map(str, modules)],
        [*map(str, variables)],
    )
