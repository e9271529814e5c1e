import pytest
import torch
from torch import nn

from onehop import counting
from onehop.attention import MultiHeadSelfAttention
from onehop.cells import LSTMCell
from onehop.counter import counted_flops, uncounted_operators

B, T, D = 2, 16, 8


def test_one_multiply_add_is_two_flops():
    assert 33_554_432 == counting.product_flops(64, 512, 512)
    assert 16_777_216 == counting.product_flops(64, 512, 512) / counting.FLOPS_PER_MULTIPLY_ADD
    linear = nn.Linear(512, 512, bias=False)
    assert 33_554_432 == counted_flops(lambda: linear(torch.randn(64, 512)))


@pytest.mark.parametrize(
    ("layer", "formula"), [(nn.RNN, counting.rnn_flops), (nn.GRU, counting.gru_flops)]
)
def test_recurrent_formulas_equal_the_counter(layer, formula):
    net = layer(D, D, batch_first=True)
    assert formula(T, D, B) == counted_flops(lambda: net(torch.randn(B, T, D)))


def test_lstm_formula_equals_the_counter_on_a_loop_of_cells():
    cell = LSTMCell(D, D)

    def loop() -> None:
        h = c = torch.zeros(B, D)
        for x in torch.randn(B, T, D).unbind(1):
            h, c = cell(x, h, c)

    assert counting.lstm_flops(T, D, B) == counted_flops(loop)


def test_attention_formulas_equal_the_counter():
    layer = MultiHeadSelfAttention(D, heads=2)
    assert counting.attention_flops(T, D, B) == counted_flops(lambda: layer(torch.randn(B, T, D)))
    q = torch.randn(B, T, D)
    core = counted_flops(lambda: (q @ q.transpose(-1, -2)) @ q)
    assert counting.attention_core_flops(T, D, B) == core


def test_feed_forward_formula_equals_the_counter():
    net = nn.Sequential(nn.Linear(D, 4 * D), nn.ReLU(), nn.Linear(4 * D, D))
    assert counting.feed_forward_flops(T, D, B) == counted_flops(lambda: net(torch.randn(B, T, D)))


def test_convolution_formula_equals_the_counter():
    net = nn.Conv1d(D, D, kernel_size=3, padding=1)
    counted = counted_flops(lambda: net(torch.randn(B, D, T)))
    assert counting.convolution_flops(T, D, kernel=3, batch=B) == counted


def test_a_block_is_its_attention_and_its_feed_forward_layer():
    net = nn.TransformerEncoderLayer(D, 2, 4 * D, dropout=0.0, batch_first=True)
    unseen = counting.attention_core_flops(T, D, B)  # a fused kernel on the CPU
    counted = counted_flops(lambda: net(torch.randn(B, T, D)))
    assert counting.block_flops(T, D, B) == counted + unseen
    assert 24 * D * D + 4 * D == counting.block_flops(1, D)


def test_training_an_rnn_costs_three_passes_less_one_product():
    net, inputs = nn.RNN(D, D, batch_first=True), torch.randn(B, T, D, requires_grad=True)
    saved = counting.product_flops(B, D, D)  # the state before the first step needs no gradient
    both = counted_flops(lambda: net(inputs)[0].sum().backward())
    assert 3 * counting.rnn_flops(T, D, B) - saved == both


LSTM = nn.LSTM(D, D, batch_first=True)
ATTENTION = nn.MultiheadAttention(D, 2, batch_first=True).eval()
FUSED = "_scaled_dot_product_flash_attention_for_cpu"


