import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from onehop.paths import receptive_field
from onehop.scan import blelloch, hillis_steele, loop
from onehop.state_space import DiagonalSSM, SelectiveSSM, causal_convolution, zero_order_hold

RECURRENCES = pytest.mark.parametrize("recurrence", [loop, hillis_steele, blelloch])
WIDTH = 5


def diagonal(modes: int = 4) -> DiagonalSSM:
    return DiagonalSSM(WIDTH, modes, np.random.default_rng(0)).double()


def selective(modes: int = 3) -> SelectiveSSM:
    return SelectiveSSM(WIDTH, modes, np.random.default_rng(0)).double()


def normal(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).standard_normal(shape))


# One mode


def test_a_held_mode_solves_its_differential_equation():
    """Many small Euler steps of h' = A h + 1 against one exact step."""
    A, step, h, parts = complex(-0.5, 3.0), 0.2, complex(0.7, -0.1), 100_000
    keep, take = zero_order_hold(torch.tensor(A), torch.tensor(step).double())
    by_euler = h
    for _ in range(parts):
        by_euler += step / parts * (A * by_euler + 1)
    assert by_euler == pytest.approx((keep * h + take).item(), rel=1e-5)


def test_a_mode_at_minus_one_is_a_gate():
    z = torch.linspace(-20, 20, 41, dtype=torch.float64)
    keep, take = zero_order_hold(torch.tensor(-1.0).double(), F.softplus(z))
    torch.testing.assert_close(1 - torch.sigmoid(z), keep)
    torch.testing.assert_close(torch.sigmoid(z), take)


def test_a_tiny_step_loses_no_digits():
    _, take = zero_order_hold(torch.tensor(-0.5), torch.tensor(1e-6))
    assert 1e-6 * (1 - 0.25e-6) == pytest.approx(take.item(), rel=1e-7)


# Convolution


def test_the_convolution_is_its_sum():
    inputs, kernel = normal(2, 7, WIDTH), normal(7, WIDTH)
    expected = torch.zeros_like(inputs)
    for t in range(7):
        for k in range(t + 1):
            expected[:, t] += kernel[k] * inputs[:, t - k]
    torch.testing.assert_close(expected, causal_convolution(inputs, kernel))


def test_the_convolution_is_that_of_torch():
    inputs, kernel = normal(2, 30, WIDTH), normal(30, WIDTH)
    weight = kernel.flip(0).T[:, None]
    expected = F.conv1d(F.pad(inputs.mT, (29, 0)), weight, groups=WIDTH).mT
    torch.testing.assert_close(expected, causal_convolution(inputs, kernel))


# Diagonal


@RECURRENCES
@pytest.mark.parametrize("steps", [1, 2, 51, 64])
def test_recurrence_and_convolution_are_the_same_layer(recurrence, steps):
    layer, inputs = diagonal(), normal(2, steps, WIDTH)
    torch.testing.assert_close(
        layer(inputs), layer.recurrent(inputs, recurrence), rtol=1e-11, atol=1e-11
    )


def test_the_layer_is_the_real_system_of_twice_the_size():
    """One feature with two modes as a real recurrence of four numbers."""
    layer = DiagonalSSM(1, 2, np.random.default_rng(0)).double()
    (keep, take), C = (
        [part.detach()[0].numpy() for part in layer.held()],
        torch.view_as_complex(layer.C.detach())[0].numpy(),
    )
    A, B, read = np.zeros((4, 4)), np.zeros(4), np.zeros(4)
    for n in range(2):
        block = slice(2 * n, 2 * n + 2)
        A[block, block] = [[keep[n].real, -keep[n].imag], [keep[n].imag, keep[n].real]]
        B[block] = take[n].real, take[n].imag
        read[block] = 2 * C[n].real, -2 * C[n].imag
    inputs, h, outputs = normal(1, 20, 1), np.zeros(4), []
    for x in inputs[0, :, 0].numpy():
        h = A @ h + B * x
        outputs.append(read @ h + layer.D.item() * x)
    np.testing.assert_allclose(layer(inputs)[0, :, 0].detach(), outputs, rtol=1e-11, atol=1e-12)


def test_one_input_at_a_time_gives_the_same_outputs():
    layer, inputs = diagonal(), normal(2, 30, WIDTH)
    h, outputs = torch.zeros(2, WIDTH, 4, dtype=torch.complex128), []
    for x in inputs.unbind(1):
        y, h = layer.step(x, h)
        outputs.append(y)
    torch.testing.assert_close(layer(inputs), torch.stack(outputs, 1), rtol=1e-11, atol=1e-11)


