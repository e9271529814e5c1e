import subprocess
import sys
import tomllib
from pathlib import Path

SETTINGS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["tool"]


def test_importing_the_package_alone_loads_neither_torch_nor_numpy():
    program = "import sys, onehop; print({'torch', 'numpy'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "set()\n" == run.stdout, run.stderr


def test_what_runs_in_a_browser_can_be_imported_without_torch():
    modules = SETTINGS["driftproof"]["browser"]
    program = f"import sys; sys.modules['torch'] = None\nimport {', '.join(modules)}"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert 0 == run.returncode, run.stderr
    ours = [module for module in modules if module.startswith("onehop.")]
    assert ours in [each.get("source_modules") for each in SETTINGS["importlinter"]["contracts"]]
