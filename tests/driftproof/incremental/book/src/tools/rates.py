"""How fast."""

RATE = 0.9
