"""Builds after edits drawn at random: each says and makes what a build from nothing does.

`EDITS=300 SEED=7 pytest tests/driftproof/incremental/test_random_edits.py` draws as many others.
"""

import os

import pytest

FLAGS = ("-q", "-q", "-q", "-v", "--strict", "-q --strict")


@pytest.mark.parametrize("seed", [int(seed) for seed in os.environ.get("SEED", "1").split()])
def test_builds_after_random_edits_are_those_from_nothing(book, new_author, seed):
    author = new_author(seed)
    done = []
    for _ in range(int(os.environ.get("EDITS", "8"))):
        done.append(author.edit())
        flags = author.random.choice(FLAGS)
        print(done[-1], flags, flush=True)  # pytest shows it where a build differs
        author.learn(built=book.agrees(*flags.split()).code == 0)
