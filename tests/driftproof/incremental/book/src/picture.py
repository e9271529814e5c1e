"""A picture that needs no plotting."""


class Picture:
    """Draws a height for each value."""

    def __init__(self, values):
        self.values = values

    def savefig(self, target, **_):
        """Write the picture as SVG."""
        bars = "".join(f'<rect width="1" height="{value:.2f}"/>' for value in self.values)
        target.write(f'<svg width="30pt" height="10pt">{bars}</svg>')
