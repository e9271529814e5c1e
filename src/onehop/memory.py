"""The memory of training: what a forward pass keeps until the backward pass has used it."""

from collections.abc import Callable

from torch import Tensor, UntypedStorage
from torch.autograd.graph import saved_tensors_hooks


def saved_bytes(call: Callable[[], object]) -> int:
    """Return how many bytes autograd keeps for the backward pass of `call`.

    Tensors that share memory, such as views, count once. Weights and inputs count too if a
    gradient needs them, although they exist anyway. What an operator uses only while it runs does
    not count.

    Args:
        call: computes something that needs a gradient; it takes nothing.

    Returns:
        Bytes; 0 if nothing in `call` needs a gradient.
    """
    kept: dict[int, UntypedStorage] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        # Holding the storage keeps its address from being given to another one.
        kept[storage.data_ptr()] = storage
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        call()
    return sum(storage.nbytes() for storage in kept.values())


def explicit_attention_bytes(steps: int, width: int, itemsize: int = 4) -> int:
    """Return what `softmax(q k^T / sqrt(width)) v` keeps for one head: q, k, v and all weights.

    Args:
        steps: length of the sequence.
        width: width of queries, keys and values.
        itemsize: bytes of a number; 4 in float32, which gives `4 T^2 + 12 T d`.
    """
    return itemsize * (steps * steps + 3 * steps * width)


def fused_attention_bytes(steps: int, width: int, itemsize: int = 4) -> int:
    """Return what a fused kernel keeps for one head: q, k, v, the output, one number a query.

    The number is the logarithm of the softmax's denominator, from which the backward pass computes
    the weights again: Dao (2023, arXiv:2307.08691), section 3.1.

    Args:
        steps: length of the sequence.
        width: width of queries, keys and values.
        itemsize: bytes of a number; 4 in float32, which gives `16 T d + 4 T`.
    """
    return itemsize * (4 * steps * width + steps)


def rnn_bytes(steps: int, width: int, itemsize: int = 4) -> int:
    """Return what a plain recurrent layer keeps: inputs, states and two square matrices.

    The matrix of the inputs is kept for the gradient of the inputs.

    Args:
        steps: length of the sequence.
        width: width of inputs and states.
        itemsize: bytes of a number; 4 in float32, which gives `8 T d + 8 d^2 + 4 d`.
    """
    return itemsize * (2 * steps * width + 2 * width * width + width)
