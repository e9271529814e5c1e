import math

import numpy as np
import pytest
import torch

from onehop.latch import LatchNetwork, latch_batch


def generator() -> np.random.Generator:
    return np.random.default_rng(0)


def identity(scale: float, width: int = 8) -> torch.Tensor:
    return scale * torch.eye(width, dtype=torch.float64)


def test_only_the_first_input_is_not_zero_and_its_sign_is_the_label():
    inputs, labels = latch_batch(50, 7, generator())
    assert (50, 7, 1) == inputs.shape
    assert {-1.0, 1.0} == set(inputs[:, 0, 0].tolist())
    assert [1.0 if label else -1.0 for label in labels] == inputs[:, 0, 0].tolist()
    assert 0 == inputs[:, 1:].count_nonzero()


@pytest.mark.parametrize("steps", [1, 20])
def test_with_a_multiple_of_the_identity_the_last_state_is_a_power_times_the_first(steps: int):
    network = LatchNetwork(identity(1.02), "relu", generator())
    inputs, _ = latch_batch(5, steps, generator())
    W_x = dict(network.named_parameters())["rnn.weight_ih_l0"]
    first = torch.relu(inputs[:, 0] @ W_x.T)
    torch.testing.assert_close(1.02 ** (steps - 1) * first, network.last_state(inputs))


def test_biases_start_at_zero_and_the_rest_in_torchs_range():
    network = LatchNetwork(identity(1.0, 16), "tanh", generator())
    for name, parameter in network.named_parameters():
        if "bias" in name:
            assert 0 == parameter.count_nonzero(), name
        elif "weight_hh" not in name:
            assert 0 < parameter.abs().max() <= 1 / math.sqrt(16), name


def test_the_network_has_the_type_of_its_recurrent_matrix():
    inputs, _ = latch_batch(2, 3, generator())
    assert torch.float64 == LatchNetwork(identity(1.0), "relu", generator())(inputs).dtype
    assert torch.float32 == LatchNetwork(identity(1.0).float(), "relu", generator())(inputs).dtype


def test_a_matrix_that_is_not_square_and_another_nonlinearity_are_refused():
    with pytest.raises(ValueError, match="expected the shape \\(width, width\\), got \\(2, 3\\)"):
        LatchNetwork(torch.zeros(2, 3), "relu", generator())
    with pytest.raises(ValueError, match="expected relu or tanh, got 'sine'"):
        LatchNetwork(torch.eye(2), "sine", generator())
