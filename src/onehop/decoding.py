"""Decoding one token at a time: keys and values of the past are kept, not computed again.

No gradient is recorded: a step of decoding is not a step of training.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from onehop.attention import MultiHeadSelfAttention
from onehop.transformer import TransformerBlock, merge_heads, split_heads


class KeyValueCache:
    """Keys and values of the tokens that one attention layer has read so far.

    The memory is set aside at the start, so that a step writes one row and copies nothing.
    """

    def __init__(self, layer: MultiHeadSelfAttention, capacity: int, batch: int = 1) -> None:
        """Set memory aside for `capacity` tokens of each of `batch` sequences."""
        shape = (batch, layer.heads, capacity, layer.width // layer.heads)
        self.length, self.capacity = 0, capacity
        self._keys, self._values = (layer.key.weight.new_empty(shape) for _ in range(2))

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Keep the keys and the values of one or more tokens.

        Args:
            k: `(batch, heads, tokens, width / heads)`.
            v: of the same shape.

        Returns:
            All keys and all values so far, `(batch, heads, length, width / heads)` each, as views.

        Raises:
            ValueError: there is no room for them.
        """
        start, end = self.length, self.length + k.shape[2]
        if end > self.capacity:
            raise ValueError(f"cache: expected at most {self.capacity} tokens, got {end}")
        self._keys[:, :, start:end] = k
        self._values[:, :, start:end] = v
        self.length = end
        return self._keys[:, :, :end], self._values[:, :, :end]

    def used_bytes(self) -> int:
        """Return the bytes of the tokens so far: `2 width` numbers for each."""
        return 2 * self._keys[:, :, : self.length].numel() * self._keys.element_size()


@torch.no_grad()
def attention_step(layer: MultiHeadSelfAttention, x: Tensor, cache: KeyValueCache) -> Tensor:
    """Return the causal attention of one more token, which enters the cache.

    Args:
        layer: the attention whose four matrices are used.
        x: the token's input, `(batch, width)`.
        cache: this layer's keys and values of all tokens before it.

    Returns:
        The output for this token, `(batch, width)`: the last row of the full causal pass.

    Raises:
        ValueError: the cache is full.
    """
    q, k, v = (
        split_heads(part(x)[:, None], layer.heads) for part in (layer.query, layer.key, layer.value)
    )
    keys, values = cache.append(k, v)
    # No mask: the cache holds nothing later than this token.
    mixed = F.scaled_dot_product_attention(q, keys, values)
    return layer.output(merge_heads(mixed)[:, 0])


@torch.no_grad()
def block_step(block: TransformerBlock, x: Tensor, cache: KeyValueCache) -> Tensor:
    """Return the output of a transformer block for one more token.

    Args:
        block: the block.
        x: the token's input, `(batch, width)`.
        cache: keys and values of the block's attention for all tokens before it.

    Returns:
        The output for this token, `(batch, width)`: the last row of `block` on all of them.

    Raises:
        ValueError: the cache is full.
    """
    read = attention_step(block.attention, block.attention_norm(x), cache)
    return block.add_feed_forward(x + read)
