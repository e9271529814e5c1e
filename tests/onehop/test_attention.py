import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from onehop.attention import (
    MultiHeadSelfAttention,
    additive_attention,
    additive_scores,
    causal_mask,
    scaled_dot_product,
    softmax_weights,
)

ORDER = torch.tensor([3, 0, 4, 1, 2])


def heads(batch: int = 2, count: int = 4, steps: int = 6, width: int = 16) -> list[torch.Tensor]:
    return [torch.randn(batch, count, steps, width) for _ in range(3)]


def additive_parts(batch: int = 5) -> list[torch.Tensor]:
    shapes = [(batch, 3), (batch, 7, 4), (6, 3), (6, 4), (6,)]
    return [torch.randn(shape) for shape in shapes]


# Masks


def test_a_hidden_score_is_minus_infinity_before_the_softmax():
    scores = torch.tensor([2.0, 1.0, 0.5, -1.0])
    weights = softmax_weights(scores, torch.tensor([True, True, False, False]))
    # Scores multiplied by 0 would give 0.6103, 0.2245, 0.0826, 0.0826.
    assert [0.7311, 0.2689, 0.0, 0.0] == pytest.approx(weights.tolist(), abs=5e-5)


def test_hidden_weights_are_exactly_zero_and_rows_sum_to_one():
    scores = 10 * torch.randn(200, 30, dtype=torch.float64)
    mask = torch.rand(200, 30) < 0.5
    mask[:, 0] = True
    weights = softmax_weights(scores, mask)
    assert (weights[~mask] == 0).all()
    assert (weights[mask] > 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(200, dtype=torch.float64))


def test_weights_equal_torch_softmax_also_for_huge_scores():
    scores = 1000 * torch.randn(5, 7)
    torch.testing.assert_close(softmax_weights(scores), scores.softmax(-1))


def test_true_keeps_as_in_torch():
    q, k, v = heads()
    mask = torch.rand(6, 6) < 0.5
    mask.fill_diagonal_(True)
    expected = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    torch.testing.assert_close(scaled_dot_product(q, k, v, mask)[0], expected)
    inverted = functional.scaled_dot_product_attention(q, k, v, attn_mask=~mask)
    assert not torch.allclose(expected, inverted, atol=1e-2)


def test_the_causal_rows_of_three_steps():
    torch.manual_seed(0)
    q, k = torch.randn(1, 1, 3, 4), torch.randn(1, 1, 3, 4)
    _, weights = scaled_dot_product(q, k, k, causal_mask(3))
    expected = [1, 0, 0, 0.5735, 0.4265, 0, 0.4543, 0.3873, 0.1584]
    assert expected == pytest.approx(weights.flatten().tolist(), abs=2e-4)


def test_no_weight_falls_on_the_future():
    _, weights = scaled_dot_product(*heads(steps=20), causal_mask(20))
    future = torch.ones(20, 20, dtype=torch.bool).triu(diagonal=1)
    assert (weights[..., future] == 0).all()


def test_every_token_may_attend_to_itself_and_to_its_past():
    _, weights = scaled_dot_product(*heads(steps=20), causal_mask(20))
    assert (weights.diagonal(dim1=-2, dim2=-1) > 0).all()
    assert (weights[..., causal_mask(20)] > 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 20))


def test_changing_the_future_changes_no_earlier_output():
    layer, inputs = MultiHeadSelfAttention(16, 4), torch.randn(2, 8, 16)
    changed = inputs.clone()
    changed[:, 5:] = 0
    before, after = layer(inputs, causal_mask(8))[0], layer(changed, causal_mask(8))[0]
    torch.testing.assert_close(after[:, :5], before[:, :5])
    assert not torch.allclose(after[:, 5:], before[:, 5:])


def test_a_query_that_may_read_nothing_gets_zeros_as_in_torch():
    q, k, v = (part.requires_grad_() for part in heads(steps=2))
    mask = torch.tensor([[True, False], [False, False]])
    output, weights = scaled_dot_product(q, k, v, mask)
    assert (weights[..., 1, :] == 0).all()
    expected = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    torch.testing.assert_close(output, expected)
    output.sum().backward()
    assert all(part.grad is not None and part.grad.isfinite().all() for part in (q, k, v))


def test_a_mask_of_numbers_is_refused():
    with pytest.raises(ValueError, match=r"expected booleans \(True keeps\), got torch.float32"):
        softmax_weights(torch.zeros(2), torch.ones(2))


# Scale


def test_scaled_scores_of_unit_normal_vectors_have_unit_standard_deviation():
    torch.manual_seed(0)
    q, k = torch.randn(200_000, 1, 16), torch.randn(200_000, 1, 16)
    # With one query and two keys, one of them zero, log(w1/w2) is the scaled score itself.
    keys = torch.cat([k, torch.zeros_like(k)], dim=1)
    _, weights = scaled_dot_product(q.double(), keys.double(), keys.double())
    scores = (weights[..., 0] / weights[..., 1]).log()
    assert 1.00 == pytest.approx(scores.std().item(), rel=0.01)


