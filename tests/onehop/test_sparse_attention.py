import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from onehop.attention import causal_mask, scaled_dot_product
from onehop.sparse_attention import (
    chunked_attention,
    linear_attention,
    reading_attention,
    reads_mask,
    strided_reads,
    window_reads,
)

T, D = 24, 6


def qkv(steps: int = T) -> list[torch.Tensor]:
    return [torch.randn(steps, D, dtype=torch.float64) for _ in range(3)]


def flops(call) -> int:
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def test_a_window_reads_itself_and_those_just_before():
    expected = [[0, -1, -2], [1, 0, -1], [2, 1, 0], [3, 2, 1]]
    assert expected == window_reads(4, 3).tolist()
    distance = torch.arange(T)[:, None] - torch.arange(T)
    assert torch.equal((distance >= 0) & (distance < 5), reads_mask(window_reads(T, 5)))


def test_the_strided_pattern_reads_the_last_few_and_every_stride_th_before():
    distance = torch.arange(T)[:, None] - torch.arange(T)
    expected = (distance >= 0) & ((distance < 4) | (distance % 4 == 0))
    reads = strided_reads(T, 4)
    assert torch.equal(expected, reads_mask(reads))
    assert 4 + T // 4 - 1 == reads.shape[1]
    assert all(len(set(row)) == len(row) for row in reads.tolist())  # no key is read twice


@pytest.mark.parametrize("reads", [window_reads(T, 5), strided_reads(T, 4), window_reads(T, T)])
def test_reading_attention_equals_masked_attention(reads):
    q, k, v = qkv()
    expected, _ = scaled_dot_product(q, k, v, reads_mask(reads))
    torch.testing.assert_close(expected, reading_attention(q, k, v, reads))
    assert 4 * T * reads.shape[1] * D == flops(lambda: reading_attention(q, k, v, reads))


@pytest.mark.parametrize("chunk", [1, 6, 7, T, 100])
def test_chunked_attention_is_exact(chunk):
    q, k, v = qkv()
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(expected, chunked_attention(q, k, v, chunk))


def test_chunked_attention_survives_scores_that_overflow_exp():
    q, k, v = qkv()
    k = k * torch.logspace(0, 4, T, dtype=torch.float64)[:, None]  # each chunk has a larger score
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(expected, chunked_attention(q, k, v, 4))


@pytest.mark.parametrize("chunk", [4, 6, 12])
def test_chunking_saves_the_hidden_half_and_no_more(chunk):
    q, k, v = qkv()
    assert 2 * T * (T + chunk) * D == flops(lambda: chunked_attention(q, k, v, chunk))


def test_linear_attention_equals_its_quadratic_form():
    q, k, v = qkv()
    products = ((F.elu(q) + 1) @ (F.elu(k) + 1).T) * causal_mask(T)
    expected = products / products.sum(1, keepdim=True) @ v
    torch.testing.assert_close(expected, linear_attention(q, k, v))


def test_linear_attention_costs_the_same_at_every_step():
    q, k, v = qkv(2 * T)
    once = flops(lambda: linear_attention(q[:T], k[:T], v[:T]))
    assert 2 * once == flops(lambda: linear_attention(q, k, v))
    assert 4 * T * D**2 <= once <= 4 * T * D**2 + 2 * T * D


@pytest.mark.parametrize(
    "attention",
    [
        lambda q, k, v: reading_attention(q, k, v, strided_reads(T, 4)),
        lambda q, k, v: chunked_attention(q, k, v, 5),
        linear_attention,
    ],
    ids=["reading", "chunked", "linear"],
)
def test_no_query_sees_the_future(attention):
    q, k, v = qkv()
    before = attention(q, k, v)[:10]
    k[10:], v[10:] = 0.0, 0.0
    assert torch.equal(before, attention(q, k, v)[:10])