def test_the_kernel_is_what_an_impulse_leaves():
    layer, impulse = diagonal(), torch.zeros(1, 12, WIDTH).double()
    impulse[:, 0] = 1
    left = layer.recurrent(impulse, loop)[0] - layer.D * impulse[0]
    torch.testing.assert_close(left, layer.kernel(12))


def test_the_start_is_s4d_lin():
    layer = DiagonalSSM(200, 3, np.random.default_rng(0)).double()
    expected = torch.tensor([complex(-0.5, math.pi * n) for n in range(3)]).expand(200, 3)
    torch.testing.assert_close(expected.to(torch.complex128), layer.rates(), rtol=1e-6, atol=0)
    steps = layer.log_step.exp()
    assert 0.001 <= steps.min().item() < 0.0015
    assert 0.07 < steps.max().item() <= 0.1
    torch.testing.assert_close(torch.exp(-steps / 2).expand(200, 3), layer.held()[0].abs())


def test_poles_stay_inside_the_unit_circle_whatever_is_learned():
    layer = diagonal()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(2 * normal(*parameter.shape))
    assert layer.held()[0].abs().max().item() < 1


def test_a_real_layer_in_float32_stays_real_and_float32():
    layer = DiagonalSSM(WIDTH, 4, np.random.default_rng(0))
    assert layer(normal(1, 9, WIDTH).float()).dtype == torch.float32


# Selective


@RECURRENCES
@pytest.mark.parametrize("steps", [1, 51])
def test_every_recurrence_computes_the_same_selective_layer(recurrence, steps):
    layer, inputs = selective(), normal(2, steps, WIDTH)
    torch.testing.assert_close(layer(inputs, loop), layer(inputs, recurrence))


def test_the_selective_layer_by_its_equations():
    layer, inputs = selective(), normal(1, 11, WIDTH)
    A, h, outputs = -torch.arange(1.0, 4).double(), torch.zeros(WIDTH, 3).double(), []
    for x in inputs[0]:
        step = torch.log1p(torch.exp(layer.step_length.weight @ x + layer.step_length.bias))
        B, C = layer.B.weight @ x, layer.C.weight @ x
        keep = torch.exp(torch.outer(step, A))
        h = keep * h + (keep - 1) / A * torch.outer(x, B)
        outputs.append(h @ C + layer.D * x)
    torch.testing.assert_close(torch.stack(outputs), layer(inputs)[0])


def test_steps_start_between_a_thousandth_and_a_tenth():
    layer = SelectiveSSM(300, 2, np.random.default_rng(0)).double()
    steps = F.softplus(layer.step_length.bias)
    assert 0.001 <= steps.min().item() < 0.0015
    assert 0.07 < steps.max().item() <= 0.1


@pytest.mark.parametrize("layer", [diagonal().recurrent, selective()])
def test_no_layer_reads_the_future(layer):
    for step in (0, 4, 8):
        read = receptive_field(layer, normal(1, 9, WIDTH), step)
        assert [position <= step for position in range(9)] == read.tolist()


def test_the_convolution_reads_no_more_of_the_future_than_rounding():
    inputs, kernel = normal(1, 9, WIDTH), normal(9, WIDTH)
    changed = inputs.clone()
    changed[:, 5:] += 1
    moved = causal_convolution(changed, kernel) - causal_convolution(inputs, kernel)
    assert moved[:, :5].abs().max().item() < 1e-14
    assert moved[:, 5:].abs().min().item() > 1e-3


def test_only_the_selective_layer_is_not_linear():
    x, y = normal(2, 9, WIDTH).split(1)
    linear, chosen = diagonal(), selective()
    torch.testing.assert_close(linear(x) + linear(y), linear(x + y))
    assert not torch.allclose(chosen(x) + chosen(y), chosen(x + y), rtol=1e-3)


@pytest.mark.parametrize("layer", [diagonal(), diagonal().recurrent, selective()])
def test_other_axes_are_refused(layer):
    with pytest.raises(
        ValueError, match=r"expected the axes \(batch, steps, width = 5\), got .*9, 4"
    ):
        layer(normal(2, 9, 4))
    with pytest.raises(ValueError, match="expected the axes"):
        layer(normal(9, WIDTH))
