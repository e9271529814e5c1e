"""Sweeps of "The clock": six ways to read a sequence, and a chain of steps against one product.

`python snippets/clock.py > snippets/clock_record.py` records them; it takes two minutes.
"""

import datetime
import statistics
from collections.abc import Callable

# --8<-- [start: ways]
import torch
from torch import Tensor, nn

from onehop.attention import MultiHeadSelfAttention
from onehop.transformer import fused_attention

WIDTH = 64


def chain(h: Tensor, z: Tensor, W_h: Tensor) -> Tensor:
    """Each state from the one before it; z is what the inputs contribute."""
    states = []
    for z_t in z.unbind(1):
        h = torch.tanh(z_t + h @ W_h.T)
        states.append(h)
    return torch.stack(states, 1)


def one_product(previous: Tensor, z: Tensor, W_h: Tensor) -> Tensor:
    """All states at once, from the states before them."""
    return torch.tanh(z + previous @ W_h.T)


def explicit_attention(layer: MultiHeadSelfAttention, x: Tensor) -> Tensor:
    """One head, every step reading every step, with the matrix of weights written out."""
    q, k, v = layer.query(x), layer.key(x), layer.value(x)
    return layer.output(torch.softmax(q @ k.mT / WIDTH**0.5, dim=-1) @ v)


# --8<-- [end: ways]
# --8<-- [start: race]
from onehop.timing import seconds_per_call  # noqa: E402

CPU = torch.device("cpu")


def race(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Least CPU seconds of each call; they take turns, so that what disturbs one disturbs all."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            best[name] = min(best[name], seconds_per_call(call, CPU, rounds=1, warmup=1))
    return best


def readers(steps: int) -> dict[str, Callable[[], Tensor]]:
    """Six ways to read one sequence, as calls that take nothing."""
    z, h_0 = torch.randn(1, steps, WIDTH), torch.zeros(1, WIDTH)
    W_h = torch.randn(WIDTH, WIDTH) / WIDTH**0.5
    layer = MultiHeadSelfAttention(WIDTH, heads=1)
    rnn, lstm = (build(WIDTH, WIDTH, batch_first=True) for build in (nn.RNN, nn.LSTM))
    return {
        "chain": lambda: chain(h_0, z, W_h),
        "one product": lambda: one_product(z, z, W_h),
        "attention": lambda: explicit_attention(layer, z),
        "fused attention": lambda: fused_attention(layer, z, causal=False),
        "nn.RNN": lambda: rnn(z)[0],
        "nn.LSTM": lambda: lstm(z)[0],
    }


# --8<-- [end: race]
# --8<-- [start: widths]
def chain_over_product(width: int, batch: int, rounds: int, steps: int = 64) -> float:
    """Time of a chain over the time of the same arithmetic in one product."""
    z, h_0 = torch.randn(batch, steps, width), torch.zeros(batch, width)
    W_h = torch.randn(width, width) / width**0.5
    best = race(
        {"chain": lambda: chain(h_0, z, W_h), "one": lambda: one_product(z, z, W_h)}, rounds
    )
    return best["chain"] / best["one"]


# --8<-- [end: widths]
PASSES, ROUNDS = 5, 7
LENGTHS = [16, 32, 64, 128, 256, 512, 1024, 2048]
WIDTHS, BATCHES = [32, 64, 128, 256, 512], [1, 4, 16, 64]


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with torch.no_grad():
        passes = [{T: race(readers(T), ROUNDS) for T in LENGTHS} for _ in range(PASSES)]
        ratios = {
            (d, B): [chain_over_product(d, B, ROUNDS) for _ in range(PASSES)]
            for B in BATCHES
            for d in WIDTHS
        }
    today, version = datetime.date.today().isoformat(), torch.__version__
    print("# --8<-- [start: sweep]")
    print(f"# Milliseconds a call on one core of an AMD EPYC, torch {version}, {today}:")
    print(f"# the median of {PASSES} passes, each the least of {ROUNDS} rounds.")
    print(f"lengths = {LENGTHS}")
    print("milliseconds = {")
    for name in passes[0][LENGTHS[0]]:
        medians = [statistics.median(run[T][name] for run in passes) * 1e3 for T in LENGTHS]
        print(f'    "{name}": [{", ".join(f"{m:.3g}" for m in medians)}],')
    print("}")
    print("# Least and greatest of the passes' ratios of the chain to another, at each length.")
    print("spread = {")
    for name in ("one product", "attention"):
        pairs = []
        for T in LENGTHS:
            ratio = [run[T]["chain"] / run[T][name] for run in passes]
            pairs.append(f"({min(ratio):.3g}, {max(ratio):.3g})")
        print(f'    "{name}": [{", ".join(pairs)}],')
    print("}")
    print("# --8<-- [end: sweep]")
    print("# --8<-- [start: widths]")
    print("# Time of the chain over that of one product, same machine and day, 64 steps.")
    print(f"widths = {WIDTHS}")
    print("chain_over_one = {  # by batch")
    for B in BATCHES:
        medians = [statistics.median(ratios[d, B]) for d in WIDTHS]
        print(f"    {B}: [{', '.join(f'{m:.3g}' for m in medians)}],")
    print("}")
    print("# --8<-- [end: widths]")


if __name__ == "__main__":
    main()
