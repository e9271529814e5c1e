"""What a command costs, every process that it starts included.

A small process runs the command and adopts what the command leaves behind, such as a fork server:
its own account of ended children then holds the time of the whole tree. Memory is sampled, which
slows the command down, so that its times are not to be used then.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_SAMPLE = 0.05
_PATIENCE = 20.0
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """What a command used.

    Attributes:
        status: Its exit status.
        cpu: CPU seconds, user and system, of all its processes.
        wall: Seconds until the command itself had ended.
        rss: Most memory that its largest process held, in bytes.
        pss: Most memory that all of them held at one time, in bytes; 0 where it was not sampled.
        output: What it wrote.
    """

    status: int
    cpu: float
    wall: float
    rss: int
    pss: int
    output: str


def run(
    command: list[str], folder: Path, variables: dict[str, str], *, sampled: bool = False
) -> Usage:
    """Run a command in a folder, with these variables besides those of this process."""
    with tempfile.TemporaryDirectory() as aside:
        report, log = Path(aside, "usage.json"), Path(aside, "log")
        runner = [sys.executable, "-S", "-E", __file__, str(report), str(int(sampled)), *command]
        with log.open("w") as output:
            process = subprocess.Popen(
                runner,
                cwd=folder,
                env=os.environ | variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                failed = process.wait()
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)  # the command, too
                raise
        if failed:
            raise RuntimeError(log.read_text(errors="replace"))
        return Usage(**json.loads(report.read_text()), output=log.read_text(errors="replace"))


def processes(root: int) -> list[int]:
    """Return a process and all that descend from it and live."""
    found = [root]
    for pid in found:
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                found += [int(child) for child in children.read_text().split()]
            except OSError:
                continue  # it has ended meanwhile
    return found


def seconds(root: int) -> float:
    """Return the CPU seconds so far of a running process and of all that it started."""
    total = 0
    for pid in processes(root):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))  # own and waited-for children, user and system
    return total / _TICK


def proportional(root: int) -> int:
    """Return the bytes that a process and all that it started hold, shared ones counted once."""
    total = 0
    for pid in processes(root):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return 1024 * total


def adopt() -> None:
    """Make this process the parent of descendants that lose theirs."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1):
        raise OSError(ctypes.get_errno(), "cannot adopt processes; this needs Linux")


def _measure(report: Path, sampled: bool, command: list[str]) -> None:
    adopt()
    start = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ)
    peak, ended = [0], threading.Event()

    def sample() -> None:
        while not ended.wait(_SAMPLE):
            peak[0] = max(peak[0], proportional(pid))

    sampler = threading.Thread(target=sample)
    if sampled:
        sampler.start()
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    ended.set()
    cpu, rss = used.ru_utime + used.ru_stime, used.ru_maxrss
    end = time.monotonic() + _PATIENCE
    while left := processes(os.getpid())[1:]:  # what the command left behind is about to end
        pid, _, used = os.wait3(os.WNOHANG)
        if pid:
            cpu += used.ru_utime + used.ru_stime
            rss = max(rss, used.ru_maxrss)
        elif time.monotonic() > end:
            for stray in left:
                os.kill(stray, signal.SIGKILL)
            raise SystemExit(f"{' '.join(command)} left processes behind: {left}")
        else:
            time.sleep(0.005)
    if sampled:
        sampler.join()
    found = {
        "status": os.waitstatus_to_exitcode(status),
        "cpu": cpu,
        "wall": wall,
        "rss": 1024 * rss,
        "pss": peak[0],
    }
    report.write_text(json.dumps(found))


if __name__ == "__main__":
    _measure(Path(sys.argv[1]), sys.argv[2] == "1", sys.argv[3:])
