"""The depth of a computation: how many matrix products have to wait for one another.

With unlimited hardware the time of a computation is set by its longest chain of dependent products
and not by how many products there are. The chain is read off the graph that torch records for
differentiation, or off any graph that says what needs what.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from graphlib import TopologicalSorter
from typing import TypeVar

from torch import Tensor
from torch.autograd.graph import Node

Task = TypeVar("Task", bound=Hashable)

PRODUCTS = frozenset(
    f"{name}Backward0"
    for name in ("Addbmm", "Addmm", "Addmv", "Baddbmm", "Bmm", "Convolution", "Dot", "Mm", "Mv")
)
"""What autograd calls the nodes of one product each."""

FUSED = ("CudnnRnn", "LstmMps", "MiopenRnn", "MkldnnRnnLayer", "ScaledDotProduct", "Trilinear")
"""How autograd's names of operators begin that hold several products and hide their order."""


def earliest_rounds(
    needs: Mapping[Task, Iterable[Task]], takes: Callable[[Task], int] = lambda _: 1
) -> dict[Task, int]:
    """Return the round in which each task can be finished if it waits only for what it needs.

    The largest value is the length of the longest chain, which no amount of hardware shortens.

    Args:
        needs: what each task needs; tasks that need nothing may be left out.
        takes: rounds that a task takes; 0 for one that is free.

    Raises:
        graphlib.CycleError: some task needs itself in the end. It is a `ValueError`.
    """
    finished: dict[Task, int] = {}
    for task in TopologicalSorter(needs).static_order():
        start = max((finished[needed] for needed in needs.get(task, ())), default=0)
        finished[task] = start + takes(task)
    return finished


def longest_chain(output: Tensor) -> int:
    """Return how many products lie on the longest path of the computation that led to `output`.

    Products of matrices and vectors and convolutions count, each as one whatever its size; sums and
    element-wise operations are free. Products in which nothing requires a gradient are not seen,
    and an operator that joins tensors, such as `torch.stack`, waits for all of them.

    Args:
        output: a tensor of any shape that requires a gradient.

    Raises:
        ValueError: `output` has no graph, or the graph holds a fused operator such as torch's
            LSTM layer on the CPU.
    """
    rounds = earliest_rounds(_graph(output), _products)
    return max(rounds.values())


def product_count(output: Tensor) -> int:
    """Return how many products led to `output`, in any order; see `longest_chain`.

    Args:
        output: a tensor of any shape that requires a gradient.

    Raises:
        ValueError: as for `longest_chain`.
    """
    return sum(map(_products, _graph(output)))


def _products(node: Node) -> int:
    return int(node.name() in PRODUCTS)


def _graph(output: Tensor) -> dict[Node, list[Node]]:
    """What each node of the graph needs; no recursion, since the graph may be thousands deep."""
    if output.grad_fn is None:
        raise ValueError("output: expected a tensor computed from one that requires a gradient")
    needs: dict[Node, list[Node]] = {}
    waiting = [output.grad_fn]
    while waiting:
        node = waiting.pop()
        if node in needs:
            continue
        if node.name().startswith(FUSED):
            raise ValueError(f"output: expected products one by one, got the fused {node.name()}")
        needs[node] = [needed for needed, _ in node.next_functions if needed is not None]
        waiting += needs[node]
    return needs
