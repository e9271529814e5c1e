"""Runs the blocks of one page, inside the page's own process.

What a page prints leaves through its file descriptors, what it computes through a pipe, in the
order it happened.
"""

from __future__ import annotations

import builtins
import ctypes
import dataclasses
import importlib
import io
import json
import linecache
import os
import random
import sys
import tempfile
import threading
import time
import traceback
import types
from dataclasses import dataclass
from importlib.machinery import FileFinder, SourceFileLoader
from multiprocessing.connection import Connection
from typing import Any

from driftproof import family, figures
from driftproof.confine import confine
from driftproof.observe import Observer

_IONBF = 2
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
        links: Folders of the project that a block can read under their own names.
        source: The folder put on `sys.path`.
        clean_state: `module:function` called before the first block, or "".
        environment: All its environment variables.
        device: The device that the run was asked for, or "".
        steps: Its blocks in order.
        expressions: Evaluated after the last block.
    """

    root: str
    links: tuple[str, ...]
    source: str
    clean_state: str
    environment: dict[str, str]
    device: str
    steps: tuple[Step, ...]
    expressions: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """Why a block or an expression failed: the exception and the frames an author can act on."""

    kind: str
    message: str
    file: str
    line: int
    frames: tuple[str, ...] = ()


def run_page(job: Job, folder: str, control: Connection, out: Connection, err: Connection) -> None:
    """Run a page and report each step through `control`; never returns."""
    os.setsid()
    family.end_with_server()
    with open(os.devnull) as closed:
        os.dup2(closed.fileno(), 0)
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = _unbuffered(1)
    sys.stderr = _unbuffered(2)
    _unbuffer_c()
    os.environ.clear()
    os.environ.update(job.environment)
    _enter(job, folder)
    confine(folder, limits_memory=not job.device)
    observer = Observer(job.root)
    observer.start()
    failure = None
    try:
        random.seed(0)
        if job.clean_state:
            module, _, name = job.clean_state.partition(":")
            getattr(importlib.import_module(module), name)()
    except BaseException as error:
        failure = _failure(error, job, "pyproject.toml", 1)
    _tell(control, "ready", failure)
    os.read(control.fileno(), 1)
    if failure is None:
        _run(job, control, observer)
    os._exit(0)


def _run(job: Job, control: Connection, observer: Observer) -> None:
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    for step in job.steps:
        _tell(control, "start", step.number)
        began = time.process_time()
        failure, figure = _run_step(job, step, main.__dict__)
        _tell(control, "end", step.number, failure, figure, time.process_time() - began)
        os.read(control.fileno(), 1)  # what the next block prints must not be read as this one's
        if failure is not None:
            return
    values = {text: _evaluate(text, main.__dict__) for text in job.expressions}
    _tell(control, "values", values)
    _tell(control, "seen", observer.files(), observer.modules(), sorted(observer.variables))


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
            text = error.msg if isinstance(error, SyntaxError) else _text(error)
            print(f"{type(error).__name__}: {text}")
        else:
            failure = _failure(error, job, step.file, step.first)
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
        return Failure(type(error).__name__, _text(error), "", 0)
    return Failure("TypeError", f"it is a {type(value).__name__}, not a number or text", "", 0)


def _failure(error: BaseException, job: Job, file: str, line: int) -> Failure:
    """Keep of a traceback what stands in the page, in snippets and in the source."""
    frames = []
    for frame in traceback.extract_tb(error.__traceback__):
        name = _own(frame.filename, job)
        if name:
            file, line = (name, frame.lineno or line) if not frames else (file, line)
            frames.append(f"{name}:{frame.lineno}, in {frame.name}: {(frame.line or '').strip()}")
    if isinstance(error, SyntaxError) and error.filename and _own(error.filename, job):
        at = f"{_own(error.filename, job)}:{error.lineno}: {(error.text or '').strip()}"
        if not frames:
            file, line = _own(error.filename, job), error.lineno or line
        frames.append(at)
    message = error.msg if isinstance(error, SyntaxError) else _text(error)
    return Failure(type(error).__name__, message.replace(job.root + os.sep, ""), file, line,
                   tuple(frames))  # fmt: skip


def _text(error: BaseException) -> str:
    """Return the text of an exception, also of one that fails to say it, as it can be printed."""
    text = str(traceback.TracebackException(type(error), error, None))
    return text.encode("utf-8", "backslashreplace").decode()


def _own(filename: str, job: Job) -> str:
    """Return `filename` relative to the root if it is the project's own, otherwise ""."""
    if any(filename == step.file for step in job.steps):
        return filename
    path = os.path.realpath(filename)
    inside = path.startswith(os.path.join(job.root, job.source) + os.sep)
    is_tool = path.startswith(os.path.dirname(__file__) + os.sep)
    return os.path.relpath(path, job.root) if inside and not is_tool else ""


def _enter(job: Job, folder: str) -> None:
    """Work in an empty folder from which the project can be read."""
    for name in ("page", "temporary"):
        os.mkdir(os.path.join(folder, name))
    os.environ["TMPDIR"] = os.path.join(folder, "temporary")
    tempfile.tempdir = None
    os.chdir(os.path.join(folder, "page"))
    for name in job.links:
        if os.path.isdir(os.path.join(job.root, name)) and not os.path.lexists(name):
            os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
            os.symlink(os.path.join(job.root, name), name)
    source = os.path.join(job.root, job.source)
    hook = FileFinder.path_hook((_FromSource, [".py"]))
    sys.path_hooks.insert(0, lambda path: hook(_only_under(source, path)))
    sys.path_importer_cache.clear()
    sys.path[:] = [source, *(entry for entry in sys.path if entry not in ("", source))]
    sys.argv[:] = [""]


class _FromSource(SourceFileLoader):
    """Compiles what it imports: a byte-code file goes stale within a second unnoticed."""

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _only_under(source: str, path: str) -> str:
    if path != source and not path.startswith(source + os.sep):
        raise ImportError(path)
    return path


def _unbuffered(descriptor: int) -> io.TextIOWrapper:
    """Return a stream whose text is in the pipe at once, in order with what others write there."""
    raw: Any = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(
        raw, encoding="utf-8", errors="backslashreplace", newline="", write_through=True
    )


def _unbuffer_c() -> None:
    """Do the same for what C code prints."""
    libc = ctypes.CDLL(None)
    for name in ("stdout", "__stdoutp"):  # Linux, macOS
        if hasattr(libc, name):
            libc.setvbuf(ctypes.c_void_p.in_dll(libc, name), None, _IONBF, 0)
