import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from onehop.attention import MultiHeadSelfAttention
from onehop.cells import GRUCell, LSTMCell, RNNCell
from onehop.counting import product_flops
from onehop.depth import earliest_rounds, longest_chain, product_count

WIDTH = 4


def stepped(cell: nn.Module, steps: int) -> Tensor:
    """The last state of a cell that reads `steps` inputs."""
    state = [torch.zeros(1, WIDTH)] * (2 if isinstance(cell, LSTMCell) else 1)
    for x in torch.ones(steps, 1, WIDTH):
        after = cell(x, *state)
        state = after if isinstance(after, tuple) else (after,)
    return state[0]


def in_waves(layers: int, steps: int) -> Tensor:
    """A stack of cells, in which every cell reads the step of the layer below."""
    cells = [RNNCell(WIDTH, WIDTH) for _ in range(layers)]
    states = [torch.zeros(1, WIDTH)] * layers
    for x in torch.ones(steps, 1, WIDTH):
        below = x
        for layer, cell in enumerate(cells):
            states[layer] = below = cell(below, states[layer])
    return states[-1]


def stack_needs(layers: int, steps: int) -> dict[tuple[int, int], list[tuple[int, int]]]:
    return {
        (layer, step): [(layer - 1, step)] * (layer > 1) + [(layer, step - 1)] * (step > 1)
        for layer in range(1, layers + 1)
        for step in range(1, steps + 1)
    }


# Graphs written by hand


def test_a_task_is_finished_after_all_that_it_needs():
    needs = {"bread": ["dough"], "dough": ["flour", "water"], "toast": ["bread"], "jam": []}
    expected = {"flour": 1, "water": 1, "jam": 1, "dough": 2, "bread": 3, "toast": 4}
    assert expected == earliest_rounds(needs)


def test_a_free_task_takes_no_round():
    assert {"a": 1, "b": 1, "c": 2} == earliest_rounds(
        {"c": ["b"], "b": ["a"]}, lambda task: task != "b"
    )


def test_a_task_that_needs_itself_is_refused():
    with pytest.raises(ValueError, match="cycle"):
        earliest_rounds({"egg": ["hen"], "hen": ["egg"]})


@pytest.mark.parametrize(("layers", "steps"), [(1, 2048), (6, 2048), (48, 100), (100, 48)])
def test_a_stack_of_layers_needs_steps_plus_layers_minus_one_rounds(layers, steps):
    rounds = earliest_rounds(stack_needs(layers, steps))
    assert steps + layers - 1 == max(rounds.values()) == rounds[layers, steps]
    assert all(layer + step - 1 == when for (layer, step), when in rounds.items())


# Graphs that torch records


@pytest.mark.parametrize("cell_type", [RNNCell, LSTMCell, GRUCell])
@pytest.mark.parametrize("steps", [1, 16, 2048])
def test_a_recurrent_layer_has_one_link_a_step(cell_type, steps):
    last = stepped(cell_type(WIDTH, WIDTH), steps)
    assert steps == longest_chain(last)
    assert 2 * steps == product_count(last)


@pytest.mark.parametrize("layer_type", [nn.RNN, nn.GRU])
def test_torchs_own_layers_have_the_chain_of_the_loop(layer_type):
    outputs, _ = layer_type(WIDTH, WIDTH, batch_first=True)(torch.ones(1, 100, WIDTH))
    assert 100 == longest_chain(outputs[:, -1])


@pytest.mark.parametrize("steps", [2, 64, 512])
def test_attention_has_five_products_three_of_them_in_a_row(steps):
    outputs, _ = MultiHeadSelfAttention(WIDTH, 1)(torch.ones(1, steps, WIDTH))
    # The module's output projection is the sixth product and the fourth link.
    assert (6, 4) == (product_count(outputs), longest_chain(outputs))


def test_a_transformer_block_of_torch_has_a_chain_of_six():
    block = nn.TransformerEncoderLayer(WIDTH, 2, batch_first=True)
    # torch computes queries, keys and values by one product: 6 instead of 8.
    outputs = block(torch.ones(1, 32, WIDTH))
    assert (6, 6) == (product_count(outputs), longest_chain(outputs))


