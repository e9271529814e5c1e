"""Print the record of the agreement ladder: `python snippets/agreement.py`, some minutes.

Each way of training is tried at growing distances with five seeds each, up to the first distance
at which no seed succeeds.
"""

import sys
from collections import deque
from itertools import islice

import numpy as np
import torch

from onehop.agreement import accuracy, answers, reader, sentences, train
from onehop.determinism import clean_state
from onehop.gradients import gradient_profile
from onehop.training import training_steps

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
        ("LSTM+1", "lstm", 1),
        ("LSTM+2", "lstm", 2),
        ("LSTM+3", "lstm", 3),
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
        ("25, 30% agree", [25], 0.3, 25, 400),
        ("1, 5, ..., 25", [1, 5, 9, 13, 17, 21, 25], 0.5, 25, 400),
        ("1, 5, ..., 25, tested at 49", [1, 5, 9, 13, 17, 21, 25], 0.5, 49, 400),
        ("5, ..., 25", [5, 9, 13, 17, 21, 25], 0.5, 25, 400),
        ("9, ten times the steps", [9], 0.5, 9, 4000),
        ("13, ten times the steps", [13], 0.5, 13, 4000),
    ):
        runs = [solve("rnn", None, distances, agree, seed, tested, steps) for seed in SEEDS]
        print(f'    "{name}": {row(runs)},', flush=True)
    print("}")


# --8<-- [start: curve]
def curve(kind: str, seed: int, distance: int, steps: int) -> list[tuple[int, float, float, float]]:
    """Train where attractors agree in 70% of cases, and look at the reader every ten steps.

    Returns the step, the accuracy on such sentences, the accuracy on those of them whose nearest
    noun misleads, and how often the guess is the nearest noun's number.
    """
    rng = np.random.default_rng(seed)
    model = reader(kind, rng)
    test = sentences(1024, distance, 0.7, rng)
    conflict = test.nearest != test.plural

    training = training_steps(
        model,
        torch.optim.Adam(model.parameters(), lr=3e-3),
        lambda: sentences(64, distance, 0.7, rng)[:2],  # tokens, and the subject's number
        clip=1.0,
    )
    seen = []
    for step in range(0, steps + 1, 10):
        guess = answers(model, test.tokens)
        right = (guess == test.plural).double()
        nearest = (guess == test.nearest).double()
        seen.append(
            (step, right.mean().item(), right[conflict].mean().item(), nearest.mean().item())
        )
        deque(islice(training, 10), maxlen=0)
    return seen


# --8<-- [end: curve]


def curves() -> None:
    conflict, lowest, learnt = {}, {}, {}
    for name in ("RNN", "LSTM", "GRU", "attention"):
        shares = [[look[2] for look in curve(name.lower(), seed, 25, 300)] for seed in SEEDS]
        conflict[name] = [[round(100 * share) for share in run] for run in shares]
        lowest[name] = [min(run) for run in conflict[name]]
        learnt[name] = [max(10 * i for i in range(31) if run[i] < 0.95) + 10 for run in shares]
    print("conflict = [  # an RNN, five seeds: percent right where the nearest noun misleads")
    for run in conflict["RNN"]:
        print(f"    {run[:21]},  # every ten steps, 0 to 200")
    print("]")
    print(f"lowest = {lowest}\nlearnt = {learnt}")


def gradients() -> None:
    print("subject = [  # start, largest, at the end; accuracy in percent at the end")
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        model = reader("rnn", rng)
        test = sentences(512, 25, 0.5, rng)
        training = training_steps(
            model,
            torch.optim.Adam(model.parameters(), lr=3e-3),
            lambda rng=rng: sentences(64, 25, 0.7, rng)[:2],
            clip=1.0,
        )
        seen = []
        for _ in range(31):
            profile = gradient_profile(model.layer, model.embedding(test.tokens[:32]))
            seen.append(float(profile[25] / profile[0]))
            right = accuracy(model, test)
            deque(islice(training, 10), maxlen=0)
        print(
            f"    ({seen[0]:.0e}, {max(seen):.0e}, {seen[-1]:.0e}, {round(100 * right)}),"
            f"  # largest at step {10 * seen.index(max(seen))}",
            flush=True,
        )
    print("]")


def row(runs: list[tuple[float, int]]) -> str:
    return str([(round(100 * share), taken) for share, taken in runs])


if __name__ == "__main__":
    clean_state()
    {"ladder": ladder, "stones": stones, "curves": curves, "gradients": gradients}[sys.argv[1]]()
