"""A transformer's block: causal attention, then a feed-forward layer, each added to its input."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from onehop.attention import MultiHeadSelfAttention


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Give each head its own features.

    Args:
        x: `(batch, steps, width)`.
        heads: a divisor of the width.

    Returns:
        `(batch, heads, steps, width / heads)`, a view.
    """
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """Undo `split_heads`: `(batch, heads, steps, width / heads)` to `(batch, steps, width)`."""
    return x.transpose(1, 2).flatten(2)


def fused_attention(layer: MultiHeadSelfAttention, inputs: Tensor, *, causal: bool) -> Tensor:
    """Return the outputs of `layer` by torch's fused kernel, which stores no matrix of weights.

    The kernel is the one of Dao et al. (2022, arXiv:2205.14135), algorithm 1, where torch has it.

    Args:
        layer: the attention whose four matrices are used.
        inputs: `(batch, steps, width)`.
        causal: whether a step reads only itself and the past.

    Returns:
        Outputs, `(batch, steps, width)`.

    Raises:
        ValueError: `inputs` has other axes or another width.
    """
    if inputs.ndim != 3 or inputs.shape[2] != layer.width:
        raise ValueError(
            f"inputs: expected the axes (batch, steps, width = {layer.width}), "
            f"got shape {tuple(inputs.shape)}"
        )
    q, k, v = (
        split_heads(part(inputs), layer.heads) for part in (layer.query, layer.key, layer.value)
    )
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return layer.output(merge_heads(mixed))


class TransformerBlock(nn.Module):
    """Causal block with the normalisation before each part: `x + A(norm x)`, then `x + F(norm x)`.

    Vaswani et al. (2017, arXiv:1706.03762), section 3.1 and equation (2), in the order that Xiong
    et al. (2020, arXiv:2002.04745) call Pre-LN. It learns `12 d^2 + 9 d` numbers at width d.
    """

    def __init__(self, width: int, heads: int) -> None:
        """Draw the weights; the feed-forward layer is four times as wide as its input.

        Raises:
            ValueError: `width` is not a multiple of `heads`.
        """
        super().__init__()
        self.attention = MultiHeadSelfAttention(width, heads)
        self.attention_norm = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 4 * width)
        self.contract = nn.Linear(4 * width, width)
        self.feed_forward_norm = nn.LayerNorm(width)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the outputs, `(batch, steps, width)`, from `inputs` of the same shape.

        Raises:
            ValueError: `inputs` has other axes or another width.
        """
        read = fused_attention(self.attention, self.attention_norm(inputs), causal=True)
        return self.add_feed_forward(inputs + read)

    def add_feed_forward(self, x: Tensor) -> Tensor:
        """Return `x + F(norm x)`, step by step the same function: `(..., width)`."""
        return x + self.contract(torch.relu(self.expand(self.feed_forward_norm(x))))
