"""Jinja templates: compiled once, and rendered by a page's own rules where there are some."""

from __future__ import annotations

import hashlib
import marshal
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket

from driftproof.kept import tool, write_aside

LayOut = Callable[[str, dict[str, Any], Callable[[dict[str, Any]], str]], str]


def folder() -> Path:
    """Return the folder of compiled templates, which is this user's alone."""
    with suppress(RuntimeError, OSError):
        return Path(_Compiled().directory)
    return Path(os.devnull)  # there is no safe place for one


class _Loader(jinja2.FileSystemLoader):
    """Lists what a theme can publish: hidden folders hold thousands of icons that it does not."""

    def list_templates(self) -> list[str]:
        found = set()
        for root in map(str, self.searchpath):
            for folder, folders, files in os.walk(root, followlinks=self.followlinks):
                folders[:] = [name for name in folders if not name.startswith(".")]
                inside = os.path.relpath(folder, root).replace(os.sep, "/")
                found |= {name if inside == "." else f"{inside}/{name}" for name in files}
        return sorted(found)


class _Compiled(jinja2.FileSystemBytecodeCache):
    """Keeps compiled templates in a folder of this user; what is damaged there is made again.

    They are code. The folder lies with the temporary files of this machine, where Jinja has it, and
    nobody else may write there: it does not travel with what is kept of a project.
    """

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill a bucket with what is kept of its template."""
        with suppress(OSError, ValueError, EOFError, TypeError):
            start, _, body = self._path(bucket).read_bytes().partition(b"\n")
            if start == self._start(bucket, body):
                bucket.code = marshal.loads(body)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what is in a bucket."""
        body = marshal.dumps(bucket.code)
        with suppress(OSError):
            write_aside(self._path(bucket), self._start(bucket, body) + b"\n" + body)

    def _path(self, bucket: Bucket) -> Path:
        return Path(self.directory) / f"driftproof-{bucket.key}"

    def _start(self, bucket: Bucket, body: bytes) -> bytes:
        made_from = f"{tool()} {bucket.checksum} "
        return hashlib.sha256(made_from.encode() + body).hexdigest().encode()


def compiled_once(env: jinja2.Environment) -> jinja2.Environment:
    """Keep compiled templates, where there is a safe place for them."""
    assert isinstance(env.loader, jinja2.FileSystemLoader)
    env.loader = _Loader(env.loader.searchpath)
    with suppress(RuntimeError, OSError):
        env.bytecode_cache = _Compiled()
    return env


def laid_out_by(
    env: jinja2.Environment, lay_out: LayOut, part: Callable[[jinja2.Template], None]
) -> None:
    """Have the templates that `env` hands out rendered by `lay_out`; parts of them go to `part`."""
    load = env.get_template

    def get_template(name: str, *within: Any, **others: Any) -> Any:
        if within or others:  # it is a part of another
            found = load(name, *within, **others)
            part(found)
            return found
        assert env.loader is not None
        env.loader.get_source(env, name)  # it is missed here, not when it is rendered
        return _Template(name, lambda: load(name), lay_out)

    env.get_template = get_template  # ty: ignore[invalid-assignment]


class _Template:
    """A template that is loaded when it is needed."""

    def __init__(self, name: str, load: Callable[[], jinja2.Template], lay_out: LayOut) -> None:
        self.name, self._load, self._lay_out = name, load, lay_out

    @cached_property
    def _loaded(self) -> jinja2.Template:
        return self._load()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loaded, name)

    def render(self, *arguments: Any, **others: Any) -> str:
        context = dict(*arguments, **others)
        return self._lay_out(self.name, context, lambda given: self._loaded.render(given))
