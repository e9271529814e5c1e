"""The instrument finds what is known of models by construction, and says what it cannot measure."""

import copy
import json
import math
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.checkpoint import checkpoint

import onehop
from onehop import __main__ as command
from onehop import scan
from onehop.attention import MultiHeadSelfAttention
from onehop.cells import RNNCell
from onehop.convolutional import Convolution
from onehop.depth import longest_chain
from onehop.diagnosis import diagnose
from onehop.diagnosis.depth import Growth
from onehop.diagnosis.reach import student
from onehop.diagnosis.stepped import step_by_step
from onehop.diagnosis.trace import trace
from onehop.initialisation import orthogonal_, set_forget_bias
from onehop.memory import saved_bytes
from onehop.state_space import DiagonalSSM


class Linear(nn.Module):
    """h_t = A h_{t-1} + B x_t; returns all states."""

    def __init__(self, A: Tensor, B: Tensor) -> None:
        super().__init__()
        self.A, self.B = nn.Parameter(A), nn.Parameter(B)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h, states = x.new_zeros(len(x), len(self.A)), []
        for x_t in x.unbind(1):
            h = h @ self.A.T + x_t @ self.B.T
            states.append(h)
        return torch.stack(states, 1), h


class InFloat32(nn.Module):
    """A model that accepts no other type than float32 inside."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        return self.model.float()(x.float())[0]


class Tagger(nn.Module):
    """Token ids, an embedding, an LSTM over packed sequences, and scores from its last state."""

    def __init__(self, **options: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(12, 8)
        self.lstm = nn.LSTM(8, 16, batch_first=True, **options)
        self.scores = nn.Linear(16, 2)

    def forward(self, ids: Tensor) -> Tensor:
        lengths = torch.full((len(ids),), ids.shape[1])
        _, (h, _) = self.lstm(pack_padded_sequence(self.embed(ids), lengths, batch_first=True))
        return self.scores(h[-1])


class Block(nn.Module):
    def __init__(self, causal: bool = True) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1)
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        hidden = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
        return self.layers(x, mask=hidden if self.causal else None)


def inputs(batch: int = 4, steps: int = 32, width: int = 8) -> Tensor:
    return torch.randn(batch, steps, width)


def turn(width: int, rng: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(rng)
    return orthogonal_(torch.randn(width, width, generator=generator))


@pytest.mark.parametrize("m", [0.5, 0.9, 0.99, 1.0, 1.01])
def test_the_multiplier_of_a_linear_recurrence_is_recovered(m: float) -> None:
    model = Linear(m * torch.eye(8), torch.eye(8))
    reach = diagnose(model, inputs(steps=64), probes=64).reach
    assert m == pytest.approx(reach.multiplier, abs=1e-6)
    assert reach.low - 1e-9 <= reach.multiplier <= reach.high + 1e-9
    assert reach.high - reach.low < 1e-6
    assert min(63, math.floor(math.log(1e-3) / math.log(m))) if m < 1 else 63 == reach.horizon


def test_a_gradient_far_below_float32_is_kept() -> None:
    model = Linear(0.1 * turn(8), torch.eye(8))
    profile = diagnose(model, inputs(steps=120), probes=64).reach.profile
    assert 1 == pytest.approx(profile[119] / profile[0] / 1e-119, rel=1e-3)


def test_a_model_that_insists_on_float32_loses_no_gradient_either() -> None:
    reach = diagnose(
        InFloat32(Linear(0.1 * turn(8), torch.eye(8))), inputs(steps=50), probes=64
    ).reach
    assert "float32" == reach.precision
    assert 1 == pytest.approx(reach.profile[49] / reach.profile[0] / 1e-49, rel=1e-3)
    assert 0.1 == pytest.approx(reach.multiplier, abs=1e-6)


def test_the_multiplier_of_the_cell_path_is_the_forget_gate() -> None:
    lstm = nn.LSTM(8, 8, batch_first=True)
    set_forget_bias(lstm, 2.0)
    weights = lstm.state_dict()
    weights["weight_hh_l0"].zero_()  # the way through the hidden state is cut
    weights["weight_ih_l0"][8:16] = 0  # and the forget gate is its bias alone
    steady = torch.randn(4, 1, 8).expand(4, 64, 8)
    assert 1 / (1 + math.exp(-2)) == pytest.approx(
        diagnose(lstm, steady, probes=64).reach.multiplier, abs=1e-6
    )


def test_the_interval_covers_what_sequences_differ_by() -> None:
    torch.manual_seed(1)
    rnn = nn.RNN(8, 16, batch_first=True)
    few, many = (diagnose(rnn, inputs(n, 48), probes=64).reach for n in (8, 64))
    assert few.low < many.multiplier < few.high
    assert many.high - many.low < few.high - few.low


def test_students_quantiles_are_those_of_the_table() -> None:
    found = [student(degrees) for degrees in (7, 9, 15, 30)]
    assert [2.3646, 2.2622, 2.1314, 2.0423] == pytest.approx(found, abs=1e-3)


def test_a_window_is_where_the_gradient_ends() -> None:
    report = diagnose(Convolution(8, kernel=3, dilation=4), inputs(), probes=64)
    assert 8 == report.reach.field == report.reach.horizon
    assert "gradient reach" == report.verdict.binding
    assert "beyond lag 8" in report.verdict.evidence


def test_a_gradient_too_small_to_write_has_faded_and_met_no_edge() -> None:
    model = Linear(0.1 * turn(4), torch.eye(4))
    report = diagnose(model, inputs(2, 400, 4), probes=16)
    assert report.reach.field < 399
    assert not report.reach.is_cut
    assert "a step back multiplies the gradient by 0.1" in report.verdict.evidence


def test_an_end_of_the_graph_is_where_the_gradient_ends() -> None:
    class Truncated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            h = x.new_zeros(len(x), 8)
            for t, x_t in enumerate(x.unbind(1)):
                h = self.cell(x_t, h.detach() if t % 10 == 0 else h)
            return h

    report = diagnose(Truncated(), inputs(steps=64), probes=64)
    assert 3 == report.reach.field
    assert "stop detaching the state" in report.verdict.remedy


def test_one_lag_alone_has_no_rate() -> None:
    report = diagnose(Returns(lambda x: 2 * x[:, 0]), inputs(), probes=64)
    assert math.isnan(report.reach.multiplier)
    assert 31 == report.reach.horizon
    assert not report.reach.fades(31)
    assert "none: too few lags have a gradient" in str(report)
    assert report.to_dict()["reach"]["multiplier"] is None


def test_sequences_whose_last_output_is_padding_do_not_hide_the_others() -> None:
    class Ragged(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = nn.GRU(8, 8, batch_first=True)

        def forward(self, x: Tensor) -> Tensor:
            lengths = torch.tensor([x.shape[1] - row % 2 for row in range(len(x))])
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return pad_packed_sequence(self.gru(packed)[0], batch_first=True)[0]

    torch.manual_seed(0)
    ragged, x = Ragged(), inputs(8)
    expected = diagnose(ragged.gru, x[::2], probes=64).reach.multiplier
    reach = diagnose(ragged, x, probes=64).reach
    assert 4 == reach.samples
    assert expected == pytest.approx(reach.multiplier, rel=0.05)


def test_layers_that_are_computed_again_have_the_same_gradient() -> None:
    torch.manual_seed(0)
    gru, x = nn.GRU(8, 8, batch_first=True), inputs()
    expected = diagnose(gru, x, probes=64).reach.profile

    class Again(nn.Module):
        def __init__(self, reentrant: bool) -> None:
            super().__init__()
            self.gru, self.reentrant = gru, reentrant

        def forward(self, x: Tensor) -> Tensor:
            return checkpoint(self.gru, x, use_reentrant=self.reentrant)[0]

    for reentrant in (False, True):
        found = diagnose(Again(reentrant), x, probes=64).reach.profile
        assert expected == pytest.approx(found, rel=1e-9)


def test_a_scripted_module_is_measured_like_its_source() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(8, 8), nn.Tanh()), inputs()
    found = diagnose(torch.jit.script(model), x, probes=64)
    assert diagnose(model, x, probes=64).reach.profile == found.reach.profile


def test_a_direct_path_is_not_taken_for_fading() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix = nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            return 1e5 * x + self.mix(x).cumsum(1)

    report = diagnose(Residual(), inputs(), probes=64)
    assert 0 == report.reach.horizon
    assert not report.reach.fades(31)
    assert "none binds" == report.verdict.binding


def test_an_explosion_comes_before_what_it_spoils() -> None:
    torch.manual_seed(0)
    rnn = nn.RNN(8, 16, batch_first=True)
    with torch.no_grad():
        cast("Tensor", rnn.weight_hh_l0).copy_(3 * turn(16))
    report = diagnose(rnn, inputs(steps=96), recall=10**12, probes=64)
    assert report.memory.capacity < 16
    assert "gradient reach" == report.verdict.binding
    assert "clip" in report.verdict.remedy


def test_growth_is_called_an_explosion_only_beyond_a_thousandfold() -> None:
    report = diagnose(Linear(1.1 * turn(8), torch.eye(8)), inputs(steps=100), probes=64)
    assert report.reach.explodes
    assert "gradient reach" == report.verdict.binding
    assert "clip" in report.verdict.remedy
    assert 1.1**99 == pytest.approx(report.reach.growth, rel=1e-3)
    assert "explodes" in str(report)
    assert not diagnose(Linear(1.1 * turn(8), torch.eye(8)), inputs(), probes=64).reach.explodes


def test_each_layer_is_measured_on_request() -> None:
    torch.manual_seed(0)
    stack = nn.GRU(8, 8, num_layers=2, batch_first=True)
    report = diagnose(stack, inputs(), per_layer=True, probes=64)
    assert ["layer 0", "layer 1"] == list(report.layers)
    assert report.layers["layer 0"].profile == pytest.approx(report.reach.profile, rel=1e-9)
    assert report.layers["layer 1"].horizon <= report.reach.horizon
    assert {} == diagnose(stack, inputs(), probes=64).layers
    assert "into layer 1" in str(report)


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("batch_first", [True, False])
def test_a_layer_taken_cell_by_cell_is_the_layer(
    kind: Any, directions: int, layers: int, batch_first: bool
) -> None:
    layer = kind(
        4, 6, num_layers=layers, bidirectional=directions == 2, batch_first=batch_first
    ).double()
    x = torch.randn(5, 7, 4, dtype=torch.float64)
    h = torch.randn(layers * directions, 5 if batch_first else 7, 6, dtype=torch.float64)
    start = (h, h / 2) if kind is nn.LSTM else h
    expected, last = layer(x, start)
    found, end = step_by_step(copy.deepcopy(layer))(x, start)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(end, last)


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("lengths", [[7, 7, 7, 7], [7, 6, 2, 1], [2, 7, 1, 7]])
def test_packed_sequences_are_taken_cell_by_cell_too(
    kind: Any, directions: int, batch_first: bool, lengths: list[int]
) -> None:
    layer = kind(
        4, 6, num_layers=2, bidirectional=directions == 2, batch_first=batch_first
    ).double()
    x = torch.randn(4, 7, 4, dtype=torch.float64)
    in_order = lengths == sorted(lengths, reverse=True)
    packed = pack_padded_sequence(
        x if batch_first else x.transpose(0, 1), torch.tensor(lengths), batch_first, in_order
    )
    expected, last = layer(packed)
    found, end = step_by_step(copy.deepcopy(layer))(packed)
    torch.testing.assert_close(found.data, expected.data)
    torch.testing.assert_close(end, last)
    assert torch.equal(expected.batch_sizes, found.batch_sizes)
    assert in_order or torch.equal(expected.sorted_indices, found.sorted_indices)


def chain_at(model: nn.Module, x: Tensor) -> tuple[int, str]:
    chain = diagnose(model, x, probes=64).depth.chain
    return chain.values[-1], chain.law()


def test_known_chains_are_counted() -> None:
    x = inputs(steps=40, width=16)
    assert (40, "T") == chain_at(nn.RNN(16, 16, batch_first=True), x)
    assert (40, "T") == chain_at(nn.LSTM(16, 16, batch_first=True), x)
    assert (43, "T + 3") == chain_at(nn.GRU(16, 16, num_layers=4, batch_first=True), x)
    two_ways = nn.GRU(16, 16, num_layers=2, bidirectional=True, batch_first=True)
    assert (80, "2 T") == chain_at(two_ways, x)
    assert (6, "6 at any length") == chain_at(Block(), x)
    # Without the product that joins the heads, attention is a chain of three.
    layer = MultiHeadSelfAttention(16, 1)
    setattr(layer, "output", nn.Identity())  # noqa: B010
    assert (3, "3 at any length") == chain_at(layer, x)


def test_the_trace_finds_the_chain_of_the_autograd_graph() -> None:
    cell, x = RNNCell(4, 4), torch.randn(9, 2, 4)

    def loop() -> Tensor:
        h = torch.zeros(2, 4)
        for x_t in x:
            h = cell(x_t, h)
        return h

    assert 9 == longest_chain(loop()) == trace(loop).products


def test_a_loop_without_products_is_a_chain_of_operations() -> None:
    class Diagonal(nn.Module):
        def __init__(self, recurrence: scan.Scan) -> None:
            super().__init__()
            self.a, self.recurrence = nn.Parameter(torch.full((8,), 0.999)), recurrence

        def forward(self, x: Tensor) -> Tensor:
            return self.recurrence(self.a, x)

    x = inputs(steps=128)
    by_loop, by_scan = (
        diagnose(Diagonal(way), x, probes=64) for way in (scan.loop, scan.hillis_steele)
    )
    assert 0 == by_loop.depth.chain.values[-1] == by_scan.depth.chain.values[-1]
    assert 1 == by_loop.depth.operations.exponent
    assert 2 == by_loop.depth.operations.slope
    assert 0 == by_scan.depth.operations.exponent
    assert "at each doubling" in by_scan.depth.operations.law()
    assert ("sequential depth", "none binds") == (by_loop.verdict.binding, by_scan.verdict.binding)


def test_work_inside_of_an_autograd_function_is_seen() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: Tensor, W: Tensor) -> Tensor:
            return x @ W @ W

        @staticmethod
        def backward(ctx: object, *gradients: Tensor) -> tuple[None, None]:
            return None, None

    found = trace(lambda: Twice.apply(torch.ones(2, 3), torch.eye(3)))
    assert (2, 2 * 2 * (2 * 3 * 3)) == (found.products, found.flops)


@torch.library.custom_op("onehop_test::opaque", mutates_args=())
def opaque(x: Tensor) -> Tensor:
    return x.cumsum(1)


opaque.register_autograd(lambda ctx, gradient: gradient.flip(1).cumsum(1).flip(1))


def test_an_operator_that_cannot_be_seen_into_is_named() -> None:
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix = nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            return opaque(self.mix(x))

    report = diagnose(Hidden(), inputs(), probes=64)
    assert ("opaque",) == report.depth.opaque
    assert "cannot tell" == report.verdict.binding
    assert "cannot see inside opaque" in report.verdict.evidence


def test_fused_attention_is_two_products_of_known_work() -> None:
    q = torch.randn(2, 4, 16, 8)
    found = trace(lambda: nn.functional.scaled_dot_product_attention(q, q, q))
    assert (2, 2 * 4 * 4 * 16 * 16 * 8) == (found.products, found.flops)
    assert () == found.opaque


def test_flops_are_two_for_a_multiply_add() -> None:
    flops = diagnose(nn.RNN(8, 8, batch_first=True), inputs(), probes=64).depth.flops
    assert 4 * 4 * 32 * 8 * 8 == flops.values[-1]


def test_the_bound_follows_from_the_data_sheet() -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.W = nn.Linear(512, 512)

        def forward(self, x: Tensor) -> Tensor:
            return self.W(x)

    depth = diagnose(Wide(), inputs(32, 64, 512), probes=32).depth
    assert 2 * 32 * 64 * 512**2 / 312e12 == pytest.approx(depth.compute_seconds)
    narrow = diagnose(nn.RNN(8, 8, batch_first=True), inputs(), probes=64).depth
    assert "launch" == narrow.bound
    assert 0 < narrow.step_seconds[0] <= narrow.step_seconds[-1]


@pytest.mark.parametrize(
    ("values", "exponent", "law"),
    [
        ((7, 7, 7), 0, "7 at any length"),
        ((10, 20, 40), 1, "T + 0"),
        ((13, 23, 43), 1, "T + 3"),
        ((29, 59, 119), 1, "3 T − 1"),
        ((14, 16, 18), 0, "2 more at each doubling"),
        ((100, 400, 1600), 2, "grows like T^2.00"),
        ((33, 31, 31), 0, "at most 33"),
    ],
)
def test_growth_is_put_in_words(values: tuple[int, ...], exponent: float, law: str) -> None:
    growth = Growth((10, 20, 40), values)
    assert exponent == growth.exponent
    assert law.replace(" + 0", "") == growth.law()


def test_an_orthogonal_state_holds_as_many_numbers_as_it_is_wide() -> None:
    width, steps = 8, 16
    model = Linear(turn(width), torch.ones(width, 1))
    memory = diagnose(model, inputs(steps=steps, width=1), probes=4096).memory
    assert width == pytest.approx(memory.capacity, abs=0.3)
    assert width / steps == pytest.approx(np.mean(memory.scores), abs=0.03)
    assert (memory.floats, memory.visible) == (width, True)


def test_a_memory_spread_over_all_lags_is_counted_in_full() -> None:
    total = Returns(lambda x: x.cumsum(1))
    memory = diagnose(total, inputs(steps=96)).memory
    assert -1 == memory.horizon
    assert 8 == pytest.approx(memory.capacity, abs=0.5)
    first = diagnose(Returns(lambda x: x[:, 0]), inputs(steps=96)).memory
    assert 8 == pytest.approx(first.capacity, abs=0.5)


def test_copies_of_a_feature_are_one_number() -> None:
    x = inputs(steps=16, width=1).expand(-1, -1, 4) + torch.arange(4)
    assert 1 == pytest.approx(diagnose(Returns(lambda x: x[:, -1]), x).memory.capacity, abs=0.3)


def test_a_state_as_wide_as_its_sequences_are_long_is_a_state() -> None:
    memory = diagnose(Linear(turn(32), torch.randn(32, 8)), inputs(steps=32), probes=64).memory
    assert ("state that the model returns", 32) == (memory.state, memory.floats)


def test_what_is_just_enough_is_enough() -> None:
    register = Linear(torch.diag(torch.ones(7), -1), torch.eye(8)[:, :1])
    for recall, binds in ((8, False), (9, True)):
        report = diagnose(register, inputs(steps=32, width=1), recall=recall)
        assert binds == next(f for f in report.verdict.findings if f.constraint == "memory").binds


def test_a_shift_register_recalls_exactly_as_far_as_it_is_long() -> None:
    width = 8
    shift = torch.diag(torch.ones(width - 1), -1)
    memory = diagnose(
        Linear(shift, torch.eye(width)[:, :1]), inputs(steps=16, width=1), probes=512
    ).memory
    assert [1.0] * 8 == pytest.approx(memory.scores[:8], abs=1e-6)
    assert [0.0] * 8 == pytest.approx(memory.scores[8:], abs=0.05)
    assert 7 == memory.horizon
    assert width == pytest.approx(memory.capacity, abs=0.3)


def test_tokens_are_recalled_by_accuracy_above_chance() -> None:
    class Register(nn.Module):
        """Keeps the one-hot codes of the last three tokens."""

        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(6, 6)
            self.embed.weight = nn.Parameter(torch.eye(6))

        def forward(self, ids: Tensor) -> Tensor:
            x = nn.functional.pad(self.embed(ids), (0, 0, 2, 0))
            return torch.cat([x[:, 2:], x[:, 1:-1], x[:, :-2]], 2)

    memory = diagnose(Register(), torch.randint(6, (4, 16)), probes=512).memory
    assert [1.0, 1.0, 1.0] == pytest.approx(memory.scores[:3])
    assert [0.0] * 13 == pytest.approx(memory.scores[3:], abs=0.15)
    assert ("tokens", 2) == (memory.unit, memory.horizon)
    assert not memory.visible


def test_the_state_is_all_that_recurrent_layers_carry() -> None:
    memory = diagnose(nn.LSTM(8, 5, num_layers=2, batch_first=True), inputs(), probes=64).memory
    assert ("state of LSTM", 2 * 2 * 5) == (memory.state, memory.floats)
    assert "state of LSTM" == diagnose(Tagger(), torch.randint(12, (4, 32)), probes=64).memory.state


def test_bytes_kept_grow_with_the_square_in_attention_only() -> None:
    x = inputs(2, 256, 8)
    attention, rnn = (
        diagnose(model, x, probes=32)
        for model in (MultiHeadSelfAttention(8, 1), nn.RNN(8, 8, batch_first=True))
    )
    assert attention.memory.saved.exponent > 1.8
    assert 1 == pytest.approx(rnn.memory.saved.exponent, abs=0.01)
    assert "memory" == attention.verdict.binding
    assert "fused" in attention.verdict.remedy


def test_a_shorter_batch_is_not_charged_for_the_longer_one() -> None:
    class Twice(nn.Module):
        """Two layers that keep the same inputs: once, unless each has to make a copy."""

        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            return self.a(x) * self.b(x)

    layer = Twice()
    kept = [saved_bytes(lambda steps=steps: layer(inputs(2, steps, 8))) for steps in (16, 32, 64)]
    saved = diagnose(layer, inputs(2, 64, 8), probes=32).memory.saved
    assert kept == list(saved.values)
    assert 1 == saved.exponent


def test_the_five_models_have_the_constraint_that_they_were_built_with() -> None:
    torch.manual_seed(0)
    x = inputs(8, 200, 8)
    lstm = nn.LSTM(8, 32, batch_first=True)
    set_forget_bias(lstm, 3.0)
    found = {
        "default RNN": diagnose(nn.RNN(8, 32, batch_first=True), x),
        "LSTM, forget bias 3": diagnose(lstm, x),
        "narrow state": diagnose(nn.GRU(8, 4, batch_first=True), x, steps=12, recall=16),
        "attention": diagnose(MultiHeadSelfAttention(8, 1), x, probes=64),
        "diagonal SSM": diagnose(DiagonalSSM(8, 16, np.random.default_rng(0)), x),
    }
    assert {
        "default RNN": "gradient reach",
        "LSTM, forget bias 3": "sequential depth",
        "narrow state": "memory",
        "attention": "memory",
        "diagonal SSM": "none binds",
    } == {name: report.verdict.binding for name, report in found.items()}
    assert "widen the state" in found["narrow state"].verdict.remedy


def test_what_stops_learning_comes_before_what_costs_time() -> None:
    verdict = diagnose(nn.RNN(8, 8, batch_first=True), inputs(steps=64), probes=64).verdict
    binding = [finding.constraint for finding in verdict.findings if finding.binds]
    assert {"gradient reach", "sequential depth"} <= set(binding)
    assert "gradient reach" == verdict.binding


def test_a_model_of_one_length_is_not_judged_on_growth() -> None:
    class Fixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.places = nn.Parameter(torch.randn(32, 8))

        def forward(self, x: Tensor) -> Tensor:
            return (x + self.places).cumsum(1)

    report = diagnose(Fixed(), inputs(), probes=64)
    assert "cannot tell" == report.verdict.binding
    assert "does not run at both 8 and 16 steps" in report.verdict.evidence
    assert "a quarter and a half" in report.verdict.remedy
    assert report.to_dict()["memory"]["saved"]["exponent"] is None


def test_too_few_probes_are_said_to_be_too_few() -> None:
    report = diagnose(nn.LSTM(8, 32, batch_first=True), inputs(), steps=8, probes=64, recall=64)
    finding = next(f for f in report.verdict.findings if f.constraint == "memory")
    assert finding.binds is None
    assert "probes=256" in finding.remedy


def test_either_layout_gives_the_same_report() -> None:
    torch.manual_seed(0)
    batch_first = nn.GRU(8, 8, batch_first=True)
    time_first = nn.GRU(8, 8)
    time_first.load_state_dict(batch_first.state_dict())
    x = inputs()
    a, b = diagnose(batch_first, x, probes=64), diagnose(time_first, x.transpose(0, 1), probes=64)
    assert (False, True) == (a.time_first, b.time_first)
    assert a.reach.profile == pytest.approx(b.reach.profile, rel=1e-9)
    assert a.depth.chain == b.depth.chain
    assert a.memory.scores == pytest.approx(b.memory.scores, abs=1e-4)
    assert b.reach == diagnose(time_first, x.transpose(0, 1), probes=64, batch_first=False).reach


def test_one_sequence_is_enough() -> None:
    reach = diagnose(nn.GRU(8, 8), inputs(1).transpose(0, 1), probes=64).reach
    assert 8 == reach.samples
    assert reach.low < reach.multiplier < reach.high


def test_steps_may_stand_on_another_axis_of_the_outputs() -> None:
    torch.manual_seed(0)
    for padding in (0, 1):
        kernel = nn.Conv1d(8, 12, 3, padding=padding)
        last = diagnose(kernel, inputs(), call=lambda model, x: model(x.transpose(1, 2)), probes=64)
        assert 2 - padding == last.reach.field
        assert "beyond lag" in last.verdict.evidence
        assert 12 == last.memory.floats


def test_outputs_of_a_fixed_number_are_all_followed() -> None:
    halves = Returns(lambda x: torch.stack([x[:, :-1].mean(1), x[:, -1]], 1))
    report = diagnose(halves, inputs(), probes=64)
    assert 31 == report.reach.field
    assert 16 == report.memory.floats


@dataclass
class Outputs:
    loss: Tensor
    scores: Tensor


def test_a_loss_before_the_outputs_is_passed_over() -> None:
    torch.manual_seed(0)
    x = inputs()
    expected = diagnose(Returns(lambda x: x.cumsum(1)), x, probes=64).reach
    for wrap in (Outputs, lambda *parts: dict(zip("ab", parts, strict=True)), lambda *parts: parts):
        returned = Returns(lambda x, wrap=wrap: wrap(x.mean(), x.cumsum(1)))
        assert expected == diagnose(returned, x, probes=64).reach


def test_the_order_of_sequences_does_not_matter() -> None:
    model, x = nn.GRU(8, 8, batch_first=True), inputs(64)
    a, b = (diagnose(model, batch, probes=64).reach for batch in (x, x.flip(0)))
    assert a.multiplier == pytest.approx(b.multiplier, rel=0.02)


@pytest.mark.parametrize(
    ("model", "steps_chain"),
    [
        (Tagger(), "T + 1"),
        (Tagger(num_layers=2), "T + 2"),
        (nn.Sequential(nn.Embedding(12, 8), nn.Linear(8, 8)), "1 at any length"),
    ],
)
def test_token_ids_are_followed_from_their_embedding(model: nn.Module, steps_chain: str) -> None:
    report = diagnose(model, torch.randint(12, (4, 32)), probes=64)
    assert steps_chain == report.depth.chain.law()
    assert 32 == len(report.reach.profile)


def test_ids_may_be_flattened_or_named() -> None:
    class Flat(nn.Module):
        def __init__(self, named: bool) -> None:
            super().__init__()
            self.embed, self.named = nn.Embedding(12, 8), named

        def forward(self, ids: Tensor) -> Tensor:
            x = self.embed(input=ids) if self.named else self.embed(ids.flatten())
            return x.view(*ids.shape, 8).cumsum(1)

    for named in (False, True):
        reach = diagnose(Flat(named), torch.randint(12, (4, 32)), probes=64).reach
        assert 1 == pytest.approx(reach.multiplier)
        assert 32 == len(reach.profile)


def test_ids_may_be_turned_before_they_are_embedded() -> None:
    class Turned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.rnn = nn.Embedding(12, 8), nn.RNN(8, 8)

        def forward(self, ids: Tensor) -> Tensor:
            return self.rnn(self.embed(ids.T))[0].transpose(0, 1)

    report = diagnose(Turned(), torch.randint(12, (4, 32)), probes=64)
    assert not report.time_first
    assert 32 == len(report.reach.profile)
    assert report.reach.multiplier < 0.9


def test_a_call_of_ones_own_reaches_masks_and_keywords() -> None:
    encoder = Block(causal=False).layers

    def masked(model: nn.Module, x: Tensor) -> Tensor:
        return model(
            x, mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
        )

    report = diagnose(encoder, inputs(width=16), call=masked, probes=64)
    assert "6 at any length" == report.depth.chain.law()
    assert 1 == pytest.approx(report.reach.multiplier, abs=0.05)


def test_the_model_and_torchs_state_stay_as_they_are() -> None:
    layer = nn.Linear(8, 8)
    layer.bias.requires_grad_(False)
    model = nn.Sequential(nn.Dropout(0.5), layer, nn.Tanh()).train()
    model(inputs()).sum().backward()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    gradient = cast("Tensor", layer.weight.grad)
    kept_gradient = gradient.clone()
    x = inputs()
    states = torch.get_rng_state(), random.getstate()
    first = diagnose(model, x, probes=64)
    assert torch.equal(states[0], torch.get_rng_state())
    assert states[1] == random.getstate()
    assert (torch.float32, 1, True) == (
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch.is_grad_enabled(),
    )
    assert model.training
    assert not layer.bias.requires_grad
    assert layer.weight.grad is gradient
    assert torch.equal(kept_gradient, gradient)
    for name, tensor in model.state_dict().items():
        assert torch.equal(before[name], tensor)
    second = diagnose(model, x, probes=64)
    assert first.reach == second.reach
    assert first.memory == second.memory


def test_a_model_that_keeps_its_last_state_can_be_measured() -> None:
    class Stateful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.last = nn.GRUCell(8, 8), (torch.zeros(0),)

        def forward(self, x: Tensor) -> Tensor:
            h, states = x.new_zeros(len(x), 8), []
            for x_t in x.unbind(1):
                h = self.cell(x_t, h)
                states.append(h)
            self.last = (h,)
            return torch.stack(states, 1)

    model = Stateful()
    model(inputs())
    kept = model.last[0]
    report = diagnose(model, inputs(), probes=64)
    assert "T" == report.depth.chain.law()
    assert "state of GRUCell" == report.memory.state
    assert model.last[0] is kept


def test_a_state_kept_between_calls_leaks_into_no_other_measurement() -> None:
    class Kept(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru, self.h = nn.GRU(8, 8, batch_first=True), torch.zeros(1, 4, 8)

        def forward(self, x: Tensor) -> Tensor:
            states, h = self.gru(x, self.h)
            self.h = h.detach() + 1
            return states

    torch.manual_seed(0)
    model = Kept()
    report = diagnose(model, inputs(), probes=62)
    assert "8 T" in report.depth.operations.law()
    assert 64 == report.memory.sequences  # four at a time, as many as there are states for
    assert not model.h.any()


def test_a_model_that_writes_into_its_inputs_is_measured_on_what_it_was_given() -> None:
    def scaled(x: Tensor) -> Tensor:
        return x.mul_(3).tanh()

    x = inputs()
    expected = diagnose(Returns(lambda x: (3 * x).tanh()), x).memory.scores
    assert expected == diagnose(Returns(scaled), x).memory.scores


class Returns(nn.Module):
    """Returns what a function makes of the inputs."""

    def __init__(self, function: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> object:
        return self.function(x)


class Broken(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)
        nn.init.constant_(self.layer.weight, math.nan)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


class OneWay(torch.autograd.Function):
    """Cannot be gone back through."""

    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: object, *gradients: Tensor) -> None:
        raise TypeError("no way back")


@pytest.mark.parametrize(
    ("model", "batch", "message"),
    [
        (len, inputs(), "model: expected a torch.nn.Module, got builtin"),
        (nn.Identity(), [1.0], "batch: expected a tensor, got list"),
        (nn.Identity(), torch.ones(4, 32), "batch: expected numbers with the axes"),
        (nn.Identity(), inputs()[:0], "batch: expected numbers with the axes"),
        (nn.Identity(), inputs(steps=5), "batch: expected at least 8 steps, got 5"),
        (nn.Linear(3, 3), inputs(), "model: expected to run on a batch of shape .4, 32, 8., got"),
        (
            Returns(lambda x: x.sum()),
            inputs(),
            "model: expected a tensor.*got numbers without axes",
        ),
        (Returns(lambda x: x.argmax(2)), inputs(), "model: expected floating-point outputs"),
        (Returns(lambda x: "text"), inputs(), "model: expected a tensor of outputs.*got str"),
        (Returns(lambda x: x.detach()), inputs(), "model: expected outputs that depend on"),
        (Returns(lambda x: x + x.mean((0, 1))), inputs(), "batch: expected sequences that do not"),
        (Returns(lambda x: x / 0 * 0), inputs(), "model: expected finite outputs"),
        (nn.Linear(8, 8), inputs() / 0, "batch: expected finite numbers"),
        (Broken(), inputs(), "model: expected finite weights, got nan or infinity in layer.weight"),
        (nn.LazyLinear(3), inputs(), "model: expected weights, got none in weight: call the model"),
        (
            Returns(cast("Any", (x for x in ()))),
            inputs(),
            "that copy.deepcopy copies, got TypeError: cannot pickle",
        ),
        (Returns(lambda x: {}["a"]), inputs(), "got KeyError: 'a' .*test_diagnosis.py:"),
        (Returns(OneWay.apply), inputs(), "model: expected a backward pass.*test_diagnosis.py:"),
        (
            Returns(lambda x: x.sum(1)[None]),
            inputs(),
            r"in outputs of shape \(1, 4, 8\); call= can",
        ),
        (Returns(torch.Tensor.double), torch.ones(4, 32).long(), "read by an nn.Embedding"),
        (nn.Linear(8, 8), torch.ones(4, 32, 8), "batch: expected inputs that differ"),
    ],
)
def test_what_cannot_be_measured_is_said(model: Any, batch: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        diagnose(model, batch, probes=64)


def test_a_batch_shorter_than_the_task_is_repeated() -> None:
    report = diagnose(nn.GRU(8, 8, batch_first=True), inputs(), steps=80, probes=64)
    assert (80, 80) == (report.steps, len(report.reach.profile))
    assert 80 == report.depth.chain.values[-1]


def test_a_task_that_the_model_cannot_run_is_refused() -> None:
    class Short(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.places = nn.Parameter(torch.randn(40, 8))

        def forward(self, x: Tensor) -> Tensor:
            return (x + self.places[: x.shape[1]]).cumsum(1)

    with pytest.raises(ValueError, match="steps: expected a length that the model takes, got 64"):
        diagnose(Short(), inputs(), steps=64)


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"steps": 5}, "steps: expected a whole number from 8 on, got 5"),
        ({"steps": 64.0}, "steps: expected a whole number from 8 on, got 64.0"),
        ({"recall": 0}, "recall: expected a whole number from 1 on, got 0"),
        ({"probes": 2}, "probes: expected a whole number from 16 on, got 2"),
        ({"accelerator": "a100"}, "accelerator: expected one of onehop.roofline.*got 'a100'"),
    ],
)
def test_a_task_that_is_none_is_refused(task: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        diagnose(nn.GRU(8, 8, batch_first=True), inputs(), **task)


def test_a_shorter_task_is_measured_at_its_own_length() -> None:
    model, x = nn.RNN(8, 8, batch_first=True), inputs()
    assert 12 == len(diagnose(model, x, steps=12, probes=64).reach.profile)
    assert "gradient reach" == diagnose(model, x, probes=64).verdict.binding


def test_a_report_is_a_table_data_and_a_picture() -> None:
    report = diagnose(nn.RNN(8, 8, batch_first=True), inputs(), probes=64)
    lines = str(report).splitlines()
    assert "RNN: 4 sequences of 32 steps, batch first" == lines[0]
    assert ["gradient reach", "sequential depth", "memory", "verdict"] == [
        line[:16].strip() for line in lines[1:] if line[0] != " "
    ]
    assert max(map(len, lines)) <= 84
    assert report.verdict.evidence in " ".join(" ".join(lines).split())
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["verdict"]["binding"] == report.verdict.binding
    assert data["reach"]["profile"] == list(report.reach.profile)
    picture = ElementTree.fromstring(report.figure())
    curves = picture.findall(".//{http://www.w3.org/2000/svg}polyline")
    assert [32, len(report.memory.lags)] == [len(c.attrib["points"].split()) for c in curves]


def test_the_package_offers_the_instrument_by_name() -> None:
    assert diagnose is onehop.diagnose
    with pytest.raises(AttributeError, match="no attribute 'diagnosis_of'"):
        onehop.diagnosis_of  # noqa: B018


FACTORIES = """
import torch
from torch import nn


