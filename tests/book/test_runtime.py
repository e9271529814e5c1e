"""The Python for the browser is kept only as the repository names it."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("runtime", ROOT / "snippets/runtime.py")
assert SPEC
assert SPEC.loader
runtime = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(runtime)


def test_a_file_with_another_digest_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is not the file that snippets/runtime\.py names"):
        runtime.keep(runtime.WHEEL, b"from somewhere else", tmp_path)
    assert [] == list(tmp_path.iterdir())
    assert not runtime.is_complete(tmp_path)


def test_nothing_of_it_is_in_the_repository() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no repository here")
    files = [path for path in listed.stdout.splitlines() if Path(path).name in runtime.DIGESTS]
    assert [] == files


@pytest.mark.skipif(not runtime.is_complete(runtime.STORE), reason="make runtime fetches it")
def test_the_wheel_is_the_one_of_pyodides_own_lock_file(tmp_path: Path) -> None:
    lock = json.loads((runtime.STORE / "pyodide-lock.json").read_text("utf-8"))
    numpy = lock["packages"]["numpy"]
    assert (numpy["file_name"], numpy["sha256"]) == (
        runtime.WHEEL,
        runtime.DIGESTS[runtime.WHEEL],
    )
    spoiled = shutil.copytree(runtime.STORE, tmp_path / "copy")
    (spoiled / "pyodide.js").write_bytes(b"")
    assert not runtime.is_complete(spoiled)
