"""What happened when a page ran, block by block."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from driftproof.failure import Failure
from driftproof.figures import Figure

Value = bool | int | float | str | Failure


@dataclass
class Read:
    """What a page read in one block, or before the first, that it had not read before.

    Attributes:
        files: SHA-256 of the project's files that were read, by path.
        modules: Modules loaded that are not of the standard library.
        variables: Environment variables that were asked for.
    """

    files: dict[str, str] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)


@dataclass
class Run:
    """What happened when a page ran.

    Attributes:
        outputs: What each block printed, by block number.
        figures: The figure of each block that drew one.
        values: The value of each expression, a plain number or text, or a Failure.
        failure: Why the run stopped, and in which block.
        failed: The number of that block, 0 where the page could not begin.
        stderr: The end of what the failing block wrote to standard error.
        seconds: CPU time of each block.
        reads: What was read before the first block, then in each; the expressions count as the
            last.
        asked: The value of what the settings ask, after each block.
    """

    outputs: dict[int, str] = field(default_factory=dict)
    figures: dict[int, Figure] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    failure: Failure | None = None
    failed: int = 0
    stderr: str = ""
    seconds: dict[int, float] = field(default_factory=dict)
    reads: list[Read] = field(default_factory=list)
    asked: list[dict[str, Value]] = field(default_factory=list)

    @property
    def files(self) -> dict[str, str]:
        """SHA-256 of the project's files that were read, by path."""
        return {path: digest for read in self.reads for path, digest in read.files.items()}

    @property
    def modules(self) -> list[str]:
        """Modules loaded that are not of the standard library."""
        return sorted({name for read in self.reads for name in read.modules})

    @property
    def variables(self) -> list[str]:
        """Environment variables that were asked for."""
        return sorted({name for read in self.reads for name in read.variables})

    def copy(self) -> Run:
        """Return a run that can go on from here without changing this one."""
        return replace(
            self,
            outputs=dict(self.outputs),
            figures=dict(self.figures),
            seconds=dict(self.seconds),
            reads=[replace(read) for read in self.reads],
            asked=list(self.asked),
        )
