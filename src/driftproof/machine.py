"""What this machine is, as far as printed digits depend on it."""

from __future__ import annotations

import functools
import glob
import os
import platform
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_WIDEST = (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("sve", "SVE"), ("asimd", "NEON"))


@functools.cache
def processor() -> str:
    """Return the architecture and the widest vector instructions, such as `x86_64 AVX2`."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        text = ""
    flags = set(text.split())
    widest = next((name for flag, name in _WIDEST if flag in flags), "")
    return f"{platform.machine()} {widest}".strip()


@functools.cache
def accelerator(described: str = "/proc/driver/nvidia/gpus/*/information") -> str:
    """Return the model of the first GPU as its driver describes it, "" where there is none."""
    for file in sorted(glob.glob(described)):
        for line in Path(file).read_text("utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "Model":
                return value.strip()
    return ""


@functools.cache
def version(distribution: str) -> str:
    """Return the installed version of a distribution, "" where it is missing."""
    return installed().get(re.sub(r"[-_.]+", "-", distribution).lower(), "")


@functools.cache
def installed() -> dict[str, str]:
    """Return the versions of the installed distributions, by name as it is normalized."""
    found: dict[str, str] = {}
    for folder in reversed(sys.path):
        with suppress(OSError):
            for name in os.listdir(folder or "."):
                if name.endswith(".dist-info") and "-" in name:
                    distribution, _, version = name.removesuffix(".dist-info").partition("-")
                    found[re.sub(r"[-_.]+", "-", distribution).lower()] = version
    return found


def distributions(modules: Iterable[str]) -> dict[str, str]:
    """Return the distributions that hold top-level `modules`, with their versions."""
    holders = _holders()
    names = {name for module in modules for name in holders.get(module, ())}
    return {name: version(name) for name in sorted(names)}


@functools.cache
def _holders() -> dict[str, list[str]]:
    from importlib.metadata import packages_distributions  # only where something ran: it is slow

    return dict(packages_distributions())
