"""The processes that a page starts: found and ended, so that none outlives its page.

Works on Linux, by /proc and prctl; elsewhere a page's process group is all that is ended.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Container
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

_ROUNDS = 200
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_server: Any = forkserver._forkserver
"""What multiprocessing knows of the fork server, in the build and in the pages."""

alive: set[int] = set()
"""The pages that run and their frozen copies: children of the fork server that are no orphans."""


def children(pid: int) -> list[int]:
    """Return the living children of a process."""
    found = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(child) for child in thread.read_text().split()]
    return [child for child in found if _state(child) not in ("", "Z")]


def end_children(pid: int, spare: Container[int] = ()) -> None:
    """Kill the children of a process, those that it adopts meanwhile too, except some."""
    for _ in range(_ROUNDS):
        found = [child for child in children(pid) if child not in spare]
        if not found:
            return
        for child in found:
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.001)


def end_orphans() -> None:
    """Kill what ended pages have left to the fork server; what is `alive` stays."""
    if _server._forkserver_pid is not None:
        end_children(_server._forkserver_pid, alive)


def end_what_resumed(pid: int) -> None:
    """Kill what a frozen copy of a page has sent on its way; the copy goes on waiting.

    Its number came from the page: it is believed if the fork server is its parent.
    """
    if _server._forkserver_pid is not None and pid in children(_server._forkserver_pid):
        end_children(pid)
    end_orphans()


def adopt_orphans() -> None:
    """Make this process the parent of descendants that lose theirs."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_server() -> None:
    """Have this process end when the fork server does, which ends with the build."""
    if _server._forkserver_alive_fd is not None:  # each page holds it, and so the server, open
        os.close(_server._forkserver_alive_fd)
    end_with_parent()


def end_with_parent() -> None:
    """Have this process end when its parent does."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _state(pid: int) -> str:
    """Return the letter of a process's state, "" if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return ""


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)
