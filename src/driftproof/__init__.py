"""Runs the Python blocks of a Markdown book and holds them to what the pages say they print."""

from driftproof.figures import figure

__all__ = ["figure"]
