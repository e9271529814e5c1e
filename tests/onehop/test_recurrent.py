import math

import numpy as np
import pytest
import torch

from onehop.recurrent import rnn, rnn_step


def drawn() -> tuple[np.ndarray, ...]:
    """Ten steps of three inputs into four states, in the order in which the book draws them."""
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((10, 3))
    W_x = rng.standard_normal((4, 3)) * 0.3
    W_h = rng.standard_normal((4, 4)) * 0.3
    return inputs, W_x, W_h, np.zeros(4)


def test_the_last_state_of_the_book_comes_out():
    assert "[ 0.079 -0.337  0.24   0.065]" == str(rnn(*drawn())[-1].round(3))


def test_one_step_by_hand():
    h = rnn_step(
        x=np.array([2.0]),
        h=np.array([-1.0]),
        W_x=np.array([[0.5]]),
        W_h=np.array([[0.25]]),
        b=np.array([0.1]),
    )
    assert math.tanh(2 * 0.5 - 1 * 0.25 + 0.1) == pytest.approx(h.item(), rel=1e-15)


def test_every_step_is_kept_and_the_first_starts_from_zeros():
    inputs, W_x, W_h, b = drawn()
    states = rnn(inputs, W_x, W_h, b)
    assert (10, 4) == states.shape
    np.testing.assert_allclose(states[0], np.tanh(W_x @ inputs[0]), rtol=1e-15)


def test_numpy_loop_equals_torch_layer():
    inputs, W_x, W_h, b = drawn()
    layer = torch.nn.RNN(3, 4, batch_first=True, dtype=torch.float64)
    layer.load_state_dict(
        {
            "weight_ih_l0": torch.from_numpy(W_x),
            "weight_hh_l0": torch.from_numpy(W_h),
            "bias_ih_l0": torch.from_numpy(b),
            "bias_hh_l0": torch.zeros(4),
        }
    )
    expected = layer(torch.from_numpy(inputs)[None])[0][0].detach().numpy()
    np.testing.assert_allclose(rnn(inputs, W_x, W_h, b), expected, rtol=1e-12)


def test_a_batch_is_refused():
    inputs, W_x, W_h, b = drawn()
    with pytest.raises(ValueError, match=r"expected the axes \(steps, inputs\), got .*1, 10, 3"):
        rnn(inputs[None], W_x, W_h, b)


def test_weights_of_another_shape_are_refused():
    inputs, W_x, W_h, b = drawn()
    with pytest.raises(ValueError, match=r"W_x: expected shape \(4, 3\), got \(3, 4\)"):
        rnn(inputs, W_x.T, W_h, b)
    with pytest.raises(ValueError, match=r"W_h: expected shape \(4, 4\), got \(4, 3\)"):
        rnn(inputs, W_x, W_x, b)
