import math

import numpy as np
import pytest
import torch
from torch import nn

from onehop.clipping import clip_by_norm, clip_by_value, cosine, gradient_length


def gradients(scale: float = 1.0) -> list[torch.Tensor]:
    rng = np.random.default_rng(0)
    return [torch.from_numpy(scale * rng.standard_normal(shape)) for shape in ((4, 3), (4,), (1,))]


def flat(parts: list[torch.Tensor]) -> torch.Tensor:
    return torch.cat([part.flatten() for part in parts])


# Length


def test_the_length_is_that_of_all_gradients_as_one_vector():
    assert 13.0 == gradient_length([torch.tensor([3.0, 4.0]), torch.tensor([[12.0]])])


def test_the_length_of_large_float32_gradients_does_not_overflow():
    large = torch.full((4,), 1e20)
    assert math.isinf(large.square().sum())
    assert 2e20 == pytest.approx(gradient_length([large]))


# By norm


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("limit", [0.1, 1.0, 10.0])
def test_clipping_by_norm_equals_torch(scale: float, limit: float):
    parameters = [nn.Parameter(torch.zeros_like(part)) for part in gradients()]
    for parameter, gradient in zip(parameters, gradients(scale), strict=True):
        parameter.grad = gradient
    nn.utils.clip_grad_norm_(parameters, limit)
    # torch adds 1e-6 to the length.
    for parameter, clipped in zip(parameters, clip_by_norm(gradients(scale), limit), strict=True):
        torch.testing.assert_close(parameter.grad, clipped, rtol=1e-5, atol=0)


def test_clipping_by_norm_keeps_the_direction_and_bounds_the_length():
    clipped = clip_by_norm(gradients(1e6), 0.5)
    assert 0.5 == pytest.approx(gradient_length(clipped), rel=1e-12)
    assert 1.0 == pytest.approx(cosine(gradients(1e6), clipped), rel=1e-12)


def test_a_gradient_within_the_limit_is_not_changed():
    inside = gradients(1e-3)
    for before, after in zip(inside, clip_by_norm(inside, 1.0), strict=True):
        torch.testing.assert_close(before, after, rtol=0, atol=0)


def test_a_gradient_of_zeros_stays_zero():
    assert [0.0, 0.0] == clip_by_norm([torch.zeros(2)], 1.0)[0].tolist()


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_no_factor_repairs_a_gradient_that_is_not_finite(broken: float):
    with pytest.raises(FloatingPointError, match="expected a finite length, got"):
        clip_by_norm([torch.tensor([broken, 1.0])], 1.0)


# By value


def test_clipping_by_value_equals_torch():
    parameter = nn.Parameter(torch.zeros(4, 3, dtype=torch.float64))
    parameter.grad = gradients()[0].clone()
    nn.utils.clip_grad_value_([parameter], 0.3)
    torch.testing.assert_close(parameter.grad, clip_by_value(gradients(), 0.3)[0], rtol=0, atol=0)


def test_clipping_by_value_turns_the_gradient():
    steep = [torch.tensor([100.0, 1.0])]
    assert [[1.0, 1.0]] == [part.tolist() for part in clip_by_value(steep, 1.0)]
    assert 101 / math.sqrt(2 * 10001) == pytest.approx(cosine(steep, clip_by_value(steep, 1.0)))


@pytest.mark.parametrize("clip", [clip_by_norm, clip_by_value])
@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan])
def test_a_limit_is_positive(clip, limit: float):
    with pytest.raises(ValueError, match="limit: expected a number above 0"):
        clip(gradients(), limit)


# Angle


def test_the_cosine_is_numpys():
    other = [part.roll(1) for part in gradients()]
    a, b = flat(gradients()).numpy(), flat(other).numpy()
    expected = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert expected == pytest.approx(cosine(gradients(), other), rel=1e-12)
