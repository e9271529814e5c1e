"""What this machine is, and another one on which a page ran: as far as digits depend on it."""

from __future__ import annotations

import functools
import glob
import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import Protocol

_NAME = re.compile(r"^Name: (.+)$", re.MULTILINE)
_TOP = re.compile(r"^(?:\"?([^/,\"\n]+)/(?:.*\n\"?\1/)*+|([^/,\"\n]+),)", re.MULTILINE)
"""In a list of files: all lines in a row on one folder, or the line on a file at the top."""
_WIDEST = (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("sve", "SVE"), ("asimd", "NEON"))


class Machine(Protocol):
    """A machine: its processor, the model of its GPU, its cores, and what is installed there."""

    @property
    def processor(self) -> str:
        """The architecture and the widest vector instructions."""
        ...

    @property
    def accelerator(self) -> str:
        """The model of its first GPU, "" where there is none."""
        ...

    @property
    def cores(self) -> int:
        """How many there are."""
        ...

    def version(self, name: str) -> str:
        """Return the version of a distribution or of Python, "" where it is missing."""
        ...

    def distributions(self, modules: Iterable[str]) -> dict[str, str]:
        """Return the distributions that hold top-level `modules`, with their versions."""
        ...


class _Here:
    """This machine, looked at when asked: a build that recalls every run asks for little."""

    @property
    def processor(self) -> str:
        return processor()

    @property
    def accelerator(self) -> str:
        return accelerator()

    @property
    def cores(self) -> int:
        return os.cpu_count() or 1

    def version(self, name: str) -> str:
        return platform.python_version() if name == "Python" else version(name)

    def distributions(self, modules: Iterable[str]) -> dict[str, str]:
        return distributions(modules)


HERE: Machine = _Here()


@dataclass(frozen=True)
class Elsewhere:
    """Another machine, as it described itself after a run.

    Attributes:
        processor: As of every machine.
        accelerator: As of every machine.
        cores: As of every machine.
        python: The version of Python.
        holders: The distributions of each top-level module that the run loaded.
        versions: The versions of all that is installed there, by distribution.
    """

    processor: str
    accelerator: str
    cores: int
    python: str
    holders: Mapping[str, list[str]]
    versions: Mapping[str, str]

    def version(self, name: str) -> str:
        """Return the version of a distribution or of Python, "" where it is missing."""
        return self.python if name == "Python" else self.versions.get(_normalized(name), "")

    def distributions(self, modules: Iterable[str]) -> dict[str, str]:
        """Return the distributions that hold `modules`, as far as the run loaded them."""
        names = {name for module in modules for name in self.holders.get(module, ())}
        return {name: self.version(name) for name in sorted(names)}


def described(modules: Iterable[str]) -> Elsewhere:
    """Return this machine as others see it, after a run that loaded `modules`."""
    holders = {module: _holders().get(module, []) for module in modules}
    python = platform.python_version()
    return Elsewhere(processor(), accelerator(), HERE.cores, python, holders, installed())


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
    return installed().get(_normalized(distribution), "")


@functools.cache
def installed() -> dict[str, str]:
    """Return the versions of the installed distributions, by name as it is normalized."""
    found: dict[str, str] = {}
    for folder in reversed(sys.path):
        with suppress(OSError):
            for name in os.listdir(folder or "."):
                if name.endswith(".dist-info") and "-" in name:
                    distribution, _, version = name.removesuffix(".dist-info").partition("-")
                    found[_normalized(distribution)] = version
    return found


def distributions(modules: Iterable[str]) -> dict[str, str]:
    """Return the distributions that hold top-level `modules`, with their versions."""
    holders = _holders()
    names = {name for module in modules for name in holders.get(module, ())}
    return {name: version(name) for name in sorted(names)}


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@functools.cache
def _holders() -> dict[str, list[str]]:
    """Return the distributions of each top-level module, as importlib.metadata finds them.

    It takes seconds of a cold build for that; this reads the same files, and only their beginnings.
    """
    found: dict[str, list[str]] = {}
    for path in sys.path:
        for info in sorted(Path(path or ".").glob("*.dist-info")):
            with suppress(OSError):
                named = _NAME.search((info / "METADATA").read_text("utf-8", "replace"))
                name = named[1] if named else ""
                for module in _modules(info) if name else ():
                    if name not in found.setdefault(module, []):
                        found[module].append(name)
    return found


def _modules(info: Path) -> set[str]:
    """Return the top-level modules of a distribution, declared or by its list of files."""
    with suppress(OSError):
        if declared := (info / "top_level.txt").read_text("utf-8").split():
            return set(declared)
    top = set(_TOP.findall((info / "RECORD").read_text("utf-8")))
    endings = sorted(all_suffixes(), key=len, reverse=True)
    alone = {
        next((file.removesuffix(end) for end in endings if file.endswith(end)), "")
        for _, file in top
    }
    return {folder for folder, _ in top} | alone
