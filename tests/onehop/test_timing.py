import queue
import threading
import time

import pytest
import torch

from onehop.timing import check_rate, seconds_per_call

SECONDS_PER_OPERATION = 0.05


class Stream:
    """Accepts work at once and does it later, one operation after another, like a GPU's stream."""

    def __init__(self) -> None:
        self.work: queue.Queue[float] = queue.Queue()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            time.sleep(self.work.get())
            self.work.task_done()

    def launch(self) -> None:
        self.work.put(SECONDS_PER_OPERATION)

    def synchronize(self) -> None:
        self.work.join()


def test_the_clock_is_read_after_the_device_has_finished():
    stream = Stream()

    def four() -> None:
        for _ in range(4):
            stream.launch()

    start = time.perf_counter()
    four()
    assert time.perf_counter() - start < SECONDS_PER_OPERATION  # what a naive clock reports
    stream.synchronize()
    seconds = seconds_per_call(four, stream, rounds=1, warmup=0)
    assert seconds >= 4 * SECONDS_PER_OPERATION


def test_work_queued_before_does_not_count():
    stream = Stream()
    seconds = seconds_per_call(stream.launch, stream, rounds=1, warmup=4)
    assert SECONDS_PER_OPERATION <= seconds < 4 * SECONDS_PER_OPERATION


def test_the_fastest_round_counts_and_warm_up_does_not():
    class Idle:
        def synchronize(self) -> None: ...

    pauses = iter([0.0, 0.2, 0.02, 0.2])
    seconds = seconds_per_call(lambda: time.sleep(next(pauses)), Idle(), rounds=3, warmup=1)
    assert 0.02 <= seconds < 0.2
    assert next(pauses, "all used") == "all used"


def test_on_the_cpu_only_the_threads_own_work_counts():
    cpu = torch.device("cpu")
    assert seconds_per_call(lambda: time.sleep(0.03), cpu, rounds=1) < 0.01

    def work() -> None:
        stop = time.thread_time() + 0.01
        while time.thread_time() < stop:
            pass

    assert 0.01 <= seconds_per_call(work, cpu, rounds=2, warmup=0) < 0.02


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_products_stay_under_any_peak():
    a = torch.randn(4096, 4096, device="cuda")
    seconds = seconds_per_call(lambda: a @ a, torch.device("cuda"))
    assert 1e9 < check_rate(2 * 4096**3, seconds, peak=5e15)


def test_a_rate_above_the_peak_is_impossible():
    assert 1e12 == check_rate(flops=2e9, seconds=2e-3, peak=3e14)
    with pytest.raises(ValueError, match=r"expected at most the peak of 3e\+14 FLOP/s, got 1e\+15"):
        check_rate(flops=2e12, seconds=2e-3, peak=3e14)


def test_devices_and_rounds_that_cannot_be_timed_are_refused():
    with pytest.raises(ValueError, match="expected cpu, cuda or an object with synchronize"):
        seconds_per_call(lambda: None, torch.device("meta"))
    with pytest.raises(ValueError, match="rounds: expected at least 1, got 0"):
        seconds_per_call(lambda: None, torch.device("cpu"), rounds=0)
