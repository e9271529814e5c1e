"""Time of one more token, for "Decoding and the cache".

`python snippets/decoding.py > snippets/decoding_record.py` records it; it takes half a minute.
"""

import datetime

from passes import PASSES, recorded

# isort: split
# --8<-- [start: steps]
import torch
from torch import nn

from onehop.attention import MultiHeadSelfAttention
from onehop.decoding import KeyValueCache, attention_step
from onehop.timing import seconds_per_call

WIDTH, CPU, REPEATS = 64, torch.device("cpu"), 20


@torch.no_grad()
def attention_token(position: int) -> float:
    """Seconds of one attention step with `position` tokens in its cache."""
    layer = MultiHeadSelfAttention(WIDTH, heads=1)
    cache = KeyValueCache(layer, capacity=position + 1)
    cache.append(*torch.randn(2, 1, 1, position, WIDTH))
    x = torch.randn(1, WIDTH)

    def steps() -> None:
        for _ in range(REPEATS):
            cache.length = position  # forget the token of the step before
            attention_step(layer, x, cache)

    return seconds_per_call(steps, CPU, rounds=9) / REPEATS


@torch.no_grad()
def gru_token(position: int) -> float:
    """Seconds of one GRU step after `position` steps."""
    cell, x = nn.GRUCell(WIDTH, WIDTH), torch.randn(1, WIDTH)
    h = torch.zeros(1, WIDTH)
    for _ in range(position):
        h = cell(x, h)

    def steps() -> None:
        state = h
        for _ in range(REPEATS):
            state = cell(x, state)

    return seconds_per_call(steps, CPU, rounds=9) / REPEATS


# --8<-- [end: steps]
POSITIONS = [16, 64, 256, 1024, 4096, 16384, 65536]


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    # Each model in a loop of its own: a large cache would drive the other's weights out of memory
    # that is near.
    attention = [[attention_token(n) for n in POSITIONS] for _ in range(PASSES)]
    gru = [[gru_token(n) for n in POSITIONS] for _ in range(PASSES)]
    today, version = datetime.date.today().isoformat(), torch.__version__
    print(f"# Microseconds a token on one core of an AMD EPYC, torch {version}, {today}:")
    print(f"# the median of {PASSES} passes, then their least and greatest.")
    print(f"positions = {POSITIONS}")
    microseconds = {
        name: [[1e6 * seconds for seconds in column] for column in zip(*passes, strict=True)]
        for name, passes in (("attention", attention), ("GRU", gru))
    }
    print(recorded("microseconds", microseconds))


if __name__ == "__main__":
    main()
