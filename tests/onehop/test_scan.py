import numpy as np
import pytest
import torch

from onehop.scan import Maps, Work, blelloch, combine, hillis_steele, loop, work


def draw(steps: int, *shape: int, complex_: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Factors of modulus up to one and additions, `(2, steps, ...)`."""
    rng = np.random.default_rng(steps)
    a = torch.from_numpy(rng.uniform(0.5, 1, (2, steps, *shape)))
    b = torch.from_numpy(rng.standard_normal((2, steps, *shape)))
    if complex_:
        a = torch.polar(a, torch.from_numpy(rng.uniform(-3, 3, (2, steps, *shape))))
        b = b.to(a.dtype)
    return a, b


SCANS = pytest.mark.parametrize("scan", [hillis_steele, blelloch])


def test_the_loop_by_hand():
    a = torch.tensor([[[2.0], [3.0], [0.5]]])
    b = torch.tensor([[[1.0], [-1.0], [4.0]]])
    assert [1, 3 * 1 - 1, 0.5 * 2 + 4] == loop(a, b).flatten().tolist()


def test_the_loop_of_constant_factors_is_a_geometric_sum():
    expected = [(1 - 0.9**t) / (1 - 0.9) for t in range(1, 31)]
    states = loop(torch.tensor(0.9, dtype=torch.float64), torch.ones(1, 30, 1).double())
    np.testing.assert_allclose(states.flatten(), expected, rtol=1e-14)


def test_combined_maps_act_one_after_the_other():
    h = torch.tensor([[5.0]])
    first, second = Maps(torch.tensor([[2.0]]), torch.tensor([[1.0]])), Maps(h - 2, h + 2)
    both = combine(first, second)
    assert 3 * (2 * 5 + 1) + 7 == (both.a * h + both.b).item()


def test_combining_is_associative_and_its_order_matters():
    (a, b), one = draw(3, 4), slice(0, 1)
    x, y, z = (Maps(a[:, t : t + 1], b[:, t : t + 1]) for t in range(3))
    left, right = combine(combine(x, y), z), combine(x, combine(y, z))
    torch.testing.assert_close(left.b, right.b, rtol=1e-14, atol=0)
    assert not torch.allclose(combine(x, y).b[one], combine(y, x).b[one])


@SCANS
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7, 8, 9, 51, 64, 1000])
@pytest.mark.parametrize("complex_", [False, True])
def test_every_scan_returns_the_states_of_the_loop(scan, steps, complex_):
    a, b = draw(steps, 3, complex_=complex_)
    torch.testing.assert_close(loop(a, b), scan(a, b), rtol=1e-12, atol=1e-12)


@SCANS
def test_every_scan_has_the_gradient_of_the_loop(scan):
    a, b = (part.requires_grad_() for part in draw(13, 3))
    expected = torch.autograd.grad(loop(a, b).square().sum(), (a, b))
    for want, got in zip(
        expected, torch.autograd.grad(scan(a, b).square().sum(), (a, b)), strict=True
    ):
        torch.testing.assert_close(want, got, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scan", [loop, hillis_steele, blelloch])
def test_factors_are_broadcast_over_batch_and_steps(scan):
    _, b = draw(9, 3, 4)
    a = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4)
    torch.testing.assert_close(loop(a.expand_as(b).contiguous(), b), scan(a, b))


@SCANS
def test_a_scan_of_sums_is_a_cumulative_sum(scan):
    _, b = draw(37, 2)
    torch.testing.assert_close(b.cumsum(1), scan(torch.ones_like(b), b))


@SCANS
def test_a_factor_of_zero_forgets_everything(scan):
    a, b = draw(20, 1)
    a[:, 11] = 0
    torch.testing.assert_close(b[:, 11], scan(a, b)[:, 11], rtol=0, atol=0)


def test_work_at_4096_steps():
    assert Work(45_057, 12) == work(hillis_steele, 4096)
    assert Work(8_190, 24) == work(blelloch, 4096)


@pytest.mark.parametrize("rounds", [1, 3, 10])
def test_work_follows_its_formulas(rounds):
    steps = 2**rounds
    assert Work(steps * rounds - (steps - 1), rounds) == work(hillis_steele, steps)
    assert Work(2 * (steps - 1), 2 * rounds) == work(blelloch, steps)
