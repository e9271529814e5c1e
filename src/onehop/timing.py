"""The time of a call, read only when the device has finished, and a check that it is possible."""

import time
from collections.abc import Callable
from typing import Protocol

import torch


class Asynchronous(Protocol):
    """A device that accepts work at once and does it later, such as the module `torch.mps`."""

    def synchronize(self) -> None:
        """Return when all work accepted so far is done."""


def seconds_per_call(
    fn: Callable[[], object],
    device: torch.device | Asynchronous,
    rounds: int = 7,
    warmup: int = 2,
) -> float:
    """Return the shortest time of a call to `fn`, in seconds.

    Other programs can only make a call slower, so the minimum is the least disturbed round.
    On the CPU the clock is the CPU time of this thread, which stands still while others run; on
    CUDA a pair of events; elsewhere the wall clock, read after `synchronize()` both times.

    Args:
        fn: the call; it takes nothing and its result is dropped.
        device: where `fn` computes: `torch.device` of a CPU or a CUDA device, or anything that has
            `synchronize()`.
        rounds: timed calls, at least 1.
        warmup: calls before them, which load kernels and fill caches.

    Raises:
        ValueError: no rounds, or a torch device that is neither a CPU nor CUDA.
    """
    if rounds < 1:
        raise ValueError(f"rounds: expected at least 1, got {rounds}")
    time_once = _stopwatch(device)
    for _ in range(warmup):
        fn()
    return min(time_once(fn) for _ in range(rounds))


def check_rate(flops: float, seconds: float, peak: float) -> float:
    """Return the rate in floating-point operations per second, if the device can reach it.

    Args:
        flops: operations of one call.
        seconds: time of one call.
        peak: the device's stated peak, in operations per second.

    Raises:
        ValueError: the rate lies above the peak; most likely the clock was read before the device
            had finished.
    """
    rate = flops / seconds
    if rate > peak:
        raise ValueError(
            f"rate: expected at most the peak of {peak:.3g} FLOP/s, got {rate:.3g}: "
            "was the clock read before the device had finished?"
        )
    return rate


def _stopwatch(device: torch.device | Asynchronous) -> Callable[[Callable[[], object]], float]:
    if not isinstance(device, torch.device):
        return lambda fn: _wall_seconds(fn, device)
    if device.type == "cuda":
        return lambda fn: _cuda_seconds(fn, device)
    if device.type == "cpu":
        return _cpu_seconds
    raise ValueError(f"device: expected cpu, cuda or an object with synchronize(), got {device}")


def _cpu_seconds(fn: Callable[[], object]) -> float:
    start = time.thread_time()
    fn()
    return time.thread_time() - start


def _cuda_seconds(fn: Callable[[], object], device: torch.device) -> float:
    with torch.cuda.device(device):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        fn()
        end.record()
        torch.cuda.synchronize()
    milliseconds = start.elapsed_time(end)
    return milliseconds / 1000


def _wall_seconds(fn: Callable[[], object], device: Asynchronous) -> float:
    device.synchronize()
    start = time.perf_counter()
    fn()
    device.synchronize()
    return time.perf_counter() - start
