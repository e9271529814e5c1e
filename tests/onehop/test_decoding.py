import pytest
import torch

from onehop.attention import MultiHeadSelfAttention, causal_mask
from onehop.decoding import KeyValueCache, attention_step, block_step
from onehop.transformer import TransformerBlock, split_heads

B, T, D, HEADS = 2, 9, 12, 3


def inputs() -> torch.Tensor:
    return torch.randn(B, T, D, dtype=torch.float64)


def test_cached_attention_equals_the_full_causal_pass():
    layer, x = MultiHeadSelfAttention(D, HEADS).double(), inputs()
    cache = KeyValueCache(layer, capacity=T, batch=B)
    steps = [attention_step(layer, token, cache) for token in x.unbind(1)]
    expected, _ = layer(x, causal_mask(T))
    torch.testing.assert_close(expected.detach(), torch.stack(steps, 1))


def test_a_cached_stack_of_blocks_equals_the_full_causal_pass():
    blocks, x = [TransformerBlock(D, HEADS).double() for _ in range(2)], inputs()
    caches = [KeyValueCache(block.attention, capacity=T, batch=B) for block in blocks]
    steps = []
    for token in x.unbind(1):
        y = token
        for block, cache in zip(blocks, caches, strict=True):
            y = block_step(block, y, cache)
        steps.append(y)
    torch.testing.assert_close(blocks[1](blocks[0](x)).detach(), torch.stack(steps, 1))


def test_the_cache_grows_by_two_widths_a_token():
    layer = MultiHeadSelfAttention(D, HEADS).double()
    cache = KeyValueCache(layer, capacity=5, batch=B)
    assert 0 == cache.used_bytes()
    for tokens in range(1, 6):
        attention_step(layer, torch.ones(B, D, dtype=torch.float64), cache)
        assert tokens == cache.length
        assert tokens * 2 * D * B * 8 == cache.used_bytes()


def test_a_full_cache_refuses_a_token():
    layer = MultiHeadSelfAttention(D, HEADS)
    cache = KeyValueCache(layer, capacity=1)
    attention_step(layer, torch.ones(1, D), cache)
    with pytest.raises(ValueError, match="expected at most 1 tokens, got 2"):
        attention_step(layer, torch.ones(1, D), cache)
    assert 1 == cache.length


def test_a_step_records_no_gradient():
    layer = MultiHeadSelfAttention(D, HEADS)
    assert not attention_step(layer, torch.ones(1, D), KeyValueCache(layer, 1)).requires_grad


def test_a_permuted_batch_gives_permuted_outputs():
    layer, x = MultiHeadSelfAttention(D, HEADS).double(), inputs()
    caches = [KeyValueCache(layer, T, B) for _ in range(2)]
    for token in x.unbind(1):
        straight = attention_step(layer, token, caches[0])
        flipped = attention_step(layer, token.flip(0), caches[1])
        torch.testing.assert_close(straight.flip(0), flipped)


def test_a_prompt_can_enter_the_cache_at_once():
    layer, x = MultiHeadSelfAttention(D, HEADS).double(), inputs()
    cache = KeyValueCache(layer, capacity=T, batch=B)
    with torch.no_grad():
        k, v = (split_heads(part(x[:, :-1]), HEADS) for part in (layer.key, layer.value))
        keys, values = cache.append(k, v)
    assert torch.equal(k, keys)
    assert torch.equal(v, values)
    expected, _ = layer(x, causal_mask(T))
    torch.testing.assert_close(expected[:, -1].detach(), attention_step(layer, x[:, -1], cache))
