"""What a call asks of a machine: the longest chain of operations, their work and their traffic.

Every operator that torch dispatches is seen, also those inside of an `autograd.Function`. A result
can be ready one round after the last thing it needs; what lies in one storage is ready together,
so that an operator which writes into a part waits for whoever wrote there before.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

ATTENTION = "_scaled_dot_product"
"""How the names of its fused operators begin: two products, one after the other."""
FUSED = ("_cudnn_rnn", "_fused_", "_thnn_fused", "_transformer", "mkldnn_")
"""How the names of torch's operators begin that hold several products and hide their order."""


@dataclass(frozen=True)
class Trace:
    """One call, counted."""

    products: int
    """Products of matrices and convolutions on the longest chain of them."""
    operations: int
    """Operators on the longest chain, products or not; views are free."""
    flops: int
    """Of all products, two for a multiply-add."""
    numbers: int
    """Read and written by all operators, each one's inputs and outputs counted in full."""
    opaque: tuple[str, ...]
    """Operators that cannot be seen into."""

    @property
    def width(self) -> float:
        """Multiply-adds that could run side by side, on average over the chain of products."""
        return self.flops / 2 / max(self.products, 1)


@dataclass
class _Ready:
    """When a storage can be ready, in two clocks; it is held so that no other takes its place."""

    products: int = 0
    operations: int = 0
    storage: Any = field(default=None, repr=False)


def trace(call: Callable[[], object]) -> Trace:
    """Return the longest chains, the work and the traffic of a call.

    Args:
        call: takes nothing; its result is dropped.
    """
    with _Tracer() as tracer:
        call()
    ready = tracer.ready.values()
    return Trace(
        products=max((r.products for r in ready), default=0),
        operations=max((r.operations for r in ready), default=0),
        flops=tracer.flops,
        numbers=tracer.numbers,
        opaque=tuple(sorted(tracer.opaque)),
    )


class _Tracer(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.ready: dict[int, _Ready] = {}
        self.flops = 0
        self.numbers = 0
        self.opaque: set[str] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Nothing is compiled here, and to say so would import torch's compiler: three seconds.
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func.is_view or func.namespace == "prim" or func.overloadpacket in _FREE:
            return out
        needed, made = _tensors((args, kwargs)), _tensors(out)
        name, flops, products = func.overloadpacket.__name__, 0, 0
        if name.startswith(ATTENTION):
            flops, products = _attention_flops(*args[:3]), 2
        elif func.overloadpacket in flop_registry:
            flops = flop_registry[func.overloadpacket](*args, **kwargs, out_val=out)
            products = 1
        elif made and (name.startswith(FUSED) or func.namespace != "aten"):
            self.opaque.add(name)
        earlier = [self.ready[key] for key in map(_key, needed) if key in self.ready]
        products += max((r.products for r in earlier), default=0)
        operations = max((r.operations for r in earlier), default=0) + 1
        for tensor in made:
            storage = tensor.untyped_storage()
            self.ready[_key(tensor)] = _Ready(products, operations, storage)
        self.flops += flops
        self.numbers += sum(tensor.numel() for tensor in (*needed, *made))
        return out


_FREE = {
    torch.ops.aten.detach,
    torch.ops.aten.empty,
    torch.ops.aten.empty_like,
    torch.ops.aten.lift_fresh,
    torch.ops.aten._unsafe_view,
    torch.ops.aten._reshape_alias,
}
"""Operators that compute nothing and are not marked as views."""


def _attention_flops(q: Tensor, k: Tensor, v: Tensor) -> int:
    """Scores and mix, masked or not: `(..., steps, width)` each."""
    return 2 * q[..., 0].numel() * k.shape[-2] * (q.shape[-1] + v.shape[-1])


def _tensors(tree: Any) -> list[Tensor]:
    """The tensors in a tree of arguments that hold anything."""
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor) and leaf.numel()]


def _key(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
