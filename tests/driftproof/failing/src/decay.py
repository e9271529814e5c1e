"""What a page imports."""


def _factor(x):
    return x.steps


def left(steps):
    return 0.9 ** _factor(steps)
