"""The equations and the conventions that chapters print are those of torch and of the code."""

from __future__ import annotations

import inspect
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from driftproof.config import load
from onehop import attention
from onehop.attention import additive_scores
from onehop.clipping import clip_by_norm
from onehop.counting import product_flops

CONFIG = load(Path(__file__).parent)
RNG = np.random.default_rng(0)
WEIGHTS = "gates-and-the-cell-path"


class Array(np.ndarray):
    """Numbers and matrices that multiply as they do on paper, written side by side."""

    def __matmul__(self, other: Any) -> Any:
        a, b = np.asarray(self), np.asarray(other)
        return (a * b if 0 in (a.ndim, b.ndim) else np.matmul(a, b)).view(Array)

    def __rmatmul__(self, other: Any) -> Any:
        return np.asarray(other).view(Array) @ self


FUNCTIONS = {
    r"\tanh": np.tanh,
    r"\sigma": lambda x: 1 / (1 + np.exp(-x)),
    r"\softmax": lambda x: functional.softmax(torch.from_numpy(np.asarray(x)), -1).numpy(),
    r"\sqrt": np.sqrt,
    r"\min": min,
    r"\norm": np.linalg.norm,
}
SIGNS = {r"\odot": "*", r"\cdot": "@"} | {sign: sign for sign in "-+/),"}
NAME = r"[A-Za-z](?:_(?:\{[^}]*\}|\w))?(?:\^(?:\{\\top\}|\w))?"


def page(path: str) -> str:
    return (CONFIG.root / CONFIG.docs / f"{path}.md").read_text("utf-8")


def says(path: str, sentence: str) -> bool:
    return sentence in page(path)


def right_side(slug: str, left: str) -> str:
    """What the one equation with this left side, among the displays of a chapter, says."""
    displays = re.findall(r"^```math\n(.*?)^```", page(f"chapters/{slug}"), re.M | re.S)
    equation = rf"(?:^|\\qquad) *{re.escape(left)} (.*?)(?=&&|, *\\q|\\\\| \.$|$)"
    (found,) = re.findall(equation, "\n".join(displays), re.M)
    return found