@pytest.mark.parametrize(("layers", "chain"), [(1, 128), (2, 129), (4, 131), (8, 135)])
def test_layers_that_step_together_wait_once_each(layers, chain):
    measured = longest_chain(in_waves(layers, 128))
    assert chain == measured == max(earliest_rounds(stack_needs(layers, 128)).values())


@pytest.mark.parametrize("layers", [1, 2, 4])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_torchs_stack_waits_for_whole_layers(layers, bidirectional):
    stack = nn.RNN(WIDTH, WIDTH, layers, batch_first=True, bidirectional=bidirectional)
    outputs, _ = stack(torch.ones(1, 50, WIDTH))
    assert 50 * layers == longest_chain(outputs[:, -1])


def test_every_product_that_is_counted_is_also_seen_by_the_flop_counter():
    cell = GRUCell(WIDTH, WIDTH)
    with FlopCounterMode(display=False) as counter:
        last = stepped(cell, 10)
    assert product_count(last) * product_flops(1, WIDTH, 3 * WIDTH) == counter.get_total_flops()


def test_element_wise_operations_are_no_link():
    x = torch.ones(3, requires_grad=True)
    assert 0 == longest_chain((x * x).exp().sum())
    assert 1 == longest_chain((x * x) @ x)


ONE_PRODUCT = {
    "mm": lambda W, v: W @ W,
    "mv": lambda W, v: W @ v,
    "dot": lambda W, v: v @ v,
    "addmv": lambda W, v: torch.addmv(v, W, v),
    "bmm": lambda W, v: W[None] @ W[None],
    "baddbmm": lambda W, v: torch.baddbmm(W[None], W[None], W[None]),
    "addbmm": lambda W, v: torch.addbmm(W, W[None], W[None]),
    "linear": lambda W, v: nn.functional.linear(v[None], W, v),
    "convolution": lambda W, v: nn.functional.conv1d(W[None], W[..., None]),
    "einsum": lambda W, v: torch.einsum("ij,j->i", W, v),
}


@pytest.mark.parametrize("kind", ONE_PRODUCT)
def test_every_kind_of_product_is_one_link(kind):
    W, v = torch.ones(3, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    product = ONE_PRODUCT[kind](W, v)
    assert 1 == longest_chain(product) == product_count(product)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: nn.LSTM(WIDTH, WIDTH)(x)[0],
        lambda x: nn.functional.scaled_dot_product_attention(*[x[:, None]] * 3),
        lambda x: nn.Bilinear(WIDTH, WIDTH, WIDTH)(x, x),
    ],
    ids=["nn.LSTM", "scaled_dot_product_attention", "nn.Bilinear"],
)
@pytest.mark.parametrize("measure", [longest_chain, product_count])
def test_a_fused_operator_is_refused_instead_of_counted_as_one(compute, measure):
    with pytest.raises(ValueError, match=r"^output: expected products one by one, got the fused"):
        measure(compute(torch.ones(2, 5, WIDTH, requires_grad=True)))


@pytest.mark.parametrize("measure", [longest_chain, product_count])
def test_a_tensor_without_a_graph_is_refused(measure):
    with pytest.raises(ValueError, match=r"^output: .* requires a gradient"):
        measure(torch.ones(3))


@pytest.mark.parametrize("steps", [8, 64])
def test_a_batch_does_not_lengthen_the_chain(steps):
    layer = nn.RNN(WIDTH, WIDTH, batch_first=True)
    alone, together = (layer(torch.ones(batch, steps, WIDTH))[0] for batch in (1, 64))
    assert steps == longest_chain(alone) == longest_chain(together)


def test_the_chain_to_an_earlier_state_is_shorter():
    cell = RNNCell(WIDTH, WIDTH)
    assert [1, 7, 20] == [longest_chain(stepped(cell, steps)) for steps in (1, 7, 20)]
