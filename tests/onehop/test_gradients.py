from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from onehop.attention import MultiHeadSelfAttention
from onehop.gradients import (
    gradient_profile,
    jacobian_product,
    per_step_multiplier,
    predicted_multiplier,
)
from onehop.initialisation import orthogonal_, scale_spectral_radius, uniform_

WIDTH, STEPS, BATCH, SEEDS = 32, 60, 64, range(8)


def drawn(layer_type: Callable[..., nn.Module], seed: int) -> tuple[nn.Module, torch.Tensor]:
    """A layer and a batch in float64, all numbers from numpy's generator."""
    rng = np.random.default_rng(seed)
    layer = layer_type(WIDTH, WIDTH, batch_first=True).double()
    uniform_(layer, WIDTH, rng)
    return layer, torch.from_numpy(rng.standard_normal((BATCH, STEPS, WIDTH)))


def decaying(inputs: torch.Tensor, factor: float = 0.9) -> torch.Tensor:
    """The linear recurrence h' = factor h + x: its gradient at lag k is factor**k exactly."""
    h, outputs = torch.zeros_like(inputs[:, 0]), []
    for x in inputs.unbind(1):
        h = factor * h + x
        outputs.append(h)
    return torch.stack(outputs, 1)


# The profile


def test_the_profile_of_a_linear_recurrence_is_a_power():
    profile = gradient_profile(decaying, torch.randn(3, 20, 1, dtype=torch.float64))
    torch.testing.assert_close(profile, 0.9 ** torch.arange(20, dtype=torch.float64))


def test_sixty_steps_of_three_default_layers():
    torch.manual_seed(0)
    inputs = torch.randn(1, 60, 32)
    layers = [layer_type(32, 32, batch_first=True) for layer_type in (nn.RNN, nn.LSTM, nn.GRU)]
    table = torch.stack([gradient_profile(layer, inputs)[[0, 49, 50]] for layer in layers])
    expected = [
        [2.084e00, 5.540e-19, 2.477e-19],
        [6.649e-01, 7.073e-12, 5.431e-12],
        [1.309e00, 6.198e-11, 7.950e-11],
    ]
    # Half a unit of the last digit, and the spread of float32 over processors.
    np.testing.assert_allclose(table, expected, rtol=1e-3)


def test_element_minus_fifty_is_lag_forty_nine():
    layer, inputs = drawn(nn.GRU, seed=0)
    by_step = (
        torch.autograd.grad(layer(inputs.requires_grad_())[0][:, -1].sum(), inputs)[0]
        .norm(dim=2)
        .mean(dim=0)
    )
    profile = gradient_profile(layer, inputs)
    torch.testing.assert_close(profile[49], by_step[-50])
    torch.testing.assert_close(profile[0], by_step[-1])
    assert profile[50] != by_step[-50]


def test_the_batch_is_averaged():
    scales = torch.tensor([1.0, 3.0])[:, None, None]
    assert 2.0 == gradient_profile(lambda x: scales * x, torch.randn(2, 4, 1))[0].item()


def test_the_features_make_a_length():
    slopes = torch.tensor([3.0, 4.0])
    assert 5.0 == gradient_profile(lambda x: slopes * x, torch.randn(1, 4, 2))[0].item()


def test_gradients_whose_float32_squares_vanish_are_measured():
    tiny = torch.tensor(1e-30)
    profile = gradient_profile(lambda x: tiny * x, torch.randn(1, 2, 4))
    assert 2e-30 == pytest.approx(profile[0].item(), rel=1e-6, abs=0)


def test_two_calls_do_not_add_up():
    layer, inputs = drawn(nn.GRU, seed=0)
    inputs.requires_grad_()
    first = gradient_profile(layer, inputs)
    assert torch.equal(first, gradient_profile(layer, inputs))
    assert inputs.grad is None
    assert all(p.grad is None for p in layer.parameters())


def test_permuting_the_batch_changes_nothing_but_permuting_the_steps_does():
    layer, inputs = drawn(nn.LSTM, seed=0)
    profile = gradient_profile(layer, inputs)
    torch.testing.assert_close(gradient_profile(layer, inputs.flip(0)), profile)
    assert not torch.allclose(gradient_profile(layer, inputs.flip(1)), profile)


def test_every_input_reaches_the_last_output_of_a_recurrent_layer():
    torch.manual_seed(0)
    layer = nn.LSTM(3, 4, batch_first=True)
    assert 7 == int((gradient_profile(layer, torch.randn(5, 7, 3)) > 0).sum())


def test_a_layer_that_reads_batch_as_time_is_refused():
    with pytest.raises(ValueError, match="expected batch_first=True, got False"):
        gradient_profile(nn.LSTM(3, 4), torch.randn(5, 7, 3))
    with pytest.raises(ValueError, match=r"expected the axes \(batch, steps, inputs\), got .*7, 3"):
        gradient_profile(nn.LSTM(3, 4, batch_first=True), torch.randn(7, 3))


# Multipliers, as measured


def test_the_multiplier_of_a_power_is_its_base():
    profile = 5 * 0.9 ** torch.arange(20, dtype=torch.float64)
    assert 0.9 == pytest.approx(per_step_multiplier(profile, 13))


@pytest.mark.parametrize("lag", [0, 20])
def test_a_lag_outside_the_profile_is_refused(lag):
    with pytest.raises(ValueError, match=f"lag: expected 1 to 19, got {lag}"):
        per_step_multiplier(torch.ones(20), lag)


