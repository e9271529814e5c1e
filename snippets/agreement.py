"""Print the record of the agreement ladder: `python snippets/agreement.py`, some minutes.

Each way of training is tried at growing distances with five seeds each, up to the first distance
at which no seed succeeds.
"""

import sys

import numpy as np

from onehop.agreement import accuracy, reader, sentences, train
from onehop.determinism import clean_state

SEEDS = range(5)


# --8<-- [start: solve]
def solve(
    kind: str,
    bias: float | None,
    distances: list[int],
    agree: float,
    seed: int,
    tested: int | None = None,
    steps: int = 400,
) -> tuple[float, int]:
    """Train one reader; return its accuracy where attractors say nothing, and the steps taken."""
    rng = np.random.default_rng(seed)
    model = reader(kind, rng, forget_bias=bias)
    taken = train(model, distances, agree, rng, steps)
    return accuracy(model, sentences(512, tested or distances[-1], 0.5, rng)), taken


# --8<-- [end: solve]


def ladder() -> None:
    print("ladder = {  # for each distance, five seeds: accuracy in percent, steps taken")
    for name, kind, bias in (
        ("RNN", "rnn", None),
        ("LSTM", "lstm", None),
        ("GRU", "gru", None),
        ("LSTM, bias +1", "lstm", 1),
        ("LSTM, bias +2", "lstm", 2),
        ("LSTM, bias +3", "lstm", 3),
        ("attention", "attention", None),
    ):
        print(f'    "{name}": {{')
        for distance in (5, 9, 13, 17, 25, 49, 97):
            runs = [solve(kind, bias, [distance], 0.5, seed) for seed in SEEDS]
            print(f"        {distance}: {row(runs)},", flush=True)
            if all(share < 0.95 for share, _ in runs):
                break
        print("    },")
    print("}")


def stones() -> None:
    print("stones = {  # an RNN: five seeds, accuracy in percent, steps taken")
    for name, distances, agree, tested, steps in (
        ("25, 70% agree", [25], 0.7, 25, 400),
        ("49, 70% agree", [49], 0.7, 49, 400),
        ("1, 5, ..., 25", [1, 5, 9, 13, 17, 21, 25], 0.5, 25, 400),
        ("1, 5, ..., 25, tested at 49", [1, 5, 9, 13, 17, 21, 25], 0.5, 49, 400),
        ("5, ..., 25", [5, 9, 13, 17, 21, 25], 0.5, 25, 400),
        ("9, ten times the steps", [9], 0.5, 9, 4000),
        ("13, ten times the steps", [13], 0.5, 13, 4000),
    ):
        runs = [solve("rnn", None, distances, agree, seed, tested, steps) for seed in SEEDS]
        print(f'    "{name}": {row(runs)},', flush=True)
    print("}")


def row(runs: list[tuple[float, int]]) -> str:
    return str([(round(100 * share), taken) for share, taken in runs])


if __name__ == "__main__":
    clean_state()
    {"ladder": ladder, "stones": stones}[sys.argv[1]]()
