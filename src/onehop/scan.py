"""Linear recurrences `h_t = a_t h_{t-1} + b_t`, by a loop and by two scans that need few rounds.

One step is an affine map, and one such map after another is an affine map again. Maps can therefore
be combined in any grouping, many side by side. Everything is element by element, real or complex.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F


class Maps(NamedTuple):
    """A map `h -> a h + b` for each position."""

    a: Tensor
    """`(batch, positions, ...)`."""
    b: Tensor
    """Of the same shape."""

    def part(self, start: int | None, end: int | None, step: int = 1) -> "Maps":
        """Return the maps at some of the positions."""
        return Maps(self.a[:, start:end:step], self.b[:, start:end:step])


Combine = Callable[[Maps, Maps], Maps]
Scan = Callable[..., Tensor]
"""Takes factors, additions and, if it can be counted, a `combine`."""


class Work(NamedTuple):
    """What a scan does."""

    combines: int
    """Pairs of maps combined."""
    rounds: int
    """Groups of pairs of which none waits for another of its group."""


def combine(earlier: Maps, later: Maps) -> Maps:
    """Return the maps that apply `earlier` first and `later` second, position by position."""
    return Maps(later.a * earlier.a, later.a * earlier.b + later.b)


def loop(a: Tensor, b: Tensor) -> Tensor:
    """Return all states from a start of zeros, one step after the other.

    Args:
        a: factors, of a shape that broadcasts to that of `b`.
        b: what each step adds, `(batch, steps, ...)`.

    Returns:
        The states after each step, `(batch, steps, ...)`.
    """
    h, states = torch.zeros_like(b[:, 0]), []
    for a_t, b_t in zip(a.expand_as(b).unbind(1), b.unbind(1), strict=True):
        h = a_t * h + b_t
        states.append(h)
    return torch.stack(states, 1)


def hillis_steele(a: Tensor, b: Tensor, combine: Combine = combine) -> Tensor:
    """Return the states of `loop` in `ceil(log2 T)` rounds and about `T log2 T` combines.

    In each round every position is combined with the one `gap` places back, and the gap doubles:
    Hillis and Steele (1986, doi:10.1145/7902.7903).

    Args:
        a: factors, of a shape that broadcasts to that of `b`.
        b: what each step adds, `(batch, steps, ...)`.
        combine: of two maps the one that applies both.
    """
    maps, gap = Maps(a.expand_as(b), b), 1
    while gap < b.shape[1]:
        combined = combine(maps.part(None, -gap), maps.part(gap, None))
        ready = maps.part(None, gap)
        maps = Maps(torch.cat([ready.a, combined.a], 1), torch.cat([ready.b, combined.b], 1))
        gap *= 2
    return maps.b


def blelloch(a: Tensor, b: Tensor, combine: Combine = combine) -> Tensor:
    """Return the states of `loop` in `2 log2 T` rounds and `2 (T - 1)` combines.

    Up a tree, pairs are combined until one map is left; down the tree, each pair learns what came
    before it: Blelloch (1990, CMU-CS-90-190), with the last state from the top of the tree. Lengths
    other than powers of two are filled up behind the end, where no state looks.

    Args:
        a: factors, of a shape that broadcasts to that of `b`.
        b: what each step adds, `(batch, steps, ...)`.
        combine: of two maps the one that applies both.
    """
    steps = b.shape[1]
    filling = [0, 0] * (b.ndim - 2) + [0, (1 << (steps - 1).bit_length()) - steps]
    maps = Maps(F.pad(a.expand_as(b), filling), F.pad(b, filling))
    before, all_steps = _up_and_down(maps, combine)
    return torch.cat([before.b[:, 1:], all_steps.b], 1)[:, :steps]


def work(scan: Scan, steps: int) -> Work:
    """Return how many combines a scan does and in how many rounds.

    Args:
        scan: `hillis_steele` or `blelloch`: all pairs that it hands to one call of its `combine`
            count as one round.
        steps: length of the sequence.
    """
    pairs = []

    def counting(earlier: Maps, later: Maps) -> Maps:
        pairs.append(later.b.shape[1])
        return combine(earlier, later)

    scan(torch.ones(1, steps, 1), torch.ones(1, steps, 1), counting)
    return Work(sum(pairs), len(pairs))


def _up_and_down(maps: Maps, combine: Combine) -> tuple[Maps, Maps]:
    """The map of all that comes before each position, and the map of all positions together."""
    if maps.b.shape[1] == 1:
        return Maps(torch.ones_like(maps.a), torch.zeros_like(maps.b)), maps
    left, right = maps.part(0, None, 2), maps.part(1, None, 2)
    before_left, everything = _up_and_down(combine(left, right), combine)
    before_right = combine(before_left, left)
    return _interleaved(before_left, before_right), everything


def _interleaved(even: Maps, odd: Maps) -> Maps:
    a, b = (torch.stack(pair, 2).flatten(1, 2) for pair in zip(even, odd, strict=True))
    return Maps(a, b)