def value(tex: str, names: dict[str, Any]) -> Any:
    r"""Compute a formula: side by side is a product, \odot goes element by element."""
    for pattern, plain in (
        (r"\\left|\\right|\\,", ""),
        (r"\\mathrm\{(\w+)\}", r"\\\1"),
        (r"\\lVert (\w) \\rVert", r"\\norm(\1)"),
        (r"\\sqrt\{(\w+)\}", r"\\sqrt(\1)"),
        (r"\\frac\{((?:[^{}]|\{\\top\})*)\}\{([^{}]*)\}", r"((\1) / (\2))"),
    ):
        tex = re.sub(pattern, plain, tex)
    code, known, after_operand = "", {}, False
    for token in re.findall(rf"\\\w+|{NAME}|\d+|[-+/(),]", tex):
        if token in SIGNS:
            code += SIGNS[token]
            after_operand = token == ")"
            continue
        code += "@" if after_operand else ""
        after_operand = token != "(" and token not in FUNCTIONS
        if token == "(" or token.isdigit():
            code += token
        else:
            known[f"v{len(known)}"] = FUNCTIONS.get(token) or np.asarray(names[token]).view(Array)
            code += f"v{len(known) - 1}"
    return np.asarray(eval(code, {}, known))


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def weights(cell: torch.nn.RNNCellBase, gates: str) -> dict[str, Any]:
    """A cell's weights, under the names that the equations have for them."""
    parts = (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    names = {}
    for gate, *rows in zip(gates, *(p.detach().chunk(len(gates)) for p in parts), strict=True):
        W_x, W_h, b_x, b_h = (part.numpy() for part in rows)
        names |= {f"W_x^{gate}": W_x, f"W_h^{gate}": W_h, f"b^{gate}": b_x + b_h}
        names |= {f"b_x^{gate}": b_x, f"b_h^{gate}": b_h}
    return names


def agree(printed: Any, computed: torch.Tensor) -> bool:
    return bool(np.abs(printed - computed.detach().numpy()).max() < 1e-12)


def test_the_recurrent_network_is_its_equation() -> None:
    cell, x, h = torch.nn.RNNCell(3, 4).double(), normal(3), normal(4)
    names = {name.removesuffix("^h"): part for name, part in weights(cell, "h").items()}
    names |= {"x_t": x, "h_{t-1}": h}
    printed = value(right_side("one-state-one-loop", "h_t ="), names)
    assert agree(printed, cell(torch.from_numpy(x), torch.from_numpy(h)))


def test_the_lstm_is_its_six_equations_with_its_gates_in_the_order_named() -> None:
    cell, x, h, c = torch.nn.LSTMCell(3, 4).double(), normal(3), normal(4), normal(4)
    state, cell_state = cell(torch.from_numpy(x), (torch.from_numpy(h), torch.from_numpy(c)))
    orders = []
    for order in permutations("ifgo"):
        names = weights(cell, "".join(order)) | {"x_t": x, "h_{t-1}": h, "c_{t-1}": c}
        for left in ("i_t &=", "f_t &=", "g_t &=", "o_t &=", "c_t =", "h_t ="):
            names[left.split()[0]] = value(right_side(WEIGHTS, left), names)
        if agree(names["c_t"], cell_state) and agree(names["h_t"], state):
            orders.append(", ".join(f"${gate}$" for gate in order))
    (named,) = orders
    assert says(f"chapters/{WEIGHTS}", f"torch has them in the order {named}.")


def test_the_gru_is_its_four_equations() -> None:
    cell, x, h = torch.nn.GRUCell(3, 4).double(), normal(3), normal(4)
    names = weights(cell, "rzn") | {"x_t": x, "h_{t-1}": h}
    for left in ("r_t &=", "z_t &=", "n_t &=", "h_t &="):
        names[left.split()[0]] = value(right_side(WEIGHTS, left), names)
    assert agree(names["h_t"], cell(torch.from_numpy(x), torch.from_numpy(h)))


def test_scaled_dot_product_is_its_equation() -> None:
    Q, K, V = normal(5, 16), normal(7, 16), normal(7, 3)
    names = {"Q": Q, r"K^{\top}": K.T, "V": V, "d": 16}
    printed = value(right_side("reading-with-weights", r"\mathrm{Attention}(Q, K, V) ="), names)
    q, k, v = (torch.from_numpy(part)[None] for part in (Q, K, V))
    assert agree(printed, functional.scaled_dot_product_attention(q, k, v)[0])


def test_the_additive_score_is_its_equation() -> None:
    s, h, W, U, v = normal(3), normal(4), normal(5, 3), normal(5, 4), normal(5)
    names = {"s_{i-1}": s, "h_j": h, "W": W, "U": U, "v": v}
    printed = value(right_side("reading-with-weights", "e_{ij} ="), names)
    s, h, W, U, v = (torch.from_numpy(part) for part in (s, h, W, U, v))
    assert agree(printed, additive_scores(s[None], h[None, None], W, U, v)[0, 0])


def test_the_weights_of_a_word_sum_to_one_over_the_states_that_it_reads() -> None:
    weight = right_side("reading-with-weights", r"\alpha_{ij} =")
    found = re.fullmatch(
        r"\\frac\{\\exp e_\{ij\}\}\{\\sum_\{(\w)=1\}\^\{T\} \\exp e_\{(\w\w)\}\}", weight
    )
    assert found, weight
    summed, score = found.groups()
    assert f"i{summed}" == score


@pytest.mark.parametrize("limit", [0.5, 100.0])
def test_clipping_is_its_equation(limit: float) -> None:
    g = normal(6)
    printed = value(right_side("explosion-and-clipping", "g' ="), {"g": g, r"\theta": limit})
    assert agree(printed, clip_by_norm([torch.from_numpy(g)], limit)[0])


def test_a_wrong_equation_is_told_from_the_right_one() -> None:
    o, c = normal(4), normal(4)
    right = value(r"o_t \odot \tanh(c_t)", {"o_t": o, "c_t": c})
    assert not np.allclose(right, value(r"o_t \odot c_t", {"o_t": o, "c_t": c}))
    names = {"Q": normal(2, 9), r"K^{\top}": normal(9, 2), "V": normal(2, 2), "d": 9}
    right = value(r"\softmax(\frac{Q K^{\top}}{\sqrt{d}}) V", names)
    assert not np.allclose(right, value(r"\softmax(\frac{Q K^{\top}}{d}) V", names))


def test_the_text_says_where_true_keeps_and_where_it_hides() -> None:
    one, four = torch.ones(1, 1, 4), torch.ones(1, 4, 4)
    mask = torch.tensor([[True, False, False, False]])
    values = torch.tensor([1.0, 0, 0, 0])[None, :, None]
    word = {True: "keeps", False: "hides"}
    in_function = word[functional.scaled_dot_product_attention(one, four, values, mask).item() > 0]
    layer = torch.nn.MultiheadAttention(4, 1, batch_first=True)
    _, read = layer(one, four, four, attn_mask=mask)
    in_layer = word[read[0, 0, 0].item() > 0]
    _, read = attention.scaled_dot_product(one, four, values, mask)
    here = word[read[0, 0, 0].item() > 0]
    assert says(
        "chapters/reading-with-weights",
        f"True {in_function} in `scaled_dot_product_attention`; True {in_layer} in "
        f"`MultiheadAttention` and in `masked_fill`.",
    )
    assert says("notation", f"A mask is boolean, and True {here}")
    assert f"**True {here}**" in (inspect.getdoc(attention) or "")


def test_the_text_says_which_diagonal_marks_the_future() -> None:
    marked = [torch.ones(3, 3, dtype=torch.bool).triu(diagonal=d) for d in range(3)]
    (right,) = (
        d for d, future in enumerate(marked) if torch.equal(~future, attention.causal_mask(3))
    )
    assert says("chapters/reading-with-weights", f"`triu(diagonal={right})` marks the future")


def test_the_text_counts_a_multiply_add_as_the_code_does() -> None:
    word = {1: "one", 2: "two"}[product_flops(1, 1, 1)]
    assert says("chapters/counting-the-work", f"**a multiply-add is {word} of them**")
    assert says("chapters/counting-the-work", f"One multiply-add is {word} FLOPs")
    assert says("notation", f"a multiply-add counts as {word}")


def test_the_text_says_which_axes_a_state_has() -> None:
    axes = {5: "batch", 1: "layers", 4: "width"}
    for batch_first in (False, True):
        inputs = torch.zeros((5, 7, 3) if batch_first else (7, 5, 3))
        _, (h, _) = torch.nn.LSTM(3, 4, batch_first=batch_first)(inputs)
        named = ", ".join(axes[size] for size in h.shape)
        assert says("chapters/one-state-one-loop", f"its axes are ({named}) in both modes")


def test_what_is_called_multiply_adds_is_counted_in_multiply_adds() -> None:
    bound = r'<data value="([^"]*)">[^<]*</data>(?: million)? multiply-adds'
    found = [e for path in CONFIG.pages() for e in re.findall(bound, page(path[5:-3]))]
    assert found
    of_macs = re.compile(r"(\w*macs|multiply_adds|table_size)( / 1e\d)?")
    assert [] == [expression for expression in found if not of_macs.fullmatch(expression)]
