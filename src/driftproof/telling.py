"""What rendering a page tells other plugins: noted, so that it can be said again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from driftproof.kept import key

_METHODS = (
    ("autorefs", "register_anchor"),
    ("mkdocstrings", "handlers.get_handler"),
    ("mkdocstrings", "handlers.inventory.register"),
)
"""Methods by which pages tell plugins something."""
_THE_PAGE = "\0page"
"""Stands for the page among what it tells."""


@contextmanager
def telling(plugins: Mapping[str, Any], page: Any) -> Generator[list[Any]]:
    """Note what a page tells plugins meanwhile; None stands for what cannot be said again."""
    told: list[Any] = []
    replaced = []

    def noting(plugin: str, path: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def note(*arguments: Any, **options: Any) -> Any:
            said = [_THE_PAGE if value is page else value for value in arguments]
            call = (plugin, path, said, options)
            try:
                key(call)
            except TypeError:
                call = None
            if call not in told:
                told.append(call)
            return method(*arguments, **options)

        return note

    for plugin, path in _METHODS:
        owner, method = _owner(plugins, plugin, path)
        if owner is not None:
            replaced.append((owner, method))
            setattr(owner, method, noting(plugin, path, getattr(owner, method)))
    try:
        yield told
    finally:
        for owner, method in replaced:
            delattr(owner, method)


def tell(plugins: Mapping[str, Any], page: Any, told: list[Any]) -> None:
    """Say to plugins again what a page told them when it was rendered."""
    for plugin, path, said, options in told:
        owner, method = _owner(plugins, plugin, path)
        arguments = [page if value == _THE_PAGE else value for value in said]
        getattr(owner, method)(*arguments, **options)


def _owner(plugins: Mapping[str, Any], plugin: str, path: str) -> tuple[Any, str]:
    """Return the object to which pages tell something, None where it is not there."""
    *owners, method = path.split(".")
    owner = plugins.get(plugin)
    try:
        for name in owners if owner else ():
            owner = getattr(owner, name)
    except RuntimeError:  # the plugin is switched off
        return None, method
    return owner, method
