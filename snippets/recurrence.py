"""Sweeps of "Recurrence returns": a loop against two scans, and agreement learned by SSM layers.

`python snippets/recurrence.py > snippets/recurrence_record.py` records them; it takes two minutes.
"""

import datetime
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from onehop import scan
from onehop.agreement import Reader, accuracy, sentences, train
from onehop.initialisation import uniform_
from onehop.state_space import DiagonalSSM, SelectiveSSM
from onehop.timing import seconds_per_call
from passes import PASSES, recorded


# --8<-- [start: race]
def loop_over(recurrence: scan.Scan, width: int, steps: int = 4096) -> float:
    """Time of the loop over that of a scan, for one sequence of `width` numbers a step."""
    b = torch.randn(1, steps, width)
    a = 1 - torch.rand_like(b) / 1000  # the product of all factors does not underflow
    of_loop, of_scan = (
        seconds_per_call(lambda f=f: f(a, b), torch.device("cpu"), rounds=3, warmup=1)
        for f in (scan.loop, recurrence)
    )
    return of_loop / of_scan


# --8<-- [end: race]
# --8<-- [start: solve]
def solve(
    layer: nn.Module, distances: list[int], rng: np.random.Generator
) -> tuple[Reader, dict[int, float]]:
    """A trained reader with this layer, and its accuracy at several distances."""
    model = Reader(layer, 32, rng)
    train(model, distances, agree=0.5, rng=rng)
    tested = {*distances, 45, 49, 53}
    return model, {d: accuracy(model, sentences(512, d, 0.5, rng)) for d in sorted(tested)}


# --8<-- [end: solve]
# --8<-- [start: window]
class Windowed(nn.Module):
    """A look at four words at a time, each feature by itself, before the words reach a layer."""

    def __init__(self, layer: nn.Module, width: int, rng: np.random.Generator) -> None:
        super().__init__()
        self.window, self.layer = nn.Conv1d(width, width, 4, groups=width), layer
        uniform_(self.window, 4, rng)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        past = F.pad(inputs.mT, (3, 0))
        return self.layer(F.silu(self.window(past)).mT)


# --8<-- [end: window]
SEEDS = range(5)
WIDTHS = [1, 4, 16, 64, 256, 1024, 4096]
MIXED = list(range(1, 26, 4))

Make = Callable[[np.random.Generator], nn.Module]
Runs = list[dict[int, float]]


def diagonal(rng: np.random.Generator) -> nn.Module:
    return DiagonalSSM(32, 16, rng)


def selective(rng: np.random.Generator) -> nn.Module:
    return SelectiveSSM(32, 4, rng)


def lstm(rng: np.random.Generator) -> nn.Module:
    layer = nn.LSTM(32, 32, batch_first=True)
    uniform_(layer, 32, rng)
    return layer


def windowed(make: Make) -> Make:
    return lambda rng: Windowed(make(rng), 32, rng)


def five_seeds(make: Make, distances: list[int]) -> Runs:
    generators = [np.random.default_rng(seed) for seed in SEEDS]
    return [solve(make(rng), distances, rng)[1] for rng in generators]


def percent(runs: Runs, distance: int) -> str:
    return str([round(100 * run[distance]) for run in runs])


def record_race() -> None:
    print("# Time of the loop over that of each scan, 4,096 steps of one sequence on one core of")
    print(f"# an AMD EPYC, torch {torch.__version__}, {datetime.date.today().isoformat()}:")
    print(f"# the median of {PASSES} passes, then their least and greatest.")
    print(f"widths = {WIDTHS}")
    # A pass runs over all widths, so that what disturbs one pass disturbs one value of each.
    passes = {
        recurrence.__name__: [[loop_over(recurrence, w) for w in WIDTHS] for _ in range(PASSES)]
        for recurrence in (scan.blelloch, scan.hillis_steele)
    }
    columns = {name: list(zip(*rows, strict=True)) for name, rows in passes.items()}
    print(recorded("loop_over_scan", columns))


def record_agreement() -> None:
    print("# Accuracy in percent on 512 new sentences, five seeds, at most 400 batches of 64.")
    print("one_distance = {  # trained and tested at one distance")
    print(f'    ("LSTM", 17): {percent(five_seeds(lstm, [17]), 17)},')
    for distance in (17, 25, 49, 97):
        runs = five_seeds(diagonal, [distance])
        print(f'    ("diagonal SSM", {distance}): {percent(runs, distance)},')
        if distance == 49:
            elsewhere = {other: percent(runs, other) for other in (45, 53)}
    print("}")
    print("trained_at_49 = {  # the diagonal SSM, tested elsewhere")
    for other, shares in elsewhere.items():
        print(f"    {other}: {shares},")
    print("}")
    print("mixed = {  # trained at distances 1, 5, ..., 25; tested at 25 and, unseen, at 49")
    for name, make in (
        ("diagonal SSM", diagonal),
        ("selective SSM", selective),
        ("window, diagonal SSM", windowed(diagonal)),
        ("window, selective SSM", windowed(selective)),
    ):
        runs = five_seeds(make, MIXED)
        print(f'    "{name}": {{25: {percent(runs, 25)}, 49: {percent(runs, 49)}}},')
    print("}")


def main() -> None:
    torch.set_num_threads(1)
    for name, record in (("race", record_race), ("agreement", record_agreement)):
        print(f"# --8<-- [start: {name}]")
        record()
        print(f"# --8<-- [end: {name}]")


if __name__ == "__main__":
    main()