@pytest.mark.parametrize(
    ("seen", "operator", "call"),
    [
        (0, "mkldnn_rnn_layer", lambda x: LSTM(x)),
        (0, FUSED, lambda x: nn.functional.scaled_dot_product_attention(*[x[:, None]] * 3)),
        (
            counting.attention_parts(T, D, B)["projections"],
            FUSED,
            lambda x: ATTENTION(x, x, x, need_weights=False),
        ),
        (0, "_native_multi_head_attention", torch.no_grad()(lambda x: ATTENTION(x, x, x))),
        (0, "mv", lambda x: torch.zeros(D, D) @ x[0, 0]),
    ],
    ids=["nn.LSTM", "fused", "MultiheadAttention", "fast path", "vector"],
)
def test_an_operator_without_a_formula_counts_zero_and_is_named(seen, operator, call):
    x = torch.randn(B, T, D)
    assert seen == counted_flops(lambda: call(x))
    assert operator in uncounted_operators(lambda: call(x))


def test_a_product_with_a_column_is_counted_and_leaves_nothing_out():
    W, column = torch.zeros(D, D), torch.zeros(D, 1)
    assert counting.product_flops(D, D, 1) == counted_flops(lambda: W @ column)
    assert set() == uncounted_operators(lambda: torch.tanh(W @ column + column).T)


def test_the_books_table_at_width_and_length_512():
    assert 536_870_912 == counting.rnn_flops(512, 512)
    assert 1_610_612_736 == counting.gru_flops(512, 512)
    assert 2_147_483_648 == counting.lstm_flops(512, 512)
    assert 536_870_912 == counting.attention_core_flops(512, 512)
    assert {
        "projections": 1_073_741_824,
        "scores": 268_435_456,
        "mix": 268_435_456,
    } == counting.attention_parts(512, 512)
    assert 1_610_612_736 == counting.attention_flops(512, 512)
    assert 67_108_864 == counting.lstm_flops(16, 512)


def test_where_attention_costs_as_much_as_recurrence():
    d = 512
    assert counting.attention_core_flops(d, d) == counting.rnn_flops(d, d)
    assert 8 * counting.rnn_flops(8 * d, d) == counting.attention_core_flops(8 * d, d)
    assert counting.attention_flops(d, d) == counting.gru_flops(d, d)
    assert counting.attention_flops(2 * d, d) == counting.lstm_flops(2 * d, d)
    assert counting.attention_core_flops(4 * d, d) == counting.feed_forward_flops(4 * d, d)


@pytest.mark.parametrize("d", [8, 512, 768])
def test_attention_crosses_at_multiples_of_the_width(d):
    core, whole = counting.attention_core_flops, counting.attention_flops
    assert d == counting.crossover(core, counting.rnn_flops, d)
    assert 4 * d == counting.crossover(core, counting.feed_forward_flops, d)
    assert 0 == counting.crossover(whole, counting.rnn_flops, d)
    assert d == counting.crossover(whole, counting.gru_flops, d)
    assert 2 * d == counting.crossover(whole, counting.lstm_flops, d)


def test_the_crossover_is_the_last_length_that_is_not_dearer():
    meeting = counting.crossover(lambda T, d: 3 * T * T, lambda T, d: 10 * T, 1)
    assert 3 == meeting
    assert 3 * meeting**2 <= 10 * meeting
    assert 3 * (meeting + 1) ** 2 > 10 * (meeting + 1)


@pytest.mark.parametrize(
    ("parts", "total"),
    [
        (counting.recurrent_parts("rnn", T, D, B), counting.rnn_flops(T, D, B)),
        (counting.recurrent_parts("gru", T, D, B), counting.gru_flops(T, D, B)),
        (counting.recurrent_parts("lstm", T, D, B), counting.lstm_flops(T, D, B)),
        (counting.attention_parts(T, D, B), counting.attention_flops(T, D, B)),
        (counting.feed_forward_parts(T, D, B), counting.feed_forward_flops(T, D, B)),
    ],
)
def test_totals_are_sums_of_their_parts(parts, total):
    assert sum(parts.values()) == total
    assert all(0 < part < total for part in parts.values())


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="expected one of rnn, gru, lstm, got 'ssm'"):
        counting.recurrent_parts("ssm", T, D)
