"""A program too long for a page."""

# --8<-- [start:last]
steps = [1, 2]
print(steps[2])
# --8<-- [end:last]
