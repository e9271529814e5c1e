"""Runs the blocks of one page, inside the page's own process.

What a page prints leaves through its file descriptors, what it computes through a pipe, in the
order it happened.
"""

from __future__ import annotations

import builtins
import dataclasses
import importlib
import json
import linecache
import math
import os
import random
import sys
import threading
import time
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

from driftproof import family, figures
from driftproof.confine import confine
from driftproof.failure import Failure, Place, text_of
from driftproof.freeze import Freezer, Resumed
from driftproof.observe import Observer
from driftproof.place import enter, redirect

first: list[Callable[[], object]] = []
"""What makes up for modules that the fork server imported on its own: each page does it first."""
_as_json = json.JSONEncoder(default=dataclasses.asdict).encode
"""Bound before a page may put another in its place."""


@dataclass(frozen=True)
class Step:
    """One block as the worker sees it: its code, and where the code stands."""

    number: int
    code: str
    file: str
    first: int
    raises: str


@dataclass(frozen=True)
class Job:
    """A page to run.

    Attributes:
        root: The project root.
        source: The folder put on `sys.path`.
        clean_state: `module:function` called before the first block, or "".
        environment: All its environment variables.
        device: The device that the run was asked for, or "".
        steps: Its blocks in order.
        asked: Expressions evaluated after every block.
        expressions: Evaluated after the last block.
        freezes_after: Seconds of work after which a copy of the process is kept after each block.
    """

    root: str
    source: str
    clean_state: str
    environment: dict[str, str]
    device: str
    steps: tuple[Step, ...]
    asked: tuple[str, ...]
    expressions: tuple[str, ...]
    freezes_after: float = math.inf

    @property
    def place(self) -> Place:
        """Where the frames of its author lie."""
        return Place(self.root, self.source, {step.file for step in self.steps})


def run_page(job: Job, folder: str, control: Connection, out: Connection, err: Connection) -> None:
    """Run a page and report each step through `control`; never returns."""
    os.setsid()
    family.end_with_server()
    redirect(out.fileno(), err.fileno())
    os.environ.clear()
    os.environ.update(job.environment)
    enter(folder, job.root, job.source)
    confine(folder, limits_memory=not job.device)
    observer = Observer(job.root)
    observer.start()
    failure = None
    try:
        random.seed(0)
        for do in first:
            do()
        if job.clean_state:
            module, _, name = job.clean_state.partition(":")
            getattr(importlib.import_module(module), name)()
    except BaseException as error:
        failure = job.place.failure(error, "pyproject.toml", 1)
    _tell(control, "ready", failure, observer.news())
    os.read(control.fileno(), 1)
    if failure is None:
        pipes = [pipe.fileno() for pipe in (control, out, err)]
        freezes = job.freezes_after < math.inf
        freezer = Freezer(folder, pipes, job.freezes_after) if freezes else None
        _run(job, control, observer, freezer)
    os._exit(0)


def _run(job: Job, control: Connection, observer: Observer, freezer: Freezer | None) -> None:
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    done = 0
    while done < len(job.steps):
        step = job.steps[done]
        done += 1
        _tell(control, "start", step.number)
        began = time.process_time()
        failure, figure = _run_step(job, step, main.__dict__)
        spent = time.process_time() - began
        asked = {} if failure else {text: _evaluate(text, main.__dict__) for text in job.asked}
        news = observer.news()
        copy = freezer.freeze(step.code) if freezer and failure is None else None
        if isinstance(copy, Resumed):  # this is no longer the process that ran the block
            steps = tuple(Step(**fields) for fields in copy.steps)
            job = replace(job, steps=steps, expressions=copy.expressions)
            continue
        _tell(control, "end", step.number, failure, figure, spent, news, asked)
        os.read(control.fileno(), 1)  # what the next block prints must not be read as this one's
        if copy is not None:
            copy.let_go()
        if failure is not None:
            return
    values = {text: _evaluate(text, main.__dict__) for text in job.expressions}
    _tell(control, "values", values, observer.news())


def _tell(control: Connection, *message: Any) -> None:
    """Send a message as a line of JSON: whatever a page writes there, reading it runs nothing."""
    with open(control.fileno(), "wb", closefd=False) as pipe:
        pipe.write(_as_json(message).encode() + b"\n")


def _run_step(job: Job, step: Step, namespace: dict[str, Any]) -> tuple[Failure | None, Any]:
    code = "\n" * (step.first - 1) + step.code
    lines = [f"{line}\n" for line in code.split("\n")]  # as Python counts them
    linecache.cache[step.file] = (len(code), None, lines, step.file)
    before, page = set(threading.enumerate()), os.getpid()
    figures.drawn.clear()
    failure = None
    try:
        exec(compile(code, step.file, "exec", dont_inherit=True), namespace)
    except BaseException as error:
        if step.raises and type(error).__name__ == step.raises.split(".")[-1]:
            text = error.msg if isinstance(error, SyntaxError) else text_of(error)
            print(f"{type(error).__name__}: {text}")
        else:
            failure = job.place.failure(error, step.file, step.first)
    else:
        if step.raises:
            failure = Failure("NotRaised", f"{step.raises} was declared", step.file, step.first)
    if os.getpid() != page:
        os._exit(0)  # a process that the block forked must not go on as the page
    left = [thread.name for thread in threading.enumerate() if thread not in before]
    if failure is None and left:
        message = f"the block left the thread {', '.join(left)} running"
        failure = Failure("ThreadLeft", message, step.file, step.first)
    if failure is None and family.children(page):
        message = "the block left a process running that it started"
        failure = Failure("ProcessLeft", message, step.file, step.first)
    if failure is None and len(figures.drawn) > 1:
        message = "a block shows one figure; split it"
        failure = Failure("FigureError", message, step.file, step.first)
    return failure, figures.drawn[0] if figures.drawn and failure is None else None


def _evaluate(text: str, namespace: dict[str, Any]) -> Any:
    """Return the plain number or text that `text` stands for, or a Failure."""
    try:
        value = eval(text.strip(), namespace)
        value = value.item() if hasattr(value, "item") else value
        for kind in (bool, int, float, str):
            if isinstance(value, kind):
                plain = kind(value)  # what the page made of it stays here
                str(plain)  # Python refuses to write an integer of more than 4300 digits
                return plain
    except BaseException as error:
        return Failure(type(error).__name__, text_of(error), "", 0)
    return Failure("TypeError", f"it is a {type(value).__name__}, not a number or text", "", 0)
