# --8<-- [start: cost]
def cost(steps):
    return 2.5 * steps


# --8<-- [end: cost]
