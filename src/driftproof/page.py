"""What a page is made of: blocks, their outputs, bound numbers."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from driftproof.compare import Tolerance
from driftproof.fences import Fence
from driftproof.names import TooDeepError, literals, loaded, parsed, stored
from driftproof.options import Options
from driftproof.problem import Problem


@dataclass(frozen=True)
class Output:
    """What a block printed when it was recorded."""

    fence: Fence
    options: Options

    @property
    def text(self) -> str:
        """The recorded text."""
        return "\n".join(self.fence.body)

    @property
    def tolerance(self) -> Tolerance:
        """How far its floats may be off."""
        return Tolerance(self.options.get("rtol", 0.0), self.options.get("atol", 0.0))

    @property
    def measured(self) -> str:
        """On what and when it was measured, "" if it is not a measurement."""
        return self.options.get("measured", "")

    @property
    def device(self) -> str:
        """The device that it needs, "" if any will do."""
        return self.options.get("device", "")

    @property
    def show(self) -> str:
        """How it is shown: "table", "figure", or "" for text."""
        return self.options.get("show", "")

    @property
    def is_sealed(self) -> bool:
        """Whether a hash stands for the digits, because they are not compared one by one."""
        return bool(self.measured or self.device or self.options.keys() & {"rtol", "atol"})

    @property
    def is_leaf(self) -> bool:
        """Whether the block depends on the machine, so that nothing may depend on it."""
        return bool(self.measured or self.device)


@dataclass(frozen=True)
class Block:
    """A Python fence of a page.

    Attributes:
        number: Its place among the page's blocks, from 1.
        code: What runs: the fence's body, or the region of its `file`.
        file: Where the code stands, relative to the root.
        first: The line of `file` on which the code begins, from 1.
    """

    number: int
    fence: Fence
    options: Options
    code: str
    file: str
    first: int
    output: Output | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what is kept of it: a syntax tree is made as quickly from the code."""
        return {name: value for name, value in vars(self).items() if name != "tree"}

    @property
    def line(self) -> int:
        """The line of the page on which the fence opens, from 1."""
        return self.fence.start + 1

    @property
    def anchor(self) -> str:
        """The id by which a link reaches it."""
        return self.options.get("id", f"block-{self.number}").strip().replace(" ", "-")

    @property
    def output_anchor(self) -> str:
        """The id of its output, which moves with the block's own where the author gave one."""
        return f"{self.anchor}-output" if "id" in self.options else f"output-{self.number}"

    @property
    def runs(self) -> bool:
        """Whether it runs, rather than being shown only."""
        return "exec" not in self.options

    @cached_property
    def assigned(self) -> set[str]:
        """The names it leaves behind."""
        return stored(self.tree) if self.tree else set()

    @cached_property
    def literals(self) -> set[float]:
        """The numbers written out in it."""
        return literals(self.tree) if self.tree else set()

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree, or None where the code is not Python."""
        try:
            return parsed(self.code)
        except SyntaxError:
            return None

    @cached_property
    def is_too_deep(self) -> bool:
        """Whether the code nests too deeply to be looked at."""
        try:
            parsed(self.code)
        except TooDeepError:
            return True
        except SyntaxError:
            return False
        return False


@dataclass(frozen=True)
class Bound:
    """A number in prose and the expression it stands for.

    Attributes:
        expression: Evaluated after the last block of its page.
        slug: The page that owns the expression, "" for this one.
        text: The number as printed.
        line: Line of the page, from 1.
        start: Column at which `text` begins, from 0.
    """

    expression: str
    slug: str
    text: str
    tolerance: Tolerance
    line: int
    start: int


@dataclass
class Page:
    """A parsed page.

    Attributes:
        path: Relative to the project root.
        lines: The file's lines, without line endings.
        prose: The same lines with fences, comments and front matter blanked out.
        fences: Every fence, live or not, in order, as the renderer will meet them.
        shared: Lines that `--8<--` brings in, with their file and line.
        is_of_examples: Whether the numbers in its prose are examples, which need not be bound.
        key: A hash of all that it was parsed from; "" for a text that is not a file of the project.
    """

    path: str
    lines: list[str]
    prose: list[str] = field(default_factory=list)
    fences: list[tuple[str, Fence]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    shared: list[tuple[str, int, str]] = field(default_factory=list)
    is_of_examples: bool = False
    problems: list[Problem] = field(default_factory=list)
    key: str = ""

    @cached_property
    def slug(self) -> str:
        """The name by which other pages bind its numbers."""
        return Path(self.path).stem

    @property
    def running(self) -> list[Block]:
        """The blocks that run."""
        return [block for block in self.blocks if block.runs]

    def block_at(self, line: int) -> Block | None:
        """Return the block to which a line of the page belongs, its output included."""
        for block in self.blocks:
            if block.line <= line <= (block.output or block).fence.end + 1:
                return block
        return None

    def writes(self, expression: str) -> bool:
        """Whether a bare number or text, which nothing computes, stands in a block at least."""
        value = parsed(expression.strip(), "eval").body
        if isinstance(value, ast.UnaryOp):
            value = value.operand
        return not isinstance(value, ast.Constant) or any(
            value.value in block.literals for block in self.running
        )

    def block_computing(self, expression: str) -> Block | None:
        """Return the block behind `expression`, None where the page has none.

        It is the last one that assigns a name of it; of an expression without such names, the last
        that writes out its numbers, or else the last of all, after which it is evaluated.
        """
        tree = parsed(expression.strip(), "eval")
        names, numbers = loaded(tree), literals(tree)
        backwards = self.running[::-1]
        assigning = (block for block in backwards if names & block.assigned)
        writing = (block for block in backwards if numbers and numbers <= block.literals)
        return next((b for found in (assigning, writing, backwards) for b in found), None)