@pytest.mark.parametrize(
    ("layer_type", "low", "high"), [(nn.RNN, 0.38, 0.60), (nn.LSTM, 0.55, 0.67)]
)
def test_default_layers_lose_a_steady_share_each_step(layer_type, low, high):
    for seed in SEEDS:
        multiplier = per_step_multiplier(gradient_profile(*drawn(layer_type, seed)), 49)
        assert low < multiplier < high


def test_attention_is_flat_in_distance():
    rng = np.random.default_rng(0)
    layer = MultiHeadSelfAttention(WIDTH, 1).double()
    uniform_(layer, WIDTH, rng)
    inputs = torch.from_numpy(rng.standard_normal((BATCH, STEPS, WIDTH)))
    profile = gradient_profile(layer, inputs)
    # Lag 0 holds the query's own path as well.
    assert 0.9 < profile[-15:].mean() / profile[1:16].mean() < 1.12


# Multipliers, as predicted


def test_the_product_of_jacobians_equals_autograd():
    layer, inputs = drawn(nn.RNN, seed=0)
    W_h = layer.get_parameter("weight_hh_l0").detach()
    states = layer(inputs[:1, :12])[0][0].detach()

    def last_from_first(h: torch.Tensor) -> torch.Tensor:
        for x in inputs[0, 1:12]:
            h = torch.tanh(layer.weight_ih_l0 @ x + layer.bias_ih_l0 + W_h @ h + layer.bias_hh_l0)
        return h

    expected = torch.autograd.functional.jacobian(last_from_first, states[0])
    torch.testing.assert_close(jacobian_product(states, W_h), expected, rtol=1e-10, atol=0)


def test_t_states_have_t_minus_one_factors_between_them():
    product = jacobian_product(torch.zeros(60, 3), 2 * torch.eye(3))
    assert torch.equal(2.0**59 * torch.eye(3), product)
    assert torch.equal(torch.eye(3), jacobian_product(torch.zeros(1, 3), 2 * torch.eye(3)))


def test_states_and_weights_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"states: expected the axes \(steps, width\), got"):
        jacobian_product(torch.zeros(2, 5, 3), torch.eye(3))
    with pytest.raises(ValueError, match=r"W_h: expected shape \(3, 3\), got \(4, 4\)"):
        jacobian_product(torch.zeros(5, 3), torch.eye(4))


def test_both_recipes_by_hand():
    W_h = torch.tensor([[3.0, 0.0], [0.0, 1.0]])  # variance 10/4 - 1 = 1.5
    derivative = torch.tensor([0.2, 1.0])  # mean 0.6, mean square 0.52
    predicted = predicted_multiplier(W_h, derivative)
    assert 3 * 0.6 == pytest.approx(predicted.singular_value)
    assert (2 * 1.5 * 0.52) ** 0.5 == pytest.approx(predicted.mean_square)


STARTS = {
    "default": lambda W: W,
    "radius 0.9": lambda W: scale_spectral_radius(W, 0.9),
    "radius 1": lambda W: scale_spectral_radius(W, 1.0),
    "radius 1.5": lambda W: scale_spectral_radius(W, 1.5),
    "orthogonal": orthogonal_,
}


def medians(start: str) -> tuple[float, float, float]:
    """Median over the seeds: both predictions, then the measured multiplier up to lag 49.

    Measured on root-mean-square lengths over the batch, which is what the second recipe predicts.
    """
    rows = []
    for seed in SEEDS:
        layer, inputs = drawn(nn.RNN, seed)
        STARTS[start](layer.get_parameter("weight_hh_l0"))
        states = layer(inputs.requires_grad_())[0]
        predicted = predicted_multiplier(
            layer.get_parameter("weight_hh_l0").detach(), 1 - states.detach() ** 2
        )
        (gradient,) = torch.autograd.grad(states[:, -1].sum(), inputs)
        lengths = gradient.square().sum(2).mean(0).sqrt().flip(0)
        rows.append((*predicted, per_step_multiplier(lengths, 49)))
    singular_value, mean_square, measured = np.median(rows, axis=0)
    return float(singular_value), float(mean_square), float(measured)


@pytest.mark.parametrize(
    ("start", "predicted_range", "measured_range"),
    [
        ("default", (0.44, 0.47), (0.42, 0.52)),
        ("radius 0.9", (0.58, 0.69), (0.62, 0.68)),
        ("radius 1", (0.64, 0.76), (0.68, 0.74)),
        ("radius 1.5", (0.85, 1.00), (0.90, 0.96)),
        ("orthogonal", (0.72, 0.75), (0.72, 0.75)),
    ],
)
def test_the_mean_square_recipe_predicts(start, predicted_range, measured_range):
    _, mean_square, measured = medians(start)
    assert predicted_range[0] < mean_square < predicted_range[1]
    assert measured_range[0] < measured < measured_range[1]
    assert 1.0 == pytest.approx(mean_square / measured, rel=0.08)


def test_the_singular_value_recipe_fails():
    singular_value, _, measured = medians("default")
    assert 0.76 < singular_value < 0.85
    assert singular_value > 1.5 * measured
    singular_value, _, measured = medians("radius 1.5")
    assert singular_value > 1.3  # an explosion, it says
    assert measured < 1
