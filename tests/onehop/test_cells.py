import math

import pytest
import torch
from torch import nn

from onehop.cells import GRUCell, LSTMCell, RNNCell, parameter_count

PAIRS = [(RNNCell, nn.RNNCell), (LSTMCell, nn.LSTMCell), (GRUCell, nn.GRUCell)]


def pair(ours: type, theirs: type) -> tuple[nn.Module, nn.Module]:
    reference = theirs(3, 4)
    cell = ours(3, 4)
    cell.load_state_dict(reference.state_dict())
    return cell, reference


def state(cell: nn.Module, batch: int) -> list[torch.Tensor]:
    return [torch.randn(batch, 4) for _ in range(2 if isinstance(cell, LSTMCell) else 1)]


def logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


def hand_set_lstm(i: float, f: float, g: float, o: float) -> LSTMCell:
    """A cell of width 1 whose four gates have these sums whatever it reads."""
    cell = LSTMCell(1, 1)
    for parameter in cell.parameters():
        nn.init.zeros_(parameter)
    with torch.no_grad():
        cell.bias_ih.copy_(torch.tensor([i, f, g, o]))
    return cell


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_scratch_cell_equals_torch(ours, theirs):
    cell, reference = pair(ours, theirs)
    x, states = torch.randn(5, 3), state(cell, 5)
    expected = reference(x, tuple(states) if len(states) == 2 else states[0])
    torch.testing.assert_close(cell(x, *states), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("ours", "layer_type"), [(RNNCell, nn.RNN), (LSTMCell, nn.LSTM), (GRUCell, nn.GRU)]
)
def test_scratch_cell_in_a_loop_equals_torch_layer(ours, layer_type):
    layer, cell = layer_type(3, 4, batch_first=True), ours(3, 4)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in layer.state_dict().items()})
    inputs = torch.randn(2, 20, 3)
    states = [torch.zeros_like(s) for s in state(cell, 2)]
    outputs = []
    for x in inputs.unbind(1):
        result = cell(x, *states)
        states = list(result) if isinstance(result, tuple) else [result]
        outputs.append(states[0])
    torch.testing.assert_close(torch.stack(outputs, 1), layer(inputs)[0], rtol=0, atol=1e-6)


def test_lstm_output_has_a_tanh_on_the_cell_state():
    cell = hand_set_lstm(i=logit(0.8), f=logit(0.5), g=1.2, o=logit(0.9))
    h, c = cell(torch.zeros(1, 1), torch.zeros(1, 1), torch.tensor([[1.5]]))
    assert 1.4169 == pytest.approx(c.item(), abs=5e-5)
    assert 0.8001 == pytest.approx(h.item(), abs=5e-5)  # o * c without the tanh is 1.2752


def test_lstm_gates_lie_in_the_order_input_forget_candidate_output():
    shut, open_ = -100.0, 100.0
    zero, c = torch.zeros(1, 1), torch.tensor([[0.7]])
    keep = hand_set_lstm(i=shut, f=open_, g=1.0, o=open_)
    assert 0.7 == pytest.approx(keep(zero, zero, c)[1].item())
    write = hand_set_lstm(i=open_, f=shut, g=1.0, o=open_)
    assert math.tanh(1.0) == pytest.approx(write(zero, zero, c)[1].item())
    hide = hand_set_lstm(i=open_, f=open_, g=1.0, o=shut)
    assert 0.0 == pytest.approx(hide(zero, zero, c)[0].item())


def test_gru_gates_lie_in_the_order_reset_update_candidate():
    cell = GRUCell(1, 1)
    for parameter in cell.parameters():
        nn.init.zeros_(parameter)
    h = torch.tensor([[0.7]])
    with torch.no_grad():
        cell.bias_ih.copy_(torch.tensor([0.0, 100.0, 5.0]))
    assert 0.7 == pytest.approx(cell(torch.zeros(1, 1), h).item())
    with torch.no_grad():
        cell.bias_ih.copy_(torch.tensor([-100.0, -100.0, 0.5]))
        cell.bias_hh.copy_(torch.tensor([0.0, 0.0, 9.0]))
    assert math.tanh(0.5) == pytest.approx(cell(torch.zeros(1, 1), h).item())


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_a_permuted_batch_gives_permuted_states(ours, theirs):
    cell, _ = pair(ours, theirs)
    x, states, order = torch.randn(5, 3), state(cell, 5), torch.tensor([3, 0, 4, 1, 2])
    straight, permuted = cell(x, *states), cell(x[order], *(s[order] for s in states))
    if isinstance(cell, LSTMCell):
        straight, permuted = straight[0], permuted[0]
    torch.testing.assert_close(permuted, straight[order])


@pytest.mark.parametrize(
    ("kind", "one_bias", "two_biases"),
    [("rnn", 524_800, 525_312), ("gru", 1_574_400, 1_575_936), ("lstm", 2_099_200, 2_101_248)],
)
def test_parameters_with_one_and_with_two_biases(kind, one_bias, two_biases):
    assert one_bias == parameter_count(kind, 512, 512, biases=1)
    assert two_biases == parameter_count(kind, 512, 512, biases=2)


@pytest.mark.parametrize(
    ("kind", "layer", "cell"),
    [("rnn", nn.RNN, RNNCell), ("gru", nn.GRU, GRUCell), ("lstm", nn.LSTM, LSTMCell)],
)
def test_torch_and_the_cells_here_have_two_biases(kind, layer, cell):
    expected = parameter_count(kind, 7, 5, biases=2)
    assert expected == sum(p.numel() for p in layer(7, 5).parameters())
    assert expected == sum(p.numel() for p in cell(7, 5).parameters())


def test_only_the_sum_of_the_two_lstm_biases_matters_but_not_in_a_gru():
    x, h, c = torch.randn(4, 2), torch.randn(4, 3), torch.randn(4, 3)
    lstm, gru = LSTMCell(2, 3), GRUCell(2, 3)
    of_input, of_state = torch.autograd.grad(lstm(x, h, c)[0].sum(), (lstm.bias_ih, lstm.bias_hh))
    assert torch.equal(of_input, of_state)
    of_input, of_state = torch.autograd.grad(gru(x, h).sum(), (gru.bias_ih, gru.bias_hh))
    assert torch.equal(of_input[:6], of_state[:6])
    assert not torch.allclose(of_input[6:], of_state[6:])


@pytest.mark.parametrize(
    ("x", "h", "c", "message"),
    [
        ((4, 7, 2), (4, 3), (4, 3), r"x: expected the axes \(batch, inputs = 2\), got .*4, 7, 2"),
        ((4, 3), (4, 3), (4, 3), r"x: expected the axes \(batch, inputs = 2\), got .*4, 3"),
        ((4, 2), (1, 4, 3), (4, 3), r"h: expected the axes \(batch, width = 3\), got .*1, 4, 3"),
        ((4, 2), (4, 3), (4, 2), r"c: expected the axes \(batch, width = 3\), got .*4, 2"),
    ],
)
def test_other_axes_are_refused(x, h, c, message):
    with pytest.raises(ValueError, match=message):
        LSTMCell(2, 3)(torch.zeros(x), torch.zeros(h), torch.zeros(c))


def test_unknown_kinds_and_bias_counts_are_refused():
    with pytest.raises(ValueError, match="expected one of rnn, gru, lstm, got 'LSTM'"):
        parameter_count("LSTM", 2, 3, biases=2)
    with pytest.raises(ValueError, match="biases: expected 1 or 2, got 0"):
        parameter_count("lstm", 2, 3, biases=0)
