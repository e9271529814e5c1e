"""What an accelerator can do at best with one matrix product, from two numbers of its data sheet.

The roofline of Williams, Waterman and Patterson (2009, doi:10.1145/1498765.1498785): arithmetic is
limited by the peak, and by how fast its operands arrive from memory. A bound, never a measurement.
"""

from dataclasses import dataclass

from onehop.counting import product_flops


@dataclass(frozen=True)
class Accelerator:
    """Two limits of an accelerator, as its maker states them.

    Attributes:
        name: what the data sheet calls it.
        peak: dense half-precision matrix arithmetic, in floating-point operations per second.
        bandwidth: of its main memory, in bytes per second.
    """

    name: str
    peak: float
    bandwidth: float

    @property
    def ridge(self) -> float:
        """The intensity, in FLOPs per byte, from which the peak and not the memory is the limit."""
        return self.peak / self.bandwidth


V100 = Accelerator("V100 SXM2", peak=125e12, bandwidth=900e9)
A100_40GB = Accelerator("A100 SXM 40 GB", peak=312e12, bandwidth=1.555e12)
A100_80GB = Accelerator("A100 SXM 80 GB", peak=312e12, bandwidth=2.039e12)
H100 = Accelerator("H100 SXM5 80 GB", peak=989.4e12, bandwidth=3.35e12)


def product_bytes(rows: int, inner: int, columns: int, bytes_per_number: int = 2) -> int:
    """Return the least traffic of a `(rows, inner)` by `(inner, columns)` product, in bytes.

    Both factors are read once and the result is written once; half precision is 2 bytes a number.
    """
    return bytes_per_number * (rows * inner + inner * columns + rows * columns)


def intensity(rows: int, inner: int, columns: int) -> float:
    """Return the arithmetic intensity of a half-precision product, in FLOPs per byte."""
    return product_flops(rows, inner, columns) / product_bytes(rows, inner, columns)


def attainable_rate(accelerator: Accelerator, flops_per_byte: float) -> float:
    """Return the roof at an intensity, in floating-point operations per second."""
    return min(accelerator.peak, accelerator.bandwidth * flops_per_byte)


def product_seconds(accelerator: Accelerator, rows: int, inner: int, columns: int) -> float:
    """Return the least time of a half-precision product, in seconds, once it has been launched."""
    arithmetic = product_flops(rows, inner, columns) / accelerator.peak
    traffic = product_bytes(rows, inner, columns) / accelerator.bandwidth
    return max(arithmetic, traffic)


def utilisation(accelerator: Accelerator, flops: float, seconds: float) -> float:
    """Return the share of the peak that `flops` in `seconds` amount to.

    Args:
        accelerator: whose peak it is a share of.
        flops: operations done.
        seconds: time taken.

    Raises:
        ValueError: the share is above 1, which no accelerator can reach.
    """
    least = flops / accelerator.peak
    if seconds < least:
        raise ValueError(
            f"seconds: expected at least the {least:.3g} s that the peak of {accelerator.name} "
            f"takes, got {seconds:.3g} s: no utilisation is above 100%"
        )
    return least / seconds
