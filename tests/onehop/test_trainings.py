from itertools import count, islice

import numpy as np
import pytest
import torch
from torch import nn

from onehop.training import training_steps
from onehop.trainings import FIRST, begun, watch


def train(
    seed: int,
    updates: int,
    rate: float = 0.1,
    clip: float | None = None,
    turned_from: int = 99,
) -> None:
    """A short training; from batch `turned_from` on the labels are the other ones."""
    rng, batches = np.random.default_rng(seed), count()
    model = nn.Linear(3, 2).double()
    with torch.no_grad():
        model.weight.copy_(torch.from_numpy(rng.standard_normal((2, 3))))
        model.bias.zero_()

    def draw() -> tuple[torch.Tensor, torch.Tensor]:
        labels = torch.from_numpy(rng.integers(2, size=4))
        turned = next(batches) >= turned_from
        return torch.from_numpy(rng.standard_normal((4, 3))), 1 - labels if turned else labels

    optimizer = torch.optim.SGD(model.parameters(), rate)
    list(islice(training_steps(model, optimizer, draw, clip), updates))


@pytest.fixture(autouse=True)
def watched() -> None:
    watch()


def test_a_training_made_twice_is_noted_twice_with_one_fingerprint():
    train(seed=0, updates=5)
    train(seed=0, updates=FIRST)
    (first, longer), (second, shorter) = begun()
    assert first == second
    assert (5, FIRST) == (longer, shorter)


@pytest.mark.parametrize("other", [{"seed": 1}, {"rate": 0.2}, {"clip": 0.01}], ids=str)
def test_another_seed_rate_or_clipping_is_another_training(other):
    train(seed=0, updates=1)
    train(**{"seed": 0, "updates": 1, **other})
    (first, _), (second, _) = begun()
    assert first != second


def test_trainings_that_part_at_the_second_batch_are_two():
    train(seed=0, updates=FIRST)
    train(seed=0, updates=FIRST, turned_from=1)
    assert 2 == len({fingerprint for fingerprint, _ in begun()})


def test_an_optimizer_of_ones_own_loop_is_seen_too():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(4):
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    assert [4] == [updates for _, updates in begun()]


def test_watching_again_forgets():
    train(seed=0, updates=1)
    watch()
    assert [] == begun()
    train(seed=0, updates=1)
    assert 1 == len(begun())
