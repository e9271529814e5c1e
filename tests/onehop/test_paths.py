import math

import numpy as np
import pytest
import torch
from torch import nn

from onehop.attention import MultiHeadSelfAttention, causal_mask
from onehop.convolutional import kernel_mask
from onehop.initialisation import uniform_
from onehop.paths import distances, path_counts, readers, receptive_field, stacked

WIDTH = 4


def recurrent(steps: int) -> dict[int, list[int]]:
    return {t: [t + 1] for t in range(steps - 1)}


def doubling(steps: int, layers: int, kernel: int = 2) -> list[torch.Tensor]:
    return [kernel_mask(steps, kernel, 2**layer) for layer in range(layers)]


def by_powers(mask: torch.Tensor, goal: int) -> int:
    """The distance from 0 to `goal` without a search: the first power of the mask that has it."""
    reached, edges = torch.eye(len(mask)), 0
    while not reached[goal, 0]:
        reached, edges = (mask.float() @ reached).clamp(max=1), edges + 1
    return edges


# Distances


def test_edges_are_followed_in_their_direction():
    graph = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "x": ["a"]}
    assert {"a": 0, "b": 1, "c": 1, "d": 2} == distances(graph, "a")


def test_of_two_paths_the_shorter_counts():
    graph = {"a": ["b", "c"], "b": ["e"], "c": ["d"], "d": ["e"]}
    assert 2 == distances(graph, "a")["e"]
    shortcuts = {t: [t + 1, t + 8] for t in range(1023)}
    assert 1023 // 8 + 1023 % 8 == distances(shortcuts, 0)[1023]


@pytest.mark.parametrize("steps", [2, 16, 1024])
def test_a_recurrent_network_has_an_edge_for_every_step(steps):
    assert steps - 1 == distances(recurrent(steps), 0)[steps - 1]


@pytest.mark.parametrize("kernel", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("steps", [50, 51])
def test_a_causal_kernel_passes_k_minus_one_steps_a_layer(kernel, steps):
    mask = kernel_mask(steps, kernel)
    edges = distances(readers(mask), 0)
    assert [math.ceil(lag / (kernel - 1)) for lag in range(steps)] == [*edges.values()]
    assert by_powers(mask, steps - 1) == edges[steps - 1]


@pytest.mark.parametrize("kernel", [3, 5, 7])
def test_a_centred_kernel_passes_half_as_many(kernel):
    mask = kernel_mask(50, kernel, causal=False)
    edges = distances(readers(mask), 0)
    assert [math.ceil(lag / (kernel // 2)) for lag in range(50)] == [*edges.values()]
    assert by_powers(mask, 49) == edges[49]


@pytest.mark.parametrize(("steps", "layers"), [(16, 4), (17, 5), (64, 6), (256, 8), (1024, 10)])
def test_doubling_dilations_need_the_logarithm(steps, layers):
    goal = steps - 1
    assert layers == distances(stacked(doubling(steps, layers)), (0, 0))[layers, goal]
    assert (layers - 1, goal) not in distances(stacked(doubling(steps, layers - 1)), (0, 0))


@pytest.mark.parametrize("steps", [2, 64])
def test_attention_joins_every_pair_by_one_edge(steps):
    graph = readers(torch.ones(steps, steps, dtype=torch.bool))
    for start in range(steps):
        edges = distances(graph, start)
        assert [int(position != start) for position in range(steps)] == [
            edges[position] for position in range(steps)
        ]


def test_causal_attention_reaches_no_earlier_position():
    graph = readers(causal_mask(9))
    assert {4: 0, 5: 1, 6: 1, 7: 1, 8: 1} == distances(graph, 4)


@pytest.mark.parametrize("mask", [torch.ones(3, 3), torch.ones(3, 4, dtype=torch.bool)])
def test_a_mask_that_is_no_square_of_booleans_is_refused(mask):
    with pytest.raises(ValueError, match=r"^mask: expected booleans, \(steps, steps\)"):
        readers(mask)
    with pytest.raises(ValueError, match=r"^mask"):
        stacked([mask])


# Routes


def test_routes_are_counted_one_by_one():
    graph = {"a": ["b", "c"], "b": ["d"], "c": ["d", "e"], "d": ["e"]}
    routes = path_counts(graph, "a")
    assert {"a": 1, "b": 1, "c": 1, "d": 2, "e": 3} == dict(routes)
    assert 0 == path_counts(graph, "d")["b"]


@pytest.mark.parametrize("layers", [3, 6, 10])
def test_a_kernel_of_two_with_doubling_dilations_leaves_one_route_a_pair(layers):
    steps = 2**layers
    routes = path_counts(stacked(doubling(steps, layers)), (0, 0))
    assert {1} == {routes[layers, position] for position in range(steps)}


def test_routes_of_a_kernel_of_three_are_products_of_masks():
    layers, steps = 10, 1024
    masks = doubling(steps, layers, kernel=3)
    product = np.arange(steps) == 0
    for mask in masks:
        product = mask.numpy() @ product.astype(np.int64)
    routes = path_counts(stacked(masks), (0, 0))
    counts = [routes[layers, position] for position in range(steps)]
    assert product.tolist() == counts
    assert (1, 89) == (min(counts), max(counts))


@pytest.mark.parametrize(("layers", "steps"), [(3, 5), (4, 9)])
def test_routes_through_full_attention_are_powers_of_the_length(layers, steps):
    masks = [torch.ones(steps, steps, dtype=torch.bool)] * layers
    assert steps ** (layers - 1) == path_counts(stacked(masks), (0, 0))[layers, steps - 1]


def test_a_network_that_reads_itself_has_endless_routes():
    with pytest.raises(ValueError, match="cycle"):
        path_counts(readers(causal_mask(3)), 0)


# Fields measured by gradients


def measured_mask(layer: nn.Module, steps: int, *more: torch.Tensor) -> torch.Tensor:
    rng = np.random.default_rng(0)
    uniform_(layer.double(), WIDTH, rng)
    inputs = torch.from_numpy(rng.standard_normal((2, steps, WIDTH)))
    rows = [receptive_field(lambda x: layer(x, *more), inputs, step) for step in range(steps)]
    return torch.stack(rows)


def test_the_gradient_of_attention_reaches_what_its_mask_shows():
    attention = MultiHeadSelfAttention(WIDTH, 2)
    assert torch.equal(causal_mask(12), measured_mask(attention, 12, causal_mask(12)))
    assert measured_mask(attention, 12).all()


def test_the_gradient_of_a_recurrent_layer_reaches_all_that_went_before():
    assert torch.equal(causal_mask(12), measured_mask(nn.GRU(WIDTH, WIDTH, batch_first=True), 12))


def test_inputs_without_three_axes_are_refused():
    with pytest.raises(ValueError, match=r"^inputs: expected the axes"):
        receptive_field(lambda inputs: inputs, torch.ones(3, 4))
