"""What the figures that answer compute in the page is what Python computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from quickjs import Context

from onehop import counting, memory

SCRIPTS = Path(__file__).parents[2] / "docs" / "assets" / "javascripts" / "widgets"


def evaluate(expression: str) -> Any:
    """Return the value of an expression in the scripts, without a page around them."""
    context = Context()
    for name in ("plot", "multiplier", "lags", "costs", "cliff", "alignment"):
        context.eval((SCRIPTS / f"{name}.js").read_text("utf-8"))
    return json.loads(context.eval(f"JSON.stringify({expression})"))


# What they share.


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (1, "1.00"),
        (0.0543, "0.0543"),
        (0.001, "0.00100"),
        (0.00099949, "9.99×10⁻⁴"),
        (3.55e-17, "3.55×10⁻¹⁷"),
        (999.4, "999"),
        (999.6, "1,000"),
        (13_780.6, "13,800"),
        (999_600, "1.00×10⁶"),
        (8_589_934_592, "8.59×10⁹"),
    ],
)
def test_a_number_has_three_digits_and_is_written_as_in_the_text(number: float, text: str) -> None:
    assert text == evaluate(f"oneHop.number({number})")


def test_an_axis_has_a_few_powers_of_ten() -> None:
    assert [[0.1, "10⁻¹"], [1, "1"], [10, "10"], [100, "10²"]] == evaluate(
        "oneHop.decades(0.1, 100)"
    )
    powers = [text for _, text in evaluate("oneHop.decades(1e-20, 1e1)")]
    assert ["10⁻²⁰", "10⁻¹⁶", "10⁻¹²", "10⁻⁸", "10⁻⁴", "1"] == powers


@pytest.mark.parametrize(
    ("wanted", "placed"),
    [
        ([10, 50], [10, 50]),
        ([10, 11, 50], [10, 24, 50]),
        ([50, 10, 11], [50, 10, 24]),
        ([98, 99], [86, 100]),
    ],
)
def test_names_of_lines_do_not_touch(wanted: list[float], placed: list[float]) -> None:
    assert placed == evaluate(f"oneHop.apart({wanted}, 14, 100)")


def test_a_logarithmic_axis_gives_each_factor_the_same_room() -> None:
    axis = "{from: 1, to: 10000, log: true}"
    assert [0, 0.25, 1] == [
        pytest.approx(evaluate(f"oneHop.share({axis}, {value})")) for value in (1, 10, 10_000)
    ]


# The multiplier.


@pytest.mark.parametrize("factor", [0.9, 0.99, 1.0, 1.1])
@pytest.mark.parametrize("steps", [10, 50, 200])
def test_a_power_is_that_of_python(factor: float, steps: int) -> None:
    left = evaluate(f"oneHop.multiplier.left({factor}, {steps})")
    assert factor**steps == pytest.approx(left, 1e-12)


@pytest.mark.parametrize(
    ("factor", "steps", "left"),
    [
        (0.9, 20, "0.900 applied 20 times: 0.122 is left."),
        (0.9, 200, "0.900 applied 200 times: 7.06×10⁻¹⁰ is left."),
        (1.1, 50, "1.100 applied 50 times: 117 is left."),
        (1.1, 200, "1.100 applied 200 times: 1.90×10⁸ is left."),
        (1.0, 200, "1.000 applied 200 times: 1.00 is left."),
    ],
)
def test_the_sentence_names_factor_steps_and_power(factor: float, steps: int, left: str) -> None:
    assert left == evaluate(f"oneHop.multiplier.sentence({factor}, {steps})")


# Gradient against lag.


def test_the_axis_closes_in_on_the_layers_that_are_left() -> None:
    assert [1e-20, 10] == evaluate("oneHop.lags.range([2.57, 1.3e-20])")
    assert [0.01, 1] == evaluate("oneHop.lags.range([0.239, 0.0494])")
    assert [1, 10] == evaluate("oneHop.lags.range([1, 1])")


def test_without_a_layer_it_asks_for_one() -> None:
    assert "Switch on a layer." == evaluate("oneHop.lags.sentence(49, {})")
    said = evaluate("oneHop.lags.sentence(49, {RNN: 3.55e-17, attention: 0.0543})")
    assert "49 steps back: RNN 3.55×10⁻¹⁷, attention 0.0543." == said


# Costs.

FORMULAS: dict[str, dict[str, Any]] = {
    "FLOPs": {
        "RNN": counting.rnn_flops,
        "GRU": counting.gru_flops,
        "LSTM": counting.lstm_flops,
        "attention": counting.attention_flops,
    },
    "bytes": {
        "RNN": memory.rnn_bytes,
        "fused": memory.fused_attention_bytes,
        "attention": memory.explicit_attention_bytes,
    },
}
GRID = [[steps, width] for steps in (1, 32, 500, 65_536) for width in (64, 512, 8192)]


@pytest.mark.parametrize("cost", FORMULAS)
def test_a_cost_is_that_of_the_library(cost: str) -> None:
    for layer, formula in FORMULAS[cost].items():
        shown = evaluate(f"{GRID}.map(([T, d]) => oneHop.costs.formulas.{cost}.{layer}(T, d))")
        assert [formula(steps, width) for steps, width in GRID] == shown


@pytest.mark.parametrize("width", [64, 512, 8192])
@pytest.mark.parametrize("cost", FORMULAS)
def test_layers_meet_where_the_library_says(cost: str, width: int) -> None:
    *others, attention = FORMULAS[cost]
    for other in others:
        pair = FORMULAS[cost][attention], FORMULAS[cost][other]
        shown = evaluate(f"oneHop.costs.crossover('{cost}', '{other}', {width})")
        assert counting.crossover(*pair, width) == shown


def test_the_sentence_says_up_to_which_length_attention_is_not_dearer() -> None:
    said = evaluate("oneHop.costs.sentence('FLOPs', 4096, 512)")
    assert "4,096 steps of width 512, FLOPs: RNN 4.29×10⁹, GRU 1.29×10¹⁰" in said
    meets = (
        "more than RNN at every length; no more than GRU up to 512 steps, LSTM up to 1,024 steps"
    )
    assert said.endswith(f"attention 4.29×10¹⁰. Attention takes {meets}.")


# The cliff, and the alignment.


def test_a_cell_of_the_cliff_holds_a_median_and_two_ends() -> None:
    assert [53, 11, 85] == evaluate("oneHop.cliff.spread('53 (11 to 85)')")
    said = evaluate("oneHop.cliff.sentence('128', 10, '53 (11 to 85)', '100 (99 to 100)', 51.4)")
    assert said.startswith("10 words: 128 floats translate 53% (11 to 85 over the seeds) exactly")
    assert said.endswith("a superposition of 128 floats would name all words right in 51%.")


def test_a_falling_line_has_its_name_where_it_passes_a_height() -> None:
    assert [5, 50] == evaluate("oneHop.cliff.passes([[4, 75], [6, 25]], 50)")
    assert [4, 8] == evaluate("oneHop.cliff.passes([[4, 8], [6, 0]], 50)")


COLUMNS = """{French: ["le chat", "le chat", "dort"], writes: ["the", "cat", "sleeps"],
              1: [0.7, 0.1, 1], 2: [0.3, 0.9, 0]}"""


def test_rows_of_one_sentence_belong_together() -> None:
    first, second = evaluate(f"[...oneHop.alignment.sentences({COLUMNS}).values()]")
    assert [[0.7, 0.3], [0.1, 0.9]] == first["weights"]
    assert {"french": ["dort"], "english": ["sleeps"], "weights": [[1]]} == second


def test_the_sentence_names_what_each_word_reads() -> None:
    sentence = f"oneHop.alignment.sentences({COLUMNS}).get('le chat')"
    said = evaluate(f"oneHop.alignment.most({sentence})")
    assert "Most of the weight: the reads le (0.70), cat reads chat (0.90)." == said
    assert "cat reads le with 0.10 of its weight." == evaluate(
        f"oneHop.alignment.cell({sentence}, 1, 0)"
    )
