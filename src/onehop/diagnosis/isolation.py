"""How a model is measured without being changed: on a copy, and with everything put back.

Weights, gradients, buffers and mode of the reader's own model stay as they are, and so do torch's
random state, default type and number of threads.
"""

import copy
import traceback
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

_LIBRARIES = (
    copy.__file__,
    "<",
    *map(str, (Path(torch.__file__).parent, Path(__file__).parents[1])),
)
"""Where an error arises that says nothing about the reader's own line."""


def said(error: Exception) -> str:
    """Return an error of the reader's code in a line: its kind, its message, and where it arose."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_LIBRARIES)]
    where = f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{where}"


def copied(model: nn.Module) -> nn.Module:
    """Return a deep copy in which tensors that hang on a graph, as a kept state, are detached.

    Raises:
        ValueError: the model holds something that cannot be copied.
    """
    memo: dict[int, Any] = {}

    def detach(value: Any) -> None:
        if isinstance(value, Tensor) and not value.is_leaf:
            memo[id(value)] = value.detach().clone()
        for inner in value if isinstance(value, tuple | list) else ():
            detach(inner)

    for module in model.modules():
        for value in vars(module).values():
            detach(value)
    try:
        return copy.deepcopy(model, memo)
    except Exception as error:  # whatever an attribute says to being copied
        raise ValueError(
            f"model: expected a module that copy.deepcopy copies, got {said(error)}"
        ) from error


@contextmanager
def conditions(
    device: torch.device, *, unfused: bool = True, dtype: torch.dtype | None = None
) -> Generator[None]:
    """Set gradients on, one thread and a default type; all is put back at the end.

    Args:
        device: whose random state is put back, beside the CPU's.
        unfused: take torch's fused kernels apart: one operator for each product.
        dtype: the type of the tensors that a model creates; without it the one in force.
    """
    with ExitStack() as stack:
        # torch warns about what is done here on purpose, and again at every call.
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(torch.enable_grad())
        stack.enter_context(torch.random.fork_rng([device] if device.type == "cuda" else []))
        # Two threads on a busy machine take longer than one, and sum in another order.
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)
        if unfused:
            stack.enter_context(sdpa_kernel(SDPBackend.MATH))
            stack.enter_context(torch.backends.mkldnn.flags(enabled=False))
            # Its backward pass exists in training mode only.
            stack.enter_context(torch.backends.cudnn.flags(enabled=False))
        if dtype is not None:
            stack.callback(torch.set_default_dtype, torch.get_default_dtype())
            torch.set_default_dtype(dtype)
        yield
