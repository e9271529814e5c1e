"""How a timing is recorded: the median of some passes, then their least and greatest."""

import statistics
from collections.abc import Mapping, Sequence

PASSES = 5


def recorded(name: str, columns: Mapping[str, Sequence[Sequence[float]]]) -> str:
    """A dictionary of three lists for each name, as Python: a number for each column of passes."""
    lines = [f"{name} = {{"]
    for key, column in columns.items():
        for suffix, choose in (("", statistics.median), (" least", min), (" greatest", max)):
            # Through float, so that a large number is not written with an exponent.
            chosen = (f"{float(f'{choose(passes):.3g}'):g}" for passes in column)
            lines.append(f'    "{key}{suffix}": [{", ".join(chosen)}],')
    return "\n".join([*lines, "}"])
