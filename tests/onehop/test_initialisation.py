import numpy as np
import pytest
import torch
from torch import nn

from onehop.initialisation import orthogonal_, scale_spectral_radius, set_forget_bias, uniform_


def square() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, (32, 32)))


def test_uniform_draws_fill_the_interval_and_come_from_numpy():
    layer = nn.GRU(32, 32)
    uniform_(layer, 32, np.random.default_rng(0))
    values = torch.cat([p.detach().flatten() for p in layer.parameters()])
    bound = 32**-0.5
    assert bound == pytest.approx(values.abs().max().item(), rel=1e-2)
    assert values.abs().max().item() <= bound
    assert abs(values.mean().item()) < 0.01 * bound
    first = np.random.default_rng(0).uniform(-bound, bound)
    assert first == pytest.approx(next(layer.parameters())[0, 0].item(), rel=1e-6)


def test_all_singular_values_of_an_orthogonal_matrix_are_one():
    W = square()
    assert W is orthogonal_(W)
    torch.testing.assert_close(W @ W.T, torch.eye(32, dtype=W.dtype))


def test_an_orthogonal_matrix_is_left_alone():
    W = orthogonal_(square())
    torch.testing.assert_close(orthogonal_(W.clone()), W)


@pytest.mark.parametrize("radius", [0.9, 1.5])
def test_the_largest_eigenvalue_gets_the_radius(radius):
    W = square()
    before = W.clone()
    assert W is scale_spectral_radius(W, radius)
    assert radius == pytest.approx(max(abs(np.linalg.eigvals(W.numpy()))))
    torch.testing.assert_close(W / W[0, 0], before / before[0, 0])


def test_parameters_that_need_gradients_can_be_changed():
    W_h = nn.RNN(8, 8).get_parameter("weight_hh_l0")
    scale_spectral_radius(orthogonal_(W_h), 0.5)
    assert 0.5 == pytest.approx(torch.linalg.matrix_norm(W_h, 2).item())


@pytest.mark.parametrize("lstm", [nn.LSTM(2, 3, num_layers=2), nn.LSTMCell(2, 3)])
def test_forget_biases_add_up_to_the_value_and_the_rest_is_untouched(lstm):
    before = {name: p.detach().clone() for name, p in lstm.named_parameters()}
    set_forget_bias(lstm, 2.0)
    for name, parameter in lstm.named_parameters():
        untouched = torch.ones(len(parameter), dtype=torch.bool)
        if name.startswith("bias"):
            untouched[3:6] = False
            expected = 2.0 if name.startswith("bias_ih") else 0.0
            assert [expected] * 3 == parameter[3:6].tolist()
        assert torch.equal(before[name][untouched], parameter[untouched])


@pytest.mark.parametrize("change", [orthogonal_, lambda W: scale_spectral_radius(W, 1.0)])
def test_a_matrix_that_is_not_square_is_refused(change):
    with pytest.raises(ValueError, match=r"expected the shape \(width, width\), got \(2, 3\)"):
        change(torch.ones(2, 3))
