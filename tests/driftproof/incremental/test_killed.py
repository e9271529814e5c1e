"""Builds that are killed at any moment: nothing of theirs is left, and the next one is right.

`KILLS=50 SEED=7 pytest tests/driftproof/incremental/test_killed.py` kills as many others.
"""

import contextlib
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")


def left(zygote):
    """Return the command lines of the processes that commands have left behind."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_ours = str(zygote.temporary).encode() in (folder / "environ").read_bytes()
            if is_ours and folder.name != str(zygote.pid):
                found.append((folder / "cmdline").read_text().replace("\0", " "))
    return found


@pytest.mark.parametrize("seed", [int(seed) for seed in os.environ.get("SEED", "1").split()])
def test_a_build_after_one_that_was_killed_is_that_from_nothing(book, new_author, zygote, seed):
    author, chance = new_author(seed), random.Random(seed)
    killed = 0
    while killed < int(os.environ.get("KILLS", "3")):
        if chance.random() < 0.3:
            shutil.rmtree(book.root / ".driftproof")
        print(author.edit(), flush=True)
        pid = zygote.start(book.root, "mkdocs", "build", "-q")
        time.sleep(chance.random() ** 2 * 2)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        ended = zygote.end(book.root)
        killed += ended.code == -signal.SIGKILL
        end = time.monotonic() + 10
        while left(zygote) and time.monotonic() < end:
            time.sleep(0.05)
        assert [] == left(zygote)
        if chance.random() < 0.5:
            print(author.edit(), flush=True)
        author.learn(built=book.agrees().code == 0)
