"""What computing costs alone: all blocks of a book, in one process that imports torch once.

Run in the folder of a book; prints the CPU seconds of the imports and of each page as JSON.
"""

from __future__ import annotations

import io
import json
import re
import sys
import time
import tomllib
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def main() -> None:
    """Run every page's blocks, each page in a namespace of its own."""
    sys.path.insert(0, "src")
    settings = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["driftproof"]
    start = time.process_time()
    for module in settings["preload"]:
        import_module(module)
    spent = {"imports": time.process_time() - start}
    module, _, function = settings["clean_state"].partition(":")
    for page in sorted(Path("docs").rglob("*.md")):
        start = time.process_time()
        if module:
            getattr(import_module(module), function)()
        namespace: dict[str, object] = {"__name__": "__main__"}
        with redirect_stdout(io.StringIO()):
            for block in BLOCK.findall(page.read_text("utf-8")):
                exec(compile(block, str(page), "exec"), namespace)
        spent[page.as_posix()] = time.process_time() - start
    print(json.dumps(spent))


if __name__ == "__main__":
    main()
