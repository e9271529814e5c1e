"""One frozen copy of a page's process, as the build holds it, and the folder it works in."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import stat
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from driftproof import family, runner
from driftproof.config import Config
from driftproof.freeze import inventory
from driftproof.place import furnish
from driftproof.runs import Run
from driftproof.worker import Step

PATIENCE = 5.0
"""Seconds for a copy to take what is asked of it."""


class Folder:
    """The folder of a page's process and its copies, put in order before one goes on."""

    def __init__(self, config: Config) -> None:
        self._made = tempfile.TemporaryDirectory(prefix="driftproof-", ignore_cleanup_errors=True)
        self.name = self._made.name
        furnish(self.name, str(config.root), (config.docs, config.snippets, config.source))
        self._given = inventory(self.name)

    def left(self) -> dict[str, int]:
        """Return what the page has left in it, by path, with its mode."""
        return {path: mode for path, mode, *_ in inventory(self.name) - self._given}

    def restore(self, folders: dict[str, int]) -> bool:
        """Have no more left in it than these folders; return whether that could be done."""
        for path, mode in self.left().items():
            if folders.get(path) != mode:
                shutil.rmtree(path, ignore_errors=True)
                with suppress(OSError):
                    os.unlink(path)
        for path, mode in sorted(folders.items()):
            with suppress(OSError):
                os.mkdir(path)
                os.chmod(path, stat.S_IMODE(mode))
        return self.left() == folders and self._given <= inventory(self.name)

    def close(self) -> None:
        """Remove it."""
        self._made.cleanup()


@dataclass(eq=False)
class Copy:
    """A frozen copy of a page's process.

    Attributes:
        state: What else it depends on: settings and environment.
        steps: What it has run.
        run: What came of that.
        left: Folders that the page had made in its own.
        used: When it was last of use, in the order of all such events.
        bytes: Its share of memory when that was last measured.
    """

    path: str
    state: tuple[Any, ...]
    steps: tuple[Step, ...]
    run: Run
    pid: int
    end: socket.socket
    folder: Folder
    left: dict[str, int]
    used: int
    bytes: int = 0

    @property
    def seconds(self) -> float:
        """CPU seconds of the blocks that it has run."""
        return sum(self.run.seconds.values())

    def is_of(self, steps: tuple[Step, ...]) -> bool:
        """Whether it has run the first of these steps, wherever they stand on the page."""
        return _codes(self.steps) == _codes(steps[: len(self.steps)])

    def has_moved(self, steps: tuple[Step, ...]) -> bool:
        """Whether a step that it has run now stands on other lines, which its frames would name."""
        return any(old.first != new.first for old, new in zip(self.steps, steps, strict=False))

    def ask(
        self, steps: tuple[Step, ...], expressions: list[str]
    ) -> tuple[socket.socket, int, int] | None:
        """Ask a copy to go on; return the pipes to what does, None where it does not answer."""
        text = json.dumps([[asdict(step) for step in steps], expressions]).encode() + b"\n"
        control, theirs = socket.socketpair()
        (out, out_w), (err, err_w) = os.pipe(), os.pipe()
        try:
            sent = socket.send_fds(self.end, [text], [theirs.fileno(), out_w, err_w])
            self.end.sendall(text[sent:])
        except OSError:
            control.close()
            os.close(out)
            os.close(err)
            return None
        finally:
            theirs.close()
            os.close(out_w)
            os.close(err_w)
        return control, out, err

    def end_what_resumed(self) -> None:
        """End what it has sent on its way; it goes on waiting."""
        with runner.lock:
            family.end_what_resumed(self.pid)

    def measure(self) -> None:
        """Measure its share of memory: all of its own, its part of what it shares."""
        try:
            text = Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        except OSError:
            text = ""
        sizes = re.findall(r"^Pss_Anon: +(\d+) kB", text, re.MULTILINE)
        self.bytes = sum(map(int, sizes)) * 1024

    def run_of(self, steps: tuple[Step, ...]) -> Run:
        """Return its run, to go on from, with the numbers that its blocks have among these."""
        new = {old.number: step.number for old, step in zip(self.steps, steps, strict=False)}
        run = self.run.copy()
        return replace(
            run,
            outputs={new[n]: text for n, text in run.outputs.items()},
            figures={new[n]: figure for n, figure in run.figures.items()},
            seconds={new[n]: seconds for n, seconds in run.seconds.items()},
        )


def _codes(steps: tuple[Step, ...]) -> list[tuple[str, str, str]]:
    """Return what of the steps a run depends on: not where they stand."""
    return [(step.code, step.file, step.raises) for step in steps]
