"""What an author waits for while a book is served, under each tool in turn."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import verify
from builds import VARIABLES, Say, Shelf, WrongError
from edits import SENTENCE, Edit
from forms import DRIFTPROOF, EXECUTED, Form
from usage import processes, seconds

EDITS = ("sentence", "last block", "helper")
_PATIENCE = 180.0
_POLL = 0.005
_UNSEEN = 5.0
"""Seconds for which a server need not have noticed that a file was saved."""


class Server:
    """`mkdocs serve` in the folder of one form, started with nothing kept."""

    def __init__(self, shelf: Shelf, form: Form) -> None:
        shelf.forget(form)
        self.folder = shelf.folder(form)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.host, self.port = free.getsockname()
        variables = VARIABLES | ({"PYTHONPATH": "src"} if form is EXECUTED else {})
        self.log = self.folder.with_suffix(".log")
        with self.log.open("w") as log:
            self.began = time.perf_counter()
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mkdocs", "serve", "-a", f"{self.host}:{self.port}"],
                cwd=self.folder,
                env=os.environ | variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it as an author does; nothing that it started may stay."""
        left = processes(self.process.pid)
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise WrongError("the server does not stop") from None
        end = time.monotonic() + 5
        while any(map(_lives, left)):
            if time.monotonic() > end:
                raise WrongError(f"the server left processes behind: {list(filter(_lives, left))}")
            time.sleep(0.02)

    @property
    def cpu(self) -> float:
        """CPU seconds so far, of everything that it started."""
        return seconds(self.process.pid)

    def get(self, path: str) -> str:
        """Return what stands at a path, "" as long as nothing does."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_PATIENCE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.read().decode() if answer.status == 200 else ""
        except (ConnectionError, http.client.HTTPException):
            return ""
        finally:
            connection.close()

    def state(self, path: str) -> str:
        """Return the state of a page, as its banner has it."""
        return json.loads(self.get(f"{path}driftproof-status.json") or '{"state": ""}')["state"]

    def rests(self) -> bool:
        """Whether every page is verified."""
        docs = self.folder / "docs"
        pages = (f"docs/{path.relative_to(docs).as_posix()}" for path in docs.rglob("*.md"))
        return all(self.state(_url(page)) == "agreed" for page in pages)

    def until(self, condition: Callable[[], Any], what: str, pause: float = _POLL) -> float:
        """Wait for something; return when it was so."""
        end = time.monotonic() + _PATIENCE
        while not condition():
            if self.process.poll() is not None or time.monotonic() > end:
                log = self.log.read_text()[-3000:]
                raise WrongError(f"{self.folder.name}: never {what}:\n{log}")
            time.sleep(pause)
        return time.perf_counter()


def measure(
    shelf: Shelf, repeats: dict[Form, int], say: Say, *, sentences: int = 5
) -> list[dict[str, Any]]:
    """Time what an author of a served book waits for.

    Args:
        shelf: A book with a slow page, and the edits `EDITS`.
        repeats: How often a server is started, for each tool.
        say: Told what is being done.
        sentences: How often a sentence is edited under each server.

    Raises:
        WrongError: Pages of ours were wrong, or said to be verified while they were not.
    """
    found: list[dict[str, Any]] = []
    page = _url(shelf.edits["sentence"].cause)

    def note(edit: str, tool: str, wall: float, cpu: float, **more: Any) -> None:
        size = {"chapters": shelf.spec.chapters, "kind": shelf.spec.kind}
        found.append({**size, "edit": edit, "tool": tool, "wall": wall, "cpu": cpu, **more})
        say(f"{shelf.spec.chapters:5} {edit:22} {tool:13} {cpu:7.2f} CPU s {wall:7.2f} s")

    for turn in range(max(repeats.values())):
        for form in (form for form in shelf.forms if turn < repeats.get(form, 0)):
            if not form.runs:
                used = shelf.build(form)
                note("build, with the slow page", form.name, used.wall, used.cpu)
            with Server(shelf, form) as server:
                shown = server.until(partial(server.get, page), "up")
                note("serve, first page", form.name, shown - server.began, server.cpu)
                if form is DRIFTPROOF:
                    verified = server.until(server.rests, "verified", 0.2)
                    note("serve, all verified", form.name, verified - server.began, server.cpu)
                for number in range(1 if form is EXECUTED else sentences):
                    time.sleep(random.Random(f"{turn} {number}").uniform(0.7, 1.3))
                    note("serve, sentence", form.name, *_sentence(server, shelf, form, number))
                if form is DRIFTPROOF:
                    for edit in (
                        shelf.edits["sentence"].undone(),
                        shelf.edits["last block"],
                        shelf.edits["helper"],
                    ):
                        server.until(server.rests, "verified", 0.2)
                        wall, cpu = _agreed(server, shelf, edit)
                        note(f"serve, {edit.name} verified", form.name, wall, cpu)
                    _unrecorded(server, shelf)
    return found


def _sentence(server: Server, shelf: Shelf, form: Form, number: int) -> tuple[float, float]:
    """Edit a sentence; return seconds and CPU seconds until the new page is served."""
    edit = shelf.edits["sentence"]
    new = f"{SENTENCE} This is edit {'abcdefgh'[number]}."
    text = edit.files[edit.cause].replace(SENTENCE, new)
    before, saved = server.cpu, time.perf_counter()
    shelf.put(form, {edit.cause: text})
    shown = server.until(lambda: new in server.get(_url(edit.cause)), "served the sentence")
    return shown - saved, server.cpu - before


def _agreed(server: Server, shelf: Shelf, edit: Edit) -> tuple[float, float]:
    """Save an edit with its record; return seconds and CPU seconds until all of it is verified."""
    before, saved = server.cpu, time.perf_counter()
    shelf.put(DRIFTPROOF, edit.files)
    done = server.until(Watched(server, edit, saved).agree, f"verified after an edit: {edit.name}")
    return done - saved, server.cpu - before


def _unrecorded(server: Server, shelf: Shelf) -> None:
    """Put a module back, but not the record: no page that imports it may pass for verified."""
    edit = shelf.edits["helper"]
    saved = time.perf_counter()
    shelf.put(DRIFTPROOF, {edit.cause: edit.before[edit.cause]})
    pages = [_url(path) for path in edit.shown]
    seen: set[str] = set()

    def drifted() -> bool:
        states = {page: server.state(page) for page in pages}
        seen.update(page for page, state in states.items() if state != "agreed")
        late = time.perf_counter() - saved > _UNSEEN
        for page, state in states.items():
            if state == "agreed" and (late or page in seen):
                raise WrongError(f"{page} passes for verified, and its numbers have drifted")
        return all(state == "problems" for state in states.values())

    server.until(drifted, "reported as drifted")
    _agreed(server, shelf, edit.undone())


class Watched:
    """The pages of an edit, looked at until all are verified with what they have to show."""

    def __init__(self, server: Server, edit: Edit, saved: float) -> None:
        self.server, self.edit, self.saved = server, edit, saved
        self.noticed: set[str] = set()

    def agree(self) -> bool:
        """Whether every page is verified and new.

        Raises:
            WrongError: A page was said to be verified that showed numbers from before.
        """
        done = True
        for path in self.edit.shown:
            state = self.server.state(_url(path))
            if state != "agreed":
                self.noticed.add(path)
                done = False
            elif verify.shown(self.server.get(_url(path)), self.edit, path):
                late = time.perf_counter() - self.saved > _UNSEEN
                if path in self.noticed or late:
                    raise WrongError(f"{path} passes for verified, and shows old numbers")
                done = False
            elif self.server.state(_url(path)) != "agreed":
                done = False  # what it said first was said of the old page
        return done


def _url(path: str) -> str:
    return path.removeprefix("docs").removesuffix(".md").removesuffix("index").rstrip("/") + "/"


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(") ")[2][:1] != "Z"
    except OSError:
        return False
