"""The work of a call in floating-point operations (FLOPs), counted while torch runs it.

The formulas to hold it against are in `onehop.counting`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, flop_registry


def counted_flops(fn: Callable[[], object]) -> int:
    """Return the FLOPs that torch's counter sees in a call to `fn`.

    An operator that the counter has no formula for counts 0, and nothing says so: compare with a
    formula of `onehop.counting`, or look at `uncounted_operators`, before you believe it.

    Args:
        fn: the call; it takes nothing and its result is dropped.
    """
    with FlopCounterMode(display=False) as counter:
        fn()
    return counter.get_total_flops()


def uncounted_operators(fn: Callable[[], object]) -> set[str]:
    """Return the operators in a call to `fn` that torch's counter has no formula for, by name.

    Views and elementwise operators are left out. What remains either moves data, as `stack` does,
    or is work that `counted_flops` misses.

    Args:
        fn: the call; it takes nothing and its result is dropped.
    """
    with _Watch() as watch:
        fn()
    return watch.uncounted


class _Watch(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.uncounted: set[str] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        is_elementwise = torch.Tag.pointwise in func.tags
        if not (func.is_view or is_elementwise or func.overloadpacket in flop_registry):
            self.uncounted.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))
