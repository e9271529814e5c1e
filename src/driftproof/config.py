"""Settings, read from the table `[tool.driftproof]` of pyproject.toml."""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from driftproof.problem import DriftproofError


@dataclass(frozen=True)
class Config:
    """Where things are and how pages run; all folders are relative to `root`.

    Attributes:
        root: The folder that holds pyproject.toml.
        docs: The folder of the pages.
        snippets: The folder of long programs and shared prose.
        source: The folder whose modules pages import; put on `sys.path`.
        cache: The folder that keeps runs.
        preload: Modules imported once, before pages are forked.
        clean_state: `module:function` called in the page's process before its first block.
        evaluate: Expressions evaluated at the end of each page that runs, besides its bound
            numbers; kept with its run, for the project's own tests.
        environment: Variables set in every page's process.
        variables: Patterns of the command's environment variables that pages see as well.
        device_variable: Environment variable through which a run asks for another device.
        examples: Pages whose prose holds numbers that need not be bound: examples, measurements.
        notebooks: Patterns of the pages that are published as notebooks too.
        online_only: Patterns of the pages that stay out of the book as one document.
        browser: Modules that a block may import to run in a reader's browser.
        card_font: The font in which cards and the cover are set, "" for one that comes along.
        timeout: Seconds a block may take, unless it says otherwise.
        max_output: Bytes a block may print.
    """

    root: Path
    docs: str = "docs"
    snippets: str = "snippets"
    source: str = "src"
    cache: str = ".driftproof"
    preload: tuple[str, ...] = ()
    clean_state: str = ""
    evaluate: tuple[str, ...] = ()
    device_variable: str = "DRIFTPROOF_DEVICE"
    environment: dict[str, str] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    notebooks: tuple[str, ...] = ()
    online_only: tuple[str, ...] = ()
    browser: tuple[str, ...] = ()
    card_font: str = ""
    timeout: float = 120.0
    max_output: int = 1_000_000

    def relative(self, path: Path) -> str:
        """Return `path` as seen from the project root, with forward slashes."""
        return path.resolve().relative_to(self.root).as_posix()

    def pages(self) -> list[str]:
        """Return every Markdown file under `docs`, relative to the root, in sorted order."""
        return sorted(
            path.relative_to(self.root).as_posix()
            for path in (self.root / self.docs).rglob("*.md")
            if not path.is_dir()
            and not any(part.startswith(".") for part in path.relative_to(self.root).parts)
        )


def load(start: Path | None = None) -> Config:
    """Read the settings of the project that contains `start` (default: the working directory).

    Raises:
        DriftproofError: No pyproject.toml with a `[tool.driftproof]` table, or a setting that
            is unknown or of the wrong type.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            try:
                content = tomllib.loads(file.read_text("utf-8"))
            except (OSError, ValueError) as error:
                hint = "correct it: nothing is known of the project without it"
                raise DriftproofError("settings", f"{error}", hint, "pyproject.toml") from None
            table = content.get("tool", {}).get("driftproof")
            if table is not None:
                return _checked(file, table)
    message = f"no pyproject.toml with a [tool.driftproof] table in {here} or above it"
    raise DriftproofError("settings", message, "go to the project, or add the table")


def _checked(file: Path, table: dict[str, object]) -> Config:
    defaults = {
        item.name: item.default if item.default is not dataclasses.MISSING else {}
        for item in dataclasses.fields(Config)
        if item.name != "root"
    }
    settings: dict[str, object] = {}
    for name, value in table.items():
        if name not in defaults:
            near = difflib.get_close_matches(name, defaults, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(defaults)}"
            message = f"[tool.driftproof] has no setting {name!r}"
            raise DriftproofError("settings", message, hint, _place(file, name))
        kind = type(defaults[name])
        if kind is tuple and isinstance(value, list):
            value = tuple(value)
        if kind is float and isinstance(value, int):
            value = float(value)
        if not isinstance(value, kind):
            message = f"[tool.driftproof] {name} must be a {kind.__name__}, not {value!r}"
            hint = f"its default is {defaults[name]!r}"
            raise DriftproofError("settings", message, hint, _place(file, name))
        settings[name] = value
    return Config(root=file.parent.resolve(), **settings)  # ty: ignore[invalid-argument-type]


def _place(file: Path, setting: str) -> str:
    """Return the file and the line on which a setting of ours is made."""
    lines = file.read_text("utf-8").split("\n")
    start = next((i for i, text in enumerate(lines) if "tool.driftproof" in text), 0)
    named = (i for i in range(start, len(lines)) if setting in lines[i])
    return f"{file.name}:{next(named, start) + 1}"
