import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from onehop.gated_linear import SwiGLU, glu, swiglu


def draw() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(0)
    shapes = ((7, 3), (4, 3), (4, 3))
    x, W, V = (torch.from_numpy(rng.standard_normal(shape)) for shape in shapes)
    return x, W, V


def test_glu_is_that_of_torch():
    x, W, V = draw()
    torch.testing.assert_close(F.glu(x @ torch.cat([W, V]).T), glu(x, W, V))


def test_swiglu_is_a_silu_times_a_linear_map():
    x, W, V = draw()
    torch.testing.assert_close(F.silu(F.linear(x, W)) * F.linear(x, V), swiglu(x, W, V))


def test_an_open_gate_passes_and_a_closed_one_does_not():
    x, W = torch.tensor([[2.0]]).double(), torch.tensor([[3.0]]).double()
    far = torch.tensor([[50.0]]).double()
    assert 6 == glu(x, W, far).item()
    assert abs(glu(x, W, -far).item()) < 1e-12


def test_the_layer_is_its_equation():
    layer, (x, _, _) = SwiGLU(3, 8, np.random.default_rng(0)).double(), draw()
    expected = (F.silu(layer.W(x)) * layer.V(x)) @ layer.contract.weight.T
    torch.testing.assert_close(expected, layer(x))


def test_at_two_thirds_of_the_hidden_width_it_has_the_weights_of_a_plain_layer():
    gated = SwiGLU(768, 2048, np.random.default_rng(0))
    plain = [nn.Linear(768, 3072, bias=False), nn.Linear(3072, 768, bias=False)]
    assert sum(part.weight.numel() for part in plain) == sum(p.numel() for p in gated.parameters())
