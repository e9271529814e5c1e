"""What a page's process may do to the machine: the limits that are set before its first block.

Limits of memory and file size hold wherever there are such limits. Landlock, which Linux has had
since 5.13, holds for the process, for what it starts and for C code: it writes into its own folder
alone, reaches no TCP port (6.7), and neither reads the memory and environment of other processes
nor sends them signals (6.12). A kernel without it leaves the page with the rights of its user.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import resource
import struct
import sys
from collections.abc import Collection
from contextlib import suppress
from fnmatch import translate

_LARGEST_FILE = 2**30
_SYSTEM = ("HOME", "LANG", "LANGUAGE", "LC_*", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "PYTHON*",
           "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV")  # fmt: skip
KERNELS = ("ATEN_", "CUBLAS_", "CUDA_", "DNNL_", "MKL_", "NPY_", "NVIDIA_", "OMP_", "ONEDNN_",
           "OPENBLAS_", "PYTORCH_", "TORCH_")  # fmt: skip
"""How variables begin by which numerical libraries choose their kernels."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP = 38, 24
_CAPABILITIES_3 = 0x20080522
_SEES_OTHERS = (19, 21, 38)  # the capabilities SYS_PTRACE, SYS_ADMIN, PERFMON
_WRITE_FILE, _TRUNCATE, _REFER = 1 << 1, 1 << 14, 1 << 13
_MAKE_AND_REMOVE = sum(1 << bit for bit in range(4, 13))
_TCP = 0b11  # bind, connect
_SCOPES = 0b11  # abstract sockets, signals


def visible(variables: dict[str, str], names: Collection[str]) -> dict[str, str]:
    """Return the environment variables that a page may see: no page needs what else is there.

    Args:
        variables: Those of the command.
        names: Patterns of further names that the project lets through.
    """
    is_seen = _pattern((*_SYSTEM, *(f"{start}*" for start in KERNELS), *names)).match
    return {name: value for name, value in variables.items() if is_seen(name)}


@functools.cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, names)))


def confine(folder: str, *, limits_memory: bool) -> None:
    """Limit this process, and all that it starts, to writing into `folder`.

    Args:
        folder: Where it may write.
        limits_memory: Whether it is held to three quarters of the machine's memory; the driver of
            a GPU maps more than that.
    """
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: _LARGEST_FILE}
    if limits_memory:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        limits[resource.RLIMIT_DATA] = memory * 3 // 4
    for limit, most in limits.items():
        _, hard = resource.getrlimit(limit)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(OSError, ValueError):  # macOS knows some of them by name only
            resource.setrlimit(limit, (most, most))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        _drop_capabilities(libc)
        _landlock(libc, folder)


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Give up that root, in a container for example, reads other processes against Landlock."""
    for capability in _SEES_OTHERS:
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = struct.pack("Ii", _CAPABILITIES_3, 0)
    sets = ctypes.create_string_buffer(24)
    if libc.capget(header, sets) == 0:
        words = list(struct.unpack("6I", sets.raw))  # effective, permitted, inheritable; twice
        for capability in _SEES_OTHERS:
            for kind in range(3):
                words[capability // 32 * 3 + kind] &= ~(1 << capability % 32)
        libc.capset(header, struct.pack("6I", *words))


def _landlock(libc: ctypes.CDLL, folder: str) -> None:
    version = libc.syscall(_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return
    writing = _WRITE_FILE | (_TRUNCATE if version >= 3 else 0)
    all_rights = writing | _MAKE_AND_REMOVE | (_REFER if version >= 2 else 0)
    fields = [all_rights, *([_TCP] if version >= 4 else []), *([_SCOPES] if version >= 6 else [])]
    attributes = struct.pack(f"{len(fields)}Q", *fields)
    rules = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if rules < 0:
        return
    try:
        # Devices are opened for writing, semaphores are files, a thread's name is one, too.
        for path, rights in (
            (folder, all_rights),
            ("/dev/shm", all_rights),
            ("/dev", writing),
            ("/proc/self", writing),
        ):
            _allow(libc, rules, path, rights)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
            libc.syscall(_RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, path: str, rights: int) -> None:
    """Add a rule that everything beneath `path` may be used with `rights`."""
    with suppress(OSError):
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
        libc.syscall(_ADD_RULE, rules, 1, struct.pack("=Qi", rights, beneath), 0)
        os.close(beneath)