def test_scores_are_divided_by_the_root_of_the_width_per_head():
    # Raw scores 4, 0, -4 with heads 16 wide: by the model's width 64 it would be 0.5065, ...
    q = torch.zeros(1, 16)
    q[0, 0] = 4.0
    k = torch.zeros(3, 16)
    k[:, 0] = torch.tensor([1.0, 0.0, -1.0])
    _, weights = scaled_dot_product(q, k, k)
    assert [0.6652, 0.2447, 0.0900] == pytest.approx(weights[0].tolist(), abs=5e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_several_heads_equal_torch(causal):
    q, k, v = heads()
    expected = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    output, _ = scaled_dot_product(q, k, v, causal_mask(6) if causal else None)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("count", [1, 4])
def test_the_layer_equals_torch_multihead_attention(count):
    layer = MultiHeadSelfAttention(16, count)
    reference = nn.MultiheadAttention(16, count, bias=False, batch_first=True)
    reference.load_state_dict(
        {
            "in_proj_weight": torch.cat([layer.query.weight, layer.key.weight, layer.value.weight]),
            "out_proj.weight": layer.output.weight,
        }
    )
    inputs, mask = torch.randn(2, 6, 16), causal_mask(6)
    # There True hides.
    expected, expected_weights = reference(
        inputs, inputs, inputs, attn_mask=~mask, average_attn_weights=False
    )
    output, weights = layer(inputs, mask)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-6)
    torch.testing.assert_close(weights, expected_weights, rtol=0, atol=1e-6)


# Additive attention


def test_additive_scores_by_hand():
    query, keys = torch.tensor([[2.0]]), torch.tensor([[[1.0], [3.0]]])
    W, U, v = torch.tensor([[0.5]]), torch.tensor([[-1.0]]), torch.tensor([2.0])
    expected = [2 * math.tanh(1.0 - 1.0), 2 * math.tanh(1.0 - 3.0)]
    assert expected == pytest.approx(additive_scores(query, keys, W, U, v)[0].tolist())


def test_the_context_is_the_mean_of_the_keys_by_their_weights():
    query, keys, W, U, v = additive_parts()
    context, weights = additive_attention(query, keys, W, U, v)
    assert (5, 7) == weights.shape
    torch.testing.assert_close(weights.sum(-1), torch.ones(5))
    by_hand = sum(weights[:, j, None] * keys[:, j] for j in range(7))
    torch.testing.assert_close(context, by_hand)


def test_a_padded_key_does_not_reach_the_context():
    query, keys, W, U, v = additive_parts()
    mask = torch.ones(5, 7, dtype=torch.bool)
    mask[:, 5:] = False
    context, weights = additive_attention(query, keys, W, U, v, mask)
    assert (weights[:, 5:] == 0).all()
    shorter, _ = additive_attention(query, keys[:, :5], W, U, v)
    torch.testing.assert_close(context, shorter)


# Axes


def test_a_permuted_batch_gives_permuted_results():
    query, keys, W, U, v = additive_parts()
    context, _ = additive_attention(query, keys, W, U, v)
    permuted, _ = additive_attention(query[ORDER], keys[ORDER], W, U, v)
    torch.testing.assert_close(permuted, context[ORDER])
    layer, inputs = MultiHeadSelfAttention(16, 4), torch.randn(5, 6, 16)
    torch.testing.assert_close(layer(inputs[ORDER])[0], layer(inputs)[0][ORDER])


def test_without_a_mask_permuted_steps_give_permuted_results():
    layer, inputs = MultiHeadSelfAttention(16, 4), torch.randn(2, 5, 16)
    torch.testing.assert_close(layer(inputs[:, ORDER])[0], layer(inputs)[0][:, ORDER])


def test_other_axes_are_refused():
    query, keys, W, U, v = additive_parts()
    with pytest.raises(ValueError, match=r"query: expected .*query_width = 3\), got .*\(5, 4\)"):
        additive_scores(keys[:, 0], keys, W, U, v)
    with pytest.raises(ValueError, match=r"keys: expected .*batch = 5, .*got shape \(7, 5, 4\)"):
        additive_scores(query, keys.transpose(0, 1), W, U, v)
    with pytest.raises(ValueError, match=r"inputs: expected .*width = 16\), got shape \(6, 16\)"):
        MultiHeadSelfAttention(16, 4)(torch.zeros(6, 16))
    with pytest.raises(ValueError, match="width: expected a multiple of 4 heads, got 18"):
        MultiHeadSelfAttention(18, 4)
    q, k, v = heads()
    with pytest.raises(ValueError, match="k: expected the queries' width 16, got 8"):
        scaled_dot_product(q, k[..., :8], v)
    with pytest.raises(ValueError, match="v: expected one value per key, 6, got 5"):
        scaled_dot_product(q, k, v[..., :5, :])
