"""What is left."""

from tools.rates import RATE


def left(steps: int) -> float:
    """Return what is left after some steps."""
    return RATE**steps
