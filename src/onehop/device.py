"""The device that a block computes on: the CPU, unless a run asks for another one."""

import os

import torch

VARIABLE = "ONEHOP_DEVICE"
CHOICES = ("cpu", "cuda", "mps")


def device(dtype: torch.dtype = torch.float64) -> torch.device:
    """Return the device for tensors of `dtype`: the CPU, or what `ONEHOP_DEVICE` asks for.

    Create data and layers on the CPU and move them, so that every device sees the same numbers.
    Apple's MPS has no float64: tensors of that type, the book's default, stay on the CPU there.

    Args:
        dtype: the type of the tensors that will be moved.

    Returns:
        The device, `cpu` when the variable is absent or empty.

    Raises:
        ValueError: `ONEHOP_DEVICE` is none of `cpu`, `cuda`, `mps`.
        RuntimeError: torch cannot reach the device that was asked for.
    """
    name = os.environ.get(VARIABLE) or "cpu"
    if name not in CHOICES:
        raise ValueError(f"{VARIABLE}: expected one of {', '.join(CHOICES)}, got {name!r}")
    if name == "cuda" and not torch.cuda.is_available():
        raise RuntimeError(f"{VARIABLE}=cuda, but torch sees no CUDA device here")
    if name == "mps" and not torch.backends.mps.is_available():
        raise RuntimeError(f"{VARIABLE}=mps, but torch sees no MPS device here")
    if name == "mps" and dtype == torch.float64:
        return torch.device("cpu")
    return torch.device(name)
