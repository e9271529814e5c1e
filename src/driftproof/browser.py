"""Which blocks of a page run in a reader's browser, where only some modules can be imported.

`browser` in `[tool.driftproof]` lists those modules. A block qualifies if it imports nothing else
and uses no name that a block above made with something else. Of a block that does not qualify, the
imports and constants that a browser can have are kept: blocks below may need them.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Collection
from dataclasses import dataclass

from driftproof.config import Config
from driftproof.names import loaded, stored
from driftproof.page import Block, Page


@dataclass(frozen=True)
class Step:
    """What a browser runs of a block.

    Attributes:
        block: The block.
        code: Its code, or the part of it that needs no other module.
        obstacle: Why the block as a whole cannot run there, "" if it can.
    """

    block: Block
    code: str
    obstacle: str = ""


def steps(page: Page, modules: Collection[str]) -> list[Step]:
    """Return what a browser that has `modules` runs of each block of a page, in order."""
    found: list[Step] = []
    lost: dict[str, Block] = {}  # names that the browser cannot have, and the block they come from
    objects: set[str] = set()  # what the browser does have, and what others could change
    for block in page.running:
        tree = block.tree or ast.Module([], [])
        obstacle = _obstacle(block, tree, modules, lost)
        if obstacle:
            lost |= dict.fromkeys(block.assigned | _changed(tree) & objects, block)
            tree = ast.Module([node for node in tree.body if _is_portable(node, modules)], [])
            found.append(Step(block, ast.unparse(tree), obstacle))
        else:
            found.append(Step(block, block.code))
        for name in stored(tree):
            lost.pop(name, None)
        objects = objects - stored(tree) | _objects(tree)
    return found


def program(page: Page, config: Config) -> tuple[frozenset[int], str]:
    """Return the numbers of the blocks that run in a browser, and what runs and judges them there.

    That is JSON for a script, "" where no block runs.
    """
    found = steps(page, config.browser) if config.browser else []
    runs = frozenset(step.block.number for step in found if not step.obstacle)
    return runs, json.dumps(list(map(_for_a_script, found))) if runs else ""


def _for_a_script(step: Step) -> dict[str, object]:
    output = step.block.output
    return {
        "id": step.block.anchor,
        "code": step.code,
        "runs": not step.obstacle,
        "raises": "" if step.obstacle else step.block.options.get("raises", ""),
        "output": output.text if output else None,
        "rtol": output.tolerance.rtol if output else 0,
        "atol": output.tolerance.atol if output else 0,
    }


def modules(config: Config) -> str:
    """Return the project's own modules that a browser has, with their packages: JSON by path."""
    found = {}
    for module in config.browser:
        parts = module.split(".")
        packages = ["/".join([*parts[:i], "__init__"]) for i in range(1, len(parts))]
        for path in (*packages, "/".join(parts)):
            file = config.root / config.source / f"{path}.py"
            if file.is_file():
                found[f"{path}.py"] = file.read_text("utf-8")
    return json.dumps(found)


def _obstacle(
    block: Block, tree: ast.Module, modules: Collection[str], lost: dict[str, Block]
) -> str:
    imported = {name for node in ast.walk(tree) for name in _imports(node, modules)}
    foreign = sorted(imported - set(modules))
    if foreign:
        return f"imports {foreign[0]}"
    if block.output and block.output.is_leaf:
        return "depends on the machine"
    missing = sorted(loaded(tree) & lost.keys())
    if missing:
        return f"needs {missing[0]!r} from {lost[missing[0]].anchor}"
    return ""


def _imports(node: ast.AST, modules: Collection[str]) -> set[str]:
    """Return the modules that a statement imports; `from a import b` may mean the module `a.b`."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        package = node.module or "."
        inner = {f"{package}.{alias.name}" for alias in node.names}
        return inner if inner <= set(modules) else {package}
    return set()


def _is_portable(node: ast.stmt, modules: Collection[str]) -> bool:
    """Whether a statement is an import of `modules`, or gives names to constants."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return _imports(node, modules) <= set(modules)
    return _is_constant(node)


def _is_constant(node: ast.stmt) -> bool:
    """Whether a statement gives names to numbers, texts, or tuples of them."""
    if not isinstance(node, ast.Assign):
        return False
    names = all(isinstance(target, ast.Name | ast.Tuple) for target in node.targets)
    try:
        hash(ast.literal_eval(node.value))
    except (ValueError, TypeError):
        return False
    return names


def _objects(tree: ast.Module) -> set[str]:
    """Return the names of objects that running `tree` makes and that something could change."""
    fixed = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    made = [n for n in tree.body if not isinstance(n, fixed) and not _is_constant(n)]
    return stored(ast.Module(made, []))


def _changed(tree: ast.AST) -> set[str]:
    """Return the names whose objects running `tree` may change: it hands them to a call, say."""
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found += [*node.args, *(keyword.value for keyword in node.keywords)]
            found += [node.func.value] if isinstance(node.func, ast.Attribute) else []
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.append(node.value)
    names = (inner for node in found for inner in ast.walk(node))
    return {node.id for node in names if isinstance(node, ast.Name)}
