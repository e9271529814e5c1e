"""Runs pages in processes of their own.

A `forkserver` process imports torch and numpy once; each page is forked from it and begins with a
clean state. One thread here follows one page and kills it at its deadline.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver

from driftproof import family
from driftproof.config import Config
from driftproof.confine import visible
from driftproof.page import Block, Page
from driftproof.place import lent
from driftproof.reader import Keep, Reader
from driftproof.runs import Run
from driftproof.worker import Job, Step, run_page

lock = threading.Lock()
"""Held while a process starts or is forgotten, and while what nobody knows of is ended."""


@dataclass
class Running:
    """A page that runs: what is known of its run so far, how to end it, whether it was ended."""

    path: str
    run: Run
    end: Callable[[], None]
    stopped: bool = False


_running: list[Running] = []


def environment(config: Config, device: str) -> dict[str, str]:
    """Return the environment variables of a page's process."""
    chosen = {config.device_variable: device} if device else {}
    allowed = (config.device_variable, *config.variables)
    return {**visible(dict(os.environ), allowed), **config.environment, **chosen}


def steps_here(page: Page, device: str) -> list[Block]:
    """Return the blocks of a page that this machine can run."""
    return [b for b in page.running if not b.output or b.output.device in ("", device)]


def steps_of(blocks: list[Block]) -> tuple[Step, ...]:
    """Return blocks as the page's process sees them."""
    return tuple(
        Step(b.number, b.code, b.file, b.first, str(b.options.get("raises", ""))) for b in blocks
    )


def run(config: Config, page: Page, expressions: list[str], device: str = "") -> Run:
    """Run a page's blocks in order, then evaluate `expressions`."""
    with lent(str(config.root), (config.docs, config.snippets, config.source)) as folder:
        return run_in(folder, config, page, expressions, device)


def run_in(
    folder: str,
    config: Config,
    page: Page,
    expressions: list[str],
    device: str,
    keep: Keep | None = None,
    freezes_after: float = math.inf,
) -> Run:
    """Run a page in a folder made for it.

    After so many seconds, `keep` takes a copy of its process after each block.
    """
    blocks = steps_here(page, device)
    job = Job(
        root=str(config.root),
        source=config.source,
        clean_state=config.clean_state,
        environment=environment(config, device),
        device=device,
        steps=steps_of(blocks),
        asked=config.evaluate,
        expressions=tuple(expressions),
        freezes_after=freezes_after,
    )
    context = multiprocessing.get_context("forkserver")
    (control, control_w), (out, out_w), (err, err_w) = (
        context.Pipe(duplex) for duplex in (True, False, False)
    )
    ends = [os.dup(pipe.fileno()) for pipe in (control, out, err)]
    pipes = socket.socket(fileno=ends[0]), ends[1], ends[2]
    reader = Reader(config, blocks, pipes, Run(), keep)
    process = context.Process(target=run_page, args=(job, folder, control_w, out_w, err_w))
    with lock, _bare_main(), _variables(job.environment):
        forkserver.set_forkserver_preload(
            ["driftproof.adopt", *config.preload, "driftproof.worker", "driftproof.warm"]
        )
        process.start()
        pid = process.pid
        assert pid is not None
        family.alive.add(pid)
    for end in (control, control_w, out, out_w, err, err_w):
        end.close()
    end = partial(_kill, pid)
    with following(Running(page.path, reader.run, end)):
        try:
            reader.follow()
        finally:
            end()
            with lock:  # who starts another page asks how this one ended, too
                process.join()
                family.alive.discard(pid)
                family.end_orphans()
    if reader.run.failure is None and not reader.done:
        reader.stop(*_how_it_ended(process.exitcode))
    reader.close()
    return reader.run


@contextmanager
def following(page: Running) -> Generator[None]:
    """Let a page be stopped while it runs."""
    _running.append(page)
    try:
        yield
    finally:
        _running.remove(page)


def stop(path: str = "") -> None:
    """End the page at `path` if it is running now, or every page."""
    for page in _running:
        if path in ("", page.path):
            page.stopped = True
            page.end()


def running() -> list[Running]:
    """Return the pages that run now."""
    return list(_running)


def _how_it_ended(exitcode: int | None) -> tuple[str, str]:
    if exitcode is not None and exitcode < 0:
        known = {number.value: number.name for number in signal.Signals}
        name = known.get(-exitcode, f"signal {-exitcode}")
        return "Killed", f"the block's process was killed by {name}"
    return "Exited", f"the block ended its process with status {exitcode}"


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
    """Hand these variables to a fork server that starts: what it has, every page can read.

    Its hash seed is that of every page. `os.environ` stays as it is: a site may be built meanwhile.
    """
    command = dict(os.environ)
    server = {**wanted, "PYTHONHASHSEED": "0"}
    _replace_variables(command, server)
    try:
        yield
    finally:
        _replace_variables(server, command)


def _replace_variables(present: dict[str, str], wanted: dict[str, str]) -> None:
    for name in present.keys() - wanted.keys():
        os.unsetenv(name)
    for name, value in wanted.items():
        os.putenv(name, value)
