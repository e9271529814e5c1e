"""Which names a piece of code asks for, which it leaves behind, and the numbers in it."""

from __future__ import annotations

import ast
from typing import Any, Literal, overload

_DEEPEST = 300
"""Levels of syntax; at three times as many Python gives up, and nobody reads a tenth of it."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, *_COMPREHENSIONS)
_ORDER = {"generators": 0, "iter": 1, "value": 1, "target": 2, "targets": 2}
"""What Python evaluates first in a node; all else comes after, in the order of its fields."""


class TooDeepError(SyntaxError):
    """Code that nests its expressions or statements too deeply to be looked at."""


@overload
def parsed(code: str, mode: Literal["exec"] = "exec") -> ast.Module: ...
@overload
def parsed(code: str, mode: Literal["eval"]) -> ast.Expression: ...
def parsed(code: str, mode: Literal["exec", "eval"] = "exec") -> ast.Module | ast.Expression:
    """Return the syntax tree of `code`.

    Raises:
        SyntaxError: It is not Python.
        TooDeepError: It nests too deeply, which is a SyntaxError as well.
    """
    try:
        tree: Any = ast.parse(code, mode=mode)
    except (MemoryError, RecursionError):
        raise TooDeepError from None
    except ValueError as error:  # a NUL, to Python 3.11
        raise SyntaxError(str(error)) from None
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    raise TooDeepError


def loaded(tree: ast.AST) -> set[str]:
    """Return the names that running `tree` reads without having assigned them itself before."""
    found: set[str] = set()
    _load(tree, set(), found)
    return found


def stored(tree: ast.AST) -> set[str]:
    """Return the names that running `tree` assigns, imports or defines at its top level."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        found |= _names(node)
        if not isinstance(node, _SCOPES):
            found |= stored(node)
    return found


def literals(tree: ast.AST) -> set[float]:
    """Return the numbers that are written out in `tree`."""
    found = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in found if isinstance(value, int | float)}


def _names(node: ast.AST) -> set[str]:
    """Return the names that a node binds by itself, leaving aside what is inside it."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.MatchAs(name=str(name)):
            return {name}
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return {name}
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {node.name}
        case ast.Import() | ast.ImportFrom():
            return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return set()


def _load(node: ast.AST, bound: set[str], found: set[str]) -> None:
    """Add to `found` what `node` reads that is not in `bound`, to `bound` what it assigns."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        found |= {node.id} - bound
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found |= {node.target.id} - bound
    bound |= _names(node)
    if isinstance(node, _SCOPES):
        bound = set(bound)  # what is assigned inside stays inside
    if isinstance(node, _FUNCTIONS):
        inside = list(ast.walk(node))
        outside = {n for i in inside if isinstance(i, ast.Global | ast.Nonlocal) for n in i.names}
        bound |= {i.arg for i in inside if isinstance(i, ast.arg)}
        bound |= set().union(*map(_names, inside)) - outside
    for _, value in sorted(ast.iter_fields(node), key=lambda field: _ORDER.get(field[0], 3)):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                _load(child, bound, found)
