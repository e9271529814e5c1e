"""The sliders of the multiplier figure show the powers that Python computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from quickjs import Context

SCRIPT = Path(__file__).parents[2] / "docs" / "assets" / "javascripts" / "multiplier.js"


def evaluate(expression: str) -> Any:
    """Return the value of an expression in the script, without a page around it."""
    context = Context()
    context.eval(SCRIPT.read_text("utf-8"))
    return json.loads(context.eval(f"JSON.stringify({expression})"))


@pytest.mark.parametrize("factor", [0.9, 0.99, 1.0, 1.1])
@pytest.mark.parametrize("steps", [10, 50, 200])
def test_a_power_is_that_of_python(factor: float, steps: int) -> None:
    assert factor**steps == pytest.approx(evaluate(f"multiplier.left({factor}, {steps})"), 1e-12)


@pytest.mark.parametrize(
    ("factor", "steps", "left"),
    [
        (0.9, 20, "0.900 applied 20 times: 0.122 is left."),
        (0.9, 200, "0.900 applied 200 times: 7.06e-10 is left."),
        (1.1, 50, "1.100 applied 50 times: 117 is left."),
        (1.1, 200, "1.100 applied 200 times: 1.90e+8 is left."),
        (1.0, 200, "1.000 applied 200 times: 1.00 is left."),
    ],
)
def test_the_sentence_names_factor_steps_and_power(factor: float, steps: int, left: str) -> None:
    assert left == evaluate(f"multiplier.sentence({factor}, {steps})")


def test_one_is_level_and_powers_of_ten_are_evenly_spaced() -> None:
    # The drawing is 100 high and holds ten powers of ten on either side; y grows downwards.
    assert 50 == evaluate("multiplier.height(1, 200)")
    assert 75 == pytest.approx(evaluate("multiplier.height(0.1, 5)"))
    assert 0 == evaluate("multiplier.height(1.2, 200)")
