"""Which names a piece of code asks for, and which it leaves behind."""

from __future__ import annotations

import ast

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def loaded(tree: ast.AST) -> set[str]:
    """Return every name that `tree` reads, in whatever scope."""
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def stored(tree: ast.AST) -> set[str]:
    """Return the names that running `tree` assigns, imports or defines at its top level."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, _SCOPES):
            found |= {node.name} if not isinstance(node, ast.Lambda) else set()
        elif not isinstance(node, _COMPREHENSIONS):
            found |= stored(node)
    return found
