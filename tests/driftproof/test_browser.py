"""Which blocks run in a browser, and what of the others goes along."""

from __future__ import annotations

import json
from pathlib import Path

from driftproof.browser import Step, modules, program, steps
from driftproof.config import Config
from driftproof.grammar import parse_text

OUTPUT = ['```output rtol="0.1" because="it is an example"', "1", "```"]
MODULES = ("math", "numpy", "book.formulas")


def found(*codes: str, output: str = "") -> list[Step]:
    """What a browser runs of a page of these blocks."""
    lines = [f"```python\n{code}\n```\n{output}" for code in codes]
    page = parse_text(Config(Path()), "docs/a.md", "\n".join(lines).split("\n"))
    assert [] == page.problems
    return steps(page, MODULES)


def obstacles(*codes: str, output: str = "") -> list[str]:
    return [step.obstacle for step in found(*codes, output=output)]


def test_a_block_qualifies_that_imports_what_a_browser_has():
    assert [""] == obstacles("import math\nfrom book.formulas import f\nprint(f(math.pi))")
    assert ["imports torch"] == obstacles("import torch")
    assert ["imports torch.nn"] == obstacles("def f():\n    from torch.nn import Linear")
    assert [""] == obstacles("from book import formulas")
    assert ["imports book"] == obstacles("from book import models")


def test_names_from_elsewhere_keep_a_block_from_a_browser():
    assert ["imports torch", "needs 'x' from block-1", "needs 'y' from block-2"] == obstacles(
        "import torch\nx = torch.ones(2)", "y = x + 1", "print(y)"
    )
    assert ["imports torch", "", ""] == obstacles("import torch\nx = 1 + torch", "x = 2", "x")


def test_imports_and_constants_of_a_block_go_along_without_it():
    code = "import math\nimport torch\nd, name = 512, 'a'\nlist_ = [1]\nx = torch.ones(d)"
    first, second = found(code, "print(math.log(d), name)")
    assert "import math\nd, name = (512, 'a')" == first.code
    assert "" == second.obstacle
    assert "needs 'list_' from block-1" == obstacles(code, "print(list_)")[1]


def test_what_a_foreign_block_may_have_changed_is_lost():
    make = "import numpy\nrng = numpy.random.default_rng(0)\nn = 3"
    draw = "import torch\ny = torch.tensor(rng.normal(size=n))"
    lost = "needs 'rng' from block-2"
    assert ["", "imports torch", lost] == obstacles(make, draw, "rng.normal()")
    assert ["", "imports torch", ""] == obstacles(make, draw, "print(n, numpy.pi)")


def test_a_measurement_does_not_qualify():
    output = '\n```output measured="here, on 2026-11-29"\n3\n```\n'
    assert ["depends on the machine"] == obstacles("print(3)", output=output)


def test_a_page_and_its_modules_go_to_the_browser_as_data(tmp_path):
    (tmp_path / "src/book").mkdir(parents=True)
    (tmp_path / "src/book/__init__.py").write_text("")
    (tmp_path / "src/book/formulas.py").write_text("x = 1\n")
    config = Config(tmp_path, browser=MODULES)
    assert {"book/__init__.py": "", "book/formulas.py": "x = 1\n"} == json.loads(modules(config))
    page = parse_text(config, "docs/a.md", ["```python", "print(1)", "```", "", *OUTPUT])
    runs, script = program(page, config)
    assert frozenset({1}) == runs
    assert (frozenset(), "") == program(page, Config(tmp_path))
    assert [
        {
            "id": "block-1",
            "code": "print(1)\n",
            "runs": True,
            "raises": "",
            "output": "1",
            "rtol": 0.1,
            "atol": 0.0,
        }
    ] == json.loads(script)
