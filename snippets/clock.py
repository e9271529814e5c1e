"""Sweeps of "The clock": ways to read a sequence, a chain against one product, a training step.

`python snippets/clock.py > snippets/clock_record.py` records them; it takes a minute.
"""

import datetime

from passes import PASSES, recorded

# isort: split
# --8<-- [start: ways]
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from onehop.attention import MultiHeadSelfAttention
from onehop.timing import seconds_per_call
from onehop.transformer import TransformerBlock, fused_attention

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
    """One head; every step reads every step, and the matrix of weights is written out."""
    q, k, v = layer.query(x), layer.key(x), layer.value(x)
    return layer.output(torch.softmax(q @ k.mT / WIDTH**0.5, dim=-1) @ v)


# --8<-- [end: ways]
# --8<-- [start: race]
CPU = torch.device("cpu")


def race(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Least CPU seconds of each call; they take turns, so that what disturbs one disturbs all."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            best[name] = min(best[name], seconds_per_call(call, CPU, rounds=1, warmup=1))
    return best


def readers(steps: int) -> dict[str, Callable[[], Tensor]]:
    """Six ways to read one sequence, as calls."""
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
# --8<-- [start: training]
blocks = nn.Sequential(*(TransformerBlock(WIDTH, heads=4) for _ in range(2)))
lstm = nn.LSTM(WIDTH, WIDTH, num_layers=3, batch_first=True)
cells = nn.ModuleList(nn.LSTMCell(WIDTH, WIDTH) for _ in range(3))


def step_by_step(x: Tensor) -> Tensor:
    """The three LSTM layers as a loop in Python, all layers advancing together."""
    zeros = torch.zeros(len(x), WIDTH)
    states, outputs = [(zeros, zeros)] * len(cells), []
    for y in x.unbind(1):
        for layer, cell in enumerate(cells):
            states[layer] = cell(y, states[layer])
            y = states[layer][0]
        outputs.append(y)
    return torch.stack(outputs, 1)


def trainers(steps: int, batch: int = 8) -> dict[str, Callable[[], None]]:
    """Forward and backward through each of the three, as calls."""
    x = torch.randn(batch, steps, WIDTH)
    return {
        "blocks": lambda: blocks(x).sum().backward(),
        "nn.LSTM": lambda: lstm(x)[0].sum().backward(),
        "step by step": lambda: step_by_step(x).sum().backward(),
    }


# --8<-- [end: training]
ROUNDS = 7
LENGTHS = [16, 32, 64, 128, 256, 512, 1024, 2048]
WIDTHS, BATCHES = [32, 64, 128, 256, 512], [1, 4, 16, 64]
TRAINED = [32, 128, 512]


@torch.no_grad()
def record_sweep() -> None:
    today, version = datetime.date.today().isoformat(), torch.__version__
    runs = [{T: race(readers(T), ROUNDS) for T in LENGTHS} for _ in range(PASSES)]
    print(f"# Milliseconds a call on one core of an AMD EPYC, torch {version}, {today}: the median")
    print(
        f"# of {PASSES} passes, each the least of {ROUNDS} rounds; then their least and greatest."
    )
    print(f"lengths = {LENGTHS}")
    names = runs[0][LENGTHS[0]]
    times = {name: [[run[T][name] * 1e3 for run in runs] for T in LENGTHS] for name in names}
    print(recorded("milliseconds", times))
    print("# Time of the chain over that of another way, in the same pass.")
    leads = {
        name: [[run[T]["chain"] / run[T][name] for run in runs] for T in LENGTHS]
        for name in ("one product", "attention")
    }
    print(recorded("chain_over", leads))


@torch.no_grad()
def record_widths() -> None:
    print("# Time of the chain over that of one product, same machine and day: the median of")
    print(f"# {PASSES} passes, then their least and greatest.")
    print(f"widths = {WIDTHS}")
    ratios = {
        f"batch {B}": [[chain_over_product(d, B, ROUNDS) for _ in range(PASSES)] for d in WIDTHS]
        for B in BATCHES
    }
    print(recorded("chain_over_one", ratios))


def record_training() -> None:
    print(f"# Time of a training step over that of the two blocks: {PASSES} passes, as above.")
    print(f"trained_at = {TRAINED}")
    columns = {}
    for batch in (8, 1):
        runs = [{T: race(trainers(T, batch), 3) for T in TRAINED} for _ in range(PASSES)]
        for name in ("nn.LSTM", "step by step"):
            ratios = [[run[T][name] / run[T]["blocks"] for run in runs] for T in TRAINED]
            columns[f"{name}, batch {batch}"] = ratios
    print(recorded("trained", columns))


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for name, record in (
        ("sweep", record_sweep),
        ("widths", record_widths),
        ("training", record_training),
    ):
        print(f"# --8<-- [start: {name}]")
        record()
        print(f"# --8<-- [end: {name}]")


if __name__ == "__main__":
    main()
