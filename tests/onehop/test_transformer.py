import pytest
import torch
from torch import nn

from onehop.attention import MultiHeadSelfAttention, causal_mask
from onehop.transformer import TransformerBlock, fused_attention, merge_heads, split_heads

B, T, D, HEADS = 2, 7, 12, 3


def inputs() -> torch.Tensor:
    return torch.randn(B, T, D, dtype=torch.float64)


def test_splitting_gives_each_head_neighbouring_features_and_merging_undoes_it():
    x = inputs()
    heads = split_heads(x, HEADS)
    assert (B, HEADS, T, D // HEADS) == heads.shape
    assert torch.equal(x[:, :, 4:8], heads[:, 1])
    assert torch.equal(x, merge_heads(heads))


@pytest.mark.parametrize("causal", [False, True])
def test_fused_attention_equals_the_explicit_one(causal):
    layer, x = MultiHeadSelfAttention(D, HEADS).double(), inputs()
    explicit, _ = layer(x, causal_mask(T) if causal else None)
    torch.testing.assert_close(explicit, fused_attention(layer, x, causal=causal))


def test_the_block_equals_torchs_encoder_layer_with_a_causal_mask():
    block, x = TransformerBlock(D, HEADS).double(), inputs()
    for norm in (block.attention_norm, block.feed_forward_norm):
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    torchs = nn.TransformerEncoderLayer(
        D, HEADS, 4 * D, dropout=0.0, batch_first=True, norm_first=True, dtype=torch.float64
    )
    a = block.attention
    torchs.load_state_dict(
        {
            "self_attn.in_proj_weight": torch.cat([a.query.weight, a.key.weight, a.value.weight]),
            "self_attn.in_proj_bias": torch.zeros(3 * D),
            "self_attn.out_proj.weight": a.output.weight,
            "self_attn.out_proj.bias": torch.zeros(D),
            "linear1.weight": block.expand.weight,
            "linear1.bias": block.expand.bias,
            "linear2.weight": block.contract.weight,
            "linear2.bias": block.contract.bias,
            "norm1.weight": block.attention_norm.weight,
            "norm1.bias": block.attention_norm.bias,
            "norm2.weight": block.feed_forward_norm.weight,
            "norm2.bias": block.feed_forward_norm.bias,
        }
    )
    expected = torchs(x, src_mask=~causal_mask(T))  # torch's mask hides where it is True
    torch.testing.assert_close(expected, block(x))


def test_a_block_sees_no_future():
    block, x = TransformerBlock(D, HEADS).double(), inputs()
    changed = x.clone()
    changed[:, 4:] = 0.0
    assert torch.equal(block(x)[:, :4], block(changed)[:, :4])
    assert not torch.isclose(block(x)[:, 4:], block(changed)[:, 4:]).any()


@pytest.mark.parametrize("width", [12, 64])
def test_a_block_learns_twelve_squared_widths_and_nine_widths(width):
    parameters = sum(
        p.numel() for p in TransformerBlock(width, HEADS if width == 12 else 4).parameters()
    )
    assert 12 * width**2 + 9 * width == parameters


def test_a_permuted_batch_gives_permuted_outputs():
    block, x = TransformerBlock(D, HEADS).double(), inputs()
    torch.testing.assert_close(block(x).flip(0), block(x.flip(0)))


def test_wrong_shapes_are_refused():
    block = TransformerBlock(D, HEADS)
    with pytest.raises(ValueError, match=r"\(batch, steps, width = 12\), got shape \(7, 12\)"):
        fused_attention(block.attention, torch.zeros(T, D), causal=True)
    with pytest.raises(ValueError, match="expected a multiple of 5 heads, got 12"):
        TransformerBlock(D, 5)
