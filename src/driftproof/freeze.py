"""The page's side of checkpoints: a forked copy of its process that can go on from here.

A copy is made only where it cannot be told from the process itself: one thread, no child, no timer,
no file open but for reading, no memory shared with another process, no file left in its folder, no
clock of the process read. Where there is no /proc there is no copy.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import random
import re
import signal
import socket
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from driftproof import family

_getstate, _setstate = random.getstate, random.setstate
_decoder: Any = json.JSONDecoder()
_decode = _decoder.scan_once
"""Bound before a page may put others in their place."""

_CLOCKS = re.compile(r"process_time|thread_time|getrusage|os\.times|clock_gettime")
"""What counts from the beginning of a process, and so would begin anew in a copy."""


@dataclass(frozen=True)
class Resumed:
    """What a copy is asked to do: run these steps, all of the page's, and these expressions."""

    steps: tuple[dict[str, Any], ...]
    expressions: tuple[str, ...]


@dataclass(frozen=True)
class Frozen:
    """A copy that waits, of which the build has been told."""

    _gate: socket.socket
    _parent: int

    def let_go(self) -> None:
        """Leave the copy to the fork server, once the build knows of it."""
        self._gate.close()
        os.waitpid(self._parent, 0)


class Freezer:
    """Makes copies of this process.

    Args:
        folder: The page's, as yet with nothing of its own in it.
        pipes: The descriptors of its pipes to the build: for messages, output and errors.
        after: Seconds from now in which no copy is made: running is as quick as copying.
    """

    def __init__(self, folder: str, pipes: Sequence[int], after: float) -> None:
        self.folder, self.pipes = folder, pipes
        self._begins = time.monotonic() + after
        self._descriptors, self._cwd = _descriptors(), os.getcwd()
        self._given = inventory(folder)
        self._positions: dict[int, int] = {}
        self._clocked = False

    def freeze(self, code: str) -> Frozen | Resumed | None:
        """Copy the process after a block, and hand the build the socket on which the copy waits.

        Returns:
            The copy, or None where none can be made; and in a process that a copy has sent on its
            way later on, what to do there.
        """
        self._clocked |= bool(_CLOCKS.search(code))
        try:
            if self._clocked or time.monotonic() < self._begins or not self._is_plain():
                return None
            end, waiting = socket.socketpair()
            gate, keeper = socket.socketpair()
            state = _getstate()
            parent = os.fork()
        except Exception:  # a page may have changed what is used here
            return None
        if parent:
            waiting.close()
            keeper.close()
            copy = Frozen(gate, parent)
            told = self._tell(gate.recv(20), end)
            end.close()
            return copy if told else copy.let_go()
        try:
            end.close()
            gate.close()
            if copy := os.fork():  # not the page's child: it may wait for its children
                os.setpgid(copy, copy)  # and not ended with its group
                keeper.send(b"%d" % copy)
                keeper.recv(1)
                os._exit(0)
            keeper.close()
            resumed = self._wait(waiting)
            _setstate(state)  # `random` seeds itself in every fork
        except BaseException:
            os._exit(1)
        return resumed

    def _tell(self, pid: bytes, end: socket.socket) -> bool:
        """Tell the build of a copy; return whether there is one."""
        if pid:
            with socket.socket(fileno=os.dup(self.pipes[0])) as control:
                socket.send_fds(control, [b'["kept", %s]\n' % pid], [end.fileno()])
        return bool(pid)

    def _wait(self, waiting: socket.socket) -> Resumed:
        """Send a copy of this process on its way as often as asked; end when nobody can ask."""
        nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._connect((nowhere, nowhere, nowhere))
        os.close(nowhere)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            message, ends = bytearray(), []
            while not message.endswith(b"\n"):
                part, more, _, _ = socket.recv_fds(waiting, 65536, 3)
                ends += more
                if not part:
                    os._exit(0)
                message += part
            if os.fork() == 0:
                family.end_with_parent()
                os.setsid()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                waiting.close()
                self._connect(ends)
                self._reopen()
                for end in ends:
                    os.close(end)
                importlib.invalidate_caches()
                steps, expressions = _decode(message.decode(), 0)[0]
                return Resumed(tuple(steps), tuple(expressions))
            for end in ends:
                os.close(end)

    def _connect(self, ends: Sequence[int]) -> None:
        """Have the pipes to the build lead elsewhere, under their numbers."""
        for end, pipe in zip(ends, self.pipes, strict=True):
            os.dup2(end, pipe, inheritable=False)
        os.dup2(ends[1], 1)
        os.dup2(ends[2], 2)

    def _is_plain(self) -> bool:
        timers = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
        tasks = os.listdir("/proc/self/task")
        return (
            len(tasks) == 1
            and not _read(f"/proc/self/task/{tasks[0]}/children")
            and signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL
            and not any(any(signal.getitimer(timer)) for timer in timers)
            and self._reads_only()
            and os.getcwd() == self._cwd
            and self._leaves_folders_only()
            and not re.search(r"(?m)^\S+ .w.s", _read("/proc/self/maps"))
        )

    def _reads_only(self) -> bool:
        """Whether nothing but files for reading has been opened and is still open; note these."""
        here = _descriptors()
        opened = {int(number): path for number, path in (here.items() - self._descriptors.items())}
        self._positions = {}
        for number in opened:
            reads = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
            if not reads or not stat.S_ISREG(os.fstat(number).st_mode):
                return False
            self._positions[number] = os.lseek(number, 0, os.SEEK_CUR)
        return self._descriptors.items() <= here.items() and not _share_positions(opened)

    def _reopen(self) -> None:
        """Open the same files for this process alone, at the same positions."""
        for number, position in self._positions.items():
            flags = fcntl.fcntl(number, fcntl.F_GETFL)
            again = os.open(f"/proc/self/fd/{number}", flags | os.O_CLOEXEC)
            os.lseek(again, position, os.SEEK_SET)
            os.dup2(again, number, os.get_inheritable(number))
            os.close(again)

    def _leaves_folders_only(self) -> bool:
        """Whether the page's folder is as it was, but for folders, which can be made again."""
        here = inventory(self.folder)
        return self._given <= here and all(
            stat.S_ISDIR(mode) for _, mode, _, _ in here - self._given
        )


def inventory(folder: str) -> set[tuple[str, int, int, str]]:
    """Return what lies in a folder: paths, kinds, numbers, and where links lead."""
    found, folders = set(), [folder]
    while folders:
        for entry in os.scandir(folders.pop()):
            status = entry.stat(follow_symlinks=False)
            leads = os.readlink(entry.path) if entry.is_symlink() else ""
            found.add((entry.path, status.st_mode, status.st_ino, leads))
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
    return found


def _descriptors() -> dict[str, str]:
    """Return the open descriptors and what they lead to."""
    found = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            found[number] = os.readlink(f"/proc/self/fd/{number}")
        except OSError:  # the one by which the folder was read
            continue
    return found


def _share_positions(opened: dict[int, str]) -> bool:
    """Whether two of these descriptors are one file that has been opened once."""
    numbers = sorted(opened)
    for i, number in enumerate(numbers):
        others = [other for other in numbers[i + 1 :] if opened[other] == opened[number]]
        before = [os.lseek(other, 0, os.SEEK_CUR) for other in others]
        position = os.lseek(number, 0, os.SEEK_CUR)
        os.lseek(number, position + 1, os.SEEK_SET)
        after = [os.lseek(other, 0, os.SEEK_CUR) for other in others]
        os.lseek(number, position, os.SEEK_SET)
        if before != after:
            return True
    return False


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