def model():
    return nn.GRU(4, 8, batch_first=True)


def turned():
    return nn.GRU(4, 8)


def tokens():
    return nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 4))


def pair():
    return nn.Conv1d(4, 4, 1), torch.randn(2, 4, 16)


def number():
    return 3


def unknown():
    return nn.Tanh()


def fails():
    return 1 / 0


class Later(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores, self.gru = nn.Linear(8, 2), nn.GRU(4, 8, batch_first=True)

    def forward(self, x):
        return self.scores(self.gru(x)[0])


ready = Later()
"""


@pytest.fixture
def factories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "made_here.py").write_text(FACTORIES, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return "made_here"


def test_the_command_prints_the_report_of_what_a_factory_makes(
    factories: str, tmp_path: Path
) -> None:
    task = ["--steps", "64", "--figure", "reach.svg"]
    run = subprocess.run(
        [sys.executable, "-m", "onehop", "diagnose", f"{factories}:model", *task],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert 0 == run.returncode, run.stderr
    assert "GRU: 8 sequences of 64 steps, batch first" == run.stdout.splitlines()[0]
    assert "gradient reach" in run.stdout.split("binds first")[1].splitlines()[0]
    assert ElementTree.parse(tmp_path / "reach.svg").getroot().tag.endswith("svg")


def test_the_command_makes_inputs_for_the_first_layer(
    factories: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = (("turned", True), ("tokens", False), ("Later", False), ("ready", False))
    for name, found in made:
        assert 0 == command.main(["diagnose", f"{factories}:{name}", "--steps", "16", "--json"])
        report = json.loads(capsys.readouterr().out)
        assert (16, 8, found) == (report["steps"], report["sequences"], report["time_first"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("made_here", "expected module:factory, got 'made_here'"),
        ("made_here:none", "has no attribute 'none'"),
        ("not_there:model", "No module named 'not_there'"),
        ("made_here:number", "expected a torch.nn.Module, or one and a batch, got int"),
        ("made_here:unknown", "let it return the model and a batch"),
        ("made_here:fails", "made_here.py:31)"),
        ("made_here:pair", "batch: expected at least 8 steps, got 4"),
        (":model", "expected module:factory, got ':model'"),
    ],
)
def test_a_factory_that_fails_is_named(
    factories: str, capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    assert 2 == command.main(["diagnose", name])
    assert message in capsys.readouterr().err


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_a_gpu_finds_the_same() -> None:
    torch.manual_seed(0)
    x = inputs()
    for model in (nn.LSTM(8, 8, num_layers=2, batch_first=True), MultiHeadSelfAttention(8, 2)):
        here = diagnose(model, x, probes=64)
        there = diagnose(copy.deepcopy(model).cuda(), x.cuda(), probes=64)
        assert here.reach.profile == pytest.approx(there.reach.profile, rel=1e-9)
        assert here.depth.chain == there.depth.chain
        assert here.verdict.binding == there.verdict.binding
