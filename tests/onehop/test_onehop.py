import subprocess
import sys


def test_importing_the_package_alone_loads_neither_torch_nor_numpy():
    program = "import sys, onehop; print({'torch', 'numpy'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "set()\n" == run.stdout, run.stderr
