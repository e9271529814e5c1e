import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from onehop.memory import (
    explicit_attention_bytes,
    fused_attention_bytes,
    rnn_bytes,
    saved_bytes,
)


def leaves(steps: int, width: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [torch.randn(1, 1, steps, width, dtype=dtype, requires_grad=True) for _ in range(3)]


def test_a_product_keeps_both_factors_and_a_sum_keeps_nothing():
    a, b = (torch.ones(5, 7, requires_grad=True) for _ in range(2))
    assert 2 * 5 * 7 * 4 == saved_bytes(lambda: a * b)
    assert 0 == saved_bytes(lambda: a + b)


def test_views_of_one_tensor_count_once():
    a = torch.ones(6, 6, requires_grad=True)
    assert 6 * 6 * 4 == saved_bytes(lambda: a @ a.T)


def test_the_result_of_tanh_counts_once_although_two_operators_keep_it():
    a, W = torch.ones(3, 3, requires_grad=True), torch.ones(3, 3, requires_grad=True)
    assert 2 * 9 * 4 == saved_bytes(lambda: torch.tanh(a) @ W)


def test_without_a_gradient_nothing_is_kept():
    a = torch.ones(5, 7, requires_grad=True)
    with torch.no_grad():
        assert 0 == saved_bytes(lambda: a * a)
    assert 0 == saved_bytes(lambda: a.detach() * 2)


def test_tensors_freed_during_the_call_do_not_hide_each_other():
    a = torch.ones(64, requires_grad=True)
    assert 10 * 64 * 4 == saved_bytes(lambda: [torch.exp(a) for _ in range(10)] and None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("steps", "width"), [(16, 8), (100, 64), (513, 64)])
def test_attention_keeps_what_the_formulas_say(steps, width, dtype):
    q, k, v = leaves(steps, width, dtype)

    def explicit() -> torch.Tensor:
        return torch.softmax(q @ k.mT / math.sqrt(width), dim=-1) @ v

    assert explicit_attention_bytes(steps, width, dtype.itemsize) == saved_bytes(explicit)
    fused = saved_bytes(lambda: F.scaled_dot_product_attention(q, k, v))
    assert fused_attention_bytes(steps, width, dtype.itemsize) == fused


def test_the_formulas_at_4096_steps():
    assert 70_254_592 == explicit_attention_bytes(4096, 64) == 4 * 4096**2 + 12 * 4096 * 64
    assert 4_210_688 == fused_attention_bytes(4096, 64) == 16 * 4096 * 64 + 4 * 4096
    assert 2_130_176 == rnn_bytes(4096, 64)
    assert 1_081_600 == rnn_bytes(2048, 64)


def test_a_recurrent_loop_keeps_what_the_formula_says():
    steps, width = 33, 16
    W_x, W_h = (nn.Parameter(torch.randn(width, width)) for _ in range(2))
    inputs = torch.randn(1, steps, width, requires_grad=True)

    def loop() -> torch.Tensor:
        h, states = torch.zeros(1, width), []
        for x in (inputs @ W_x).unbind(1):
            h = torch.tanh(x + h @ W_h)
            states.append(h)
        return torch.stack(states, 1)

    assert rnn_bytes(steps, width) == saved_bytes(loop)
