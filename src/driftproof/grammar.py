"""The grammar of a page: blocks, their outputs, bound numbers. One parser for every use."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

from driftproof.compare import Tolerance
from driftproof.config import Config
from driftproof.fences import COMMENT, Fence, find_fences
from driftproof.options import OptionError, parse_header
from driftproof.problem import Problem

FRONT_MATTER = re.compile(r"\A\ufeff?-{3}[ \t]*\n(?:.*?\n)??(?:\.{3}|-{3})[ \t]*(?:\n|\Z)", re.DOTALL)
INCLUDE = re.compile(r"^(?P<space>\s*)-+8<-+(?:\s+(?P<quoted>\"[^\"]+\"|'[^']+'))?\s*$")
DATA = re.compile(r"<data\b(?P<attributes>[^<>]*(?:\"[^\"]*\"[^<>\"]*)*)>(?P<text>[^<]*)</data>")
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_ATTRIBUTE = re.compile(r"""\s+([a-z]+)=("[^"]*"|'[^']*')""")
_REGION = re.compile(r"^\s*# --8<-- \[(start|end): *([\w-]+)\]\s*$")
_SLUG = re.compile(r"([a-z0-9][a-z0-9-]*):(.+)", re.DOTALL)


@dataclass(frozen=True)
class Output:
    """What a block printed when it was recorded."""

    fence: Fence
    options: dict[str, object]

    @property
    def text(self) -> str:
        return "\n".join(self.fence.body)

    @property
    def tolerance(self) -> Tolerance:
        return Tolerance(self.options.get("rtol", 0.0), self.options.get("atol", 0.0))

    @property
    def measured(self) -> str:
        return self.options.get("measured", "")

    @property
    def device(self) -> str:
        return self.options.get("device", "")

    @property
    def show(self) -> str:
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
        line: The line of the page on which the fence opens, from 1.
    """

    number: int
    fence: Fence
    options: dict[str, object]
    code: str
    file: str
    first: int
    output: Output | None = None

    @property
    def line(self) -> int:
        return self.fence.start + 1

    @property
    def anchor(self) -> str:
        return self.options.get("id") or f"block-{self.number}"

    @property
    def runs(self) -> bool:
        return "exec" not in self.options

    @property
    def tree(self) -> ast.Module | None:
        """The syntax tree, or None where the code is not Python."""
        try:
            return ast.parse(self.code)
        except SyntaxError:
            return None


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
    """

    path: str
    lines: list[str]
    prose: list[str] = field(default_factory=list)
    fences: list[tuple[str, Fence]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    shared: list[tuple[str, int, str]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def slug(self) -> str:
        return Path(self.path).stem

    @property
    def running(self) -> list[Block]:
        return [block for block in self.blocks if block.runs]

    def block_at(self, line: int) -> Block | None:
        """Return the block to which a line of the page belongs, its output included."""
        for block in self.blocks:
            if block.line <= line <= (block.output or block).fence.end + 1:
                return block
        return None

    def block_computing(self, expression: str) -> Block | None:
        """Return the last block that assigns a name of `expression`."""
        names = _names(ast.parse(expression.strip(), mode="eval"), ast.Load)
        for block in reversed(self.running):
            if block.tree and names & _names(block.tree, ast.Store):
                return block
        return None


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 file without their endings; CR LF counts as one ending."""
    return path.read_bytes().decode("utf-8").replace("\r\n", "\n").split("\n")


def parse_page(config: Config, path: str) -> Page:
    """Parse the page at `path` (relative to the root); what is wrong is in `page.problems`."""
    try:
        lines = read_lines(config.root / path)
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8"
        return Page(path, [], problems=[Problem("encoding", path, 1, f"not UTF-8: {error}", hint)])
    return parse_text(config, path, lines)


def parse_text(config: Config, path: str, lines: list[str]) -> Page:
    """Parse a page from its lines."""
    page = Page(path, lines)
    visible = list(lines)
    if match := FRONT_MATTER.match("\n".join(lines)):
        end = match.group(0).count("\n")
        visible[:end] = [""] * end
    fences, broken = find_fences(visible)
    if broken:
        for fence in broken[:1]:
            page.problems.append(
                Problem(
                    "unclosed-fence",
                    path,
                    fence.start + 1,
                    f"the fence {fence.reason}",
                    "close it with the same ticks at the same indent; use more ticks outside "
                    "than inside",
                )
            )
        return page
    page.prose = _without(visible, fences)
    _read_fences(config, page, fences)
    _read_bounds(page)
    _read_includes(config, page)
    _check_leaves(page)
    return page


def _without(lines: list[str], fences: list[Fence]) -> list[str]:
    """Blank out fences and comments, keeping every line and column where it is."""
    kept = list(lines)
    for fence in fences:
        kept[fence.start : fence.end + 1] = [""] * (fence.end + 1 - fence.start)
    blank = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), "\n".join(kept))
    return blank.split("\n")


def _read_fences(config: Config, page: Page, fences: list[Fence]) -> None:
    previous: Block | None = None
    seen: dict[str, int] = {}
    for fence in fences:
        language = ""
        try:
            language, options = parse_header(fence.header)
        except OptionError as error:
            if fence.live:
                page.problems.append(
                    Problem(error.code, page.path, fence.start + 1, error.message, error.hint)
                )
            options = {}
        page.fences.append((language, fence))
        if not fence.live:
            continue
        if language == "python":
            previous = _read_block(config, page, fence, options)
            page.blocks.append(previous)
            if "id" in options and seen.setdefault(previous.anchor, previous.line) < previous.line:
                first = seen[previous.anchor]
                page.problems.append(
                    Problem(
                        "duplicate-id",
                        page.path,
                        previous.line,
                        f"the id {previous.anchor!r} is already that of the block at line {first}",
                        "ids are unique on a page",
                    )
                )
        elif language == "output":
            _read_output(page, fence, options, previous)
            previous = None
        else:
            previous = None


def _read_block(config: Config, page: Page, fence: Fence, options: dict[str, object]) -> Block:
    line = fence.start + 1

    def problem(code: str, message: str, hint: str = "", at: int = line) -> None:
        page.problems.append(Problem(code, page.path, at, message, hint))

    if "exec" in options and "reason" not in options:
        problem("option-value", 'exec="off" needs a reason', 'add reason="…"')
    if "reason" in options and "exec" not in options:
        problem("option-value", 'reason="…" goes with exec="off"')
    for i, text in enumerate(fence.body):
        if INCLUDE.match(text):
            problem(
                "include-in-code",
                "`--8<--` brings in prose, not code",
                'use file="name.py" on the fence: recording fills in the code',
                line + 1 + i,
            )
    code, file, first = "\n".join(fence.body) + "\n", page.path, line + 1
    if "file" in options:
        found = read_region(config, str(options["file"]))
        if isinstance(found, str):
            problem("file", found, f"look for it under {config.snippets}/")
        else:
            text, file, first = found
            if text.rstrip() != code.rstrip():
                problem(
                    "file",
                    f"the code shown is not that of {options['file']}",
                    "run `driftproof record` to fill it in",
                )
            code = text
    return Block(len(page.blocks) + 1, fence, options, code, file, first)


def read_region(config: Config, file: str) -> tuple[str, str, int] | str:
    """Return code, file and first line of `name.py` or `name.py:region`, or what is wrong."""
    name, _, region = file.partition(":")
    path = (config.root / config.snippets / name).resolve()
    if not path.is_relative_to(config.root / config.snippets) or not path.is_file():
        return f"there is no {config.snippets}/{name}"
    lines = read_lines(path)
    start, end = 0, len(lines)
    if region:
        marks = {m[1]: i for i, t in enumerate(lines) if (m := _REGION.match(t)) and m[2] == region}
        if marks.keys() != {"start", "end"}:
            return f"{config.snippets}/{name} has no region {region!r} with a start and an end"
        start, end = marks["start"] + 1, marks["end"]
    kept = [text for text in lines[start:end] if not _REGION.match(text)]
    if len(kept) != end - start:
        return f"the region {region or name!r} of {config.snippets}/{name} holds another region"
    return "\n".join(kept).rstrip() + "\n", config.relative(path), start + 1


def _read_output(
    page: Page, fence: Fence, options: dict[str, object], block: Block | None
) -> None:
    line = fence.start + 1

    def problem(code: str, message: str, hint: str = "") -> None:
        page.problems.append(Problem(code, page.path, line, message, hint))

    between = page.lines[block.fence.end + 1 : fence.start] if block else []
    if block is None or "".join(between).strip(" >\t"):
        problem(
            "surplus-output",
            "this `output` fence does not follow a block",
            "it belongs right after the block that prints it",
        )
        return
    if not block.runs:
        problem("surplus-output", "the block above does not run, so it prints nothing")
        return
    if fence.prefix != block.fence.prefix:
        problem(
            "surplus-output",
            "this `output` fence is not indented like its block",
            "give both the same indent",
        )
        return
    tolerant = options.keys() & {"rtol", "atol"}
    if tolerant and "because" not in options:
        problem("option-value", f"{min(tolerant)} needs a reason", 'add because="…"')
    if "because" in options and not tolerant:
        problem("option-value", "because goes with rtol or atol")
    if "measured" in options and tolerant:
        problem("option-value", "a measured output has no tolerance: its digits are not compared")
    page.blocks[-1] = Block(**{**vars(block), "output": Output(fence, options)})


def _read_bounds(page: Page) -> None:
    text = "\n".join(page.prose)
    text = CODE_SPAN.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)
    for line, content in enumerate(text.split("\n"), 1):
        end = 0
        for match in DATA.finditer(content):
            end = match.end()
            _read_bound(page, match, line)
        if re.search(r"<data\b", content[end:]):
            page.problems.append(
                Problem(
                    "bound-number",
                    page.path,
                    line,
                    "this <data> element is not understood",
                    'write <data value="expression">text</data> on one line, without < or > '
                    "in the expression",
                )
            )


def _read_bound(page: Page, match: re.Match[str], line: int) -> None:
    def problem(message: str, hint: str = "") -> None:
        page.problems.append(Problem("bound-number", page.path, line, message, hint))

    attributes = match["attributes"]
    values = {name: quoted[1:-1] for name, quoted in _ATTRIBUTE.findall(attributes)}
    unknown = sorted(values.keys() - {"value", "rtol", "because"})
    if unknown or _ATTRIBUTE.sub("", attributes).strip() or "value" not in values:
        problem(
            f"<data{attributes}> is not understood",
            'it takes value="expression" and, with a reason in because="…", rtol="…"',
        )
        return
    if "rtol" in values and not values.get("because", "").strip():
        problem("rtol needs a reason", 'add because="…"')
    try:
        rtol = float(values.get("rtol", 0.0))
    except ValueError:
        rtol = -1.0
    if not 0 <= rtol < 1:
        problem(f"rtol={values['rtol']!r} is not a number from 0 to 1")
        return
    expression, slug = values["value"], ""
    if owner := _SLUG.fullmatch(expression):
        slug, expression = owner.groups()
    try:
        ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError):
        problem(f"{expression!r} is not a Python expression")
        return
    if not match["text"].strip():
        problem("the element is empty", "write the number it stands for")
        return
    page.bounds.append(
        Bound(expression, slug, match["text"], Tolerance(rtol), line, match.start("text"))
    )


def _read_includes(config: Config, page: Page) -> None:
    for i, content in enumerate(page.prose):
        if match := INCLUDE.match(content):
            if not match["quoted"]:
                page.problems.append(
                    Problem(
                        "include", page.path, i + 1, "`--8<--` without a file",
                        'write --8<-- "name.md"',
                    )
                )  # fmt: skip
                continue
            _include(config, page, match["quoted"][1:-1], f"{page.path}:{i + 1}", i + 1, ())


def _include(
    config: Config, page: Page, name: str, chain: str, line: int, inside: tuple[str, ...]
) -> None:
    def problem(message: str, hint: str = "") -> None:
        page.problems.append(Problem("include", page.path, line, f"{message} ({chain})", hint))

    path = (config.root / config.snippets / name).resolve()
    if not path.is_relative_to(config.root / config.snippets) or not path.is_file():
        problem(f"there is no {config.snippets}/{name}", f"look for it under {config.snippets}/")
        return
    if name in inside:
        problem(f"{config.snippets}/{name} includes itself")
        return
    file = config.relative(path)
    lines = read_lines(path)
    fences, broken = find_fences(lines)
    bad = [fence.start for fence in broken]
    bad += [f.start for f in fences if f.live and re.match(r"\{?\s*\.?(python|output)", f.header)]
    if bad:
        problem(
            f"{file}:{min(bad) + 1} holds a fence that the page cannot run",
            "shared prose holds no blocks; put code into the page",
        )
        return
    for i, content in enumerate(_without(lines, fences)):
        if match := INCLUDE.match(content):
            inner = (match["quoted"] or '""')[1:-1]
            _include(config, page, inner, f"{chain} > {file}:{i + 1}", line, (*inside, name))
        elif "<data" in content:
            problem(f"{file}:{i + 1} binds a number, which shared prose cannot")
        else:
            page.shared.append((file, i + 1, content))


def _check_leaves(page: Page) -> None:
    """Refuse what depends on a block whose numbers depend on the machine."""
    leaf: dict[str, Block] = {}
    for block in page.running:
        tree = block.tree
        if tree is None:
            continue
        stored = _names(tree, ast.Store)
        for name in sorted(_names(tree, ast.Load) & leaf.keys() - stored):
            _depends(page, block.line, f"{name!r}", leaf[name])
        for name in stored:
            leaf.pop(name, None)
        if block.output and block.output.is_leaf:
            leaf.update(dict.fromkeys(stored, block))
    for bound in page.bounds:
        if not bound.slug:
            names = _names(ast.parse(bound.expression.strip(), mode="eval"), ast.Load)
            for name in sorted(names & leaf.keys()):
                _depends(page, bound.line, f"{name!r}", leaf[name])


def _depends(page: Page, line: int, name: str, block: Block) -> None:
    page.problems.append(
        Problem(
            "measured-leaf",
            page.path,
            line,
            f"{name} comes from the block at line {block.line}, whose numbers depend on the machine",
            "only that block may use it; compute what others need before it",
        )
    )


def _names(tree: ast.AST, context: type[ast.expr_context]) -> set[str]:
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}
    if context is ast.Store:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        names |= {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
        imports = (ast.Import, ast.ImportFrom)
        for node in ast.walk(tree):
            if isinstance(node, imports):
                names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return names
