import copy
import math
from itertools import islice

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from onehop.clipping import gradient_length
from onehop.training import training_steps


def model() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 2).double()


def batches():
    rng = np.random.default_rng(0)

    def draw():
        inputs = torch.from_numpy(rng.standard_normal((8, 3)))
        return inputs, (inputs[:, 0] > 0).long()

    return draw


@pytest.mark.parametrize("clip", [None, 0.1])
def test_the_loop_takes_the_steps_that_torch_takes(clip: float | None):
    trained, by_hand = model(), model()
    optimizer = torch.optim.Adam(by_hand.parameters(), lr=0.1)
    draw, losses = batches(), []
    for _ in range(4):
        inputs, labels = draw()
        loss = F.cross_entropy(by_hand(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(by_hand.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
    adam = torch.optim.Adam(trained.parameters(), lr=0.1)
    seen = list(islice(training_steps(trained, adam, batches(), clip), 4))
    assert losses == pytest.approx([step.loss for step in seen], rel=1e-5)
    torch.testing.assert_close(by_hand.weight, trained.weight, rtol=1e-5, atol=0)


def test_a_step_of_plain_descent_is_the_rate_times_the_clipped_gradient():
    trained = model()
    before = copy.deepcopy(trained)
    sgd = torch.optim.SGD(trained.parameters(), lr=0.5)
    step = next(training_steps(trained, sgd, batches(), clip=0.01))
    moved = [a - b for a, b in zip(trained.parameters(), before.parameters(), strict=True)]
    assert step.gradient > 0.01
    assert 0.5 * 0.01 == pytest.approx(gradient_length(moved), rel=1e-9)


def test_accuracy_and_loss_are_those_before_the_update():
    trained = model()
    inputs, labels = batches()()
    scores = model()(inputs)
    step = next(
        training_steps(
            trained, torch.optim.SGD(trained.parameters(), lr=9.0), lambda: (inputs, labels)
        )
    )
    assert F.cross_entropy(scores, labels).item() == pytest.approx(step.loss)
    assert (scores.argmax(dim=1) == labels).double().mean().item() == step.accuracy


def test_a_gradient_of_nan_stops_a_clipped_training_and_passes_an_unclipped_one():
    broken = [
        (torch.full((2, 3), math.nan, dtype=torch.float64), torch.tensor([0, 1])) for _ in range(2)
    ]
    trained = model()
    sgd = torch.optim.SGD(trained.parameters(), lr=0.1)
    assert math.isnan(next(training_steps(trained, sgd, lambda: broken[0])).gradient)
    with pytest.raises(FloatingPointError, match="finite length, got nan"):
        next(training_steps(trained, sgd, lambda: broken[1], clip=1.0))
