import itertools
import math

import numpy as np
import pytest
import torch

from onehop.superposition import (
    kept_share,
    memorise,
    quantise,
    random_codes,
    recall,
    recall_length,
    recall_probability,
)


def normal_cdf(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


def recalled(width: int, steps: int, vocabulary: int, seed: int, bits: int = 32) -> tuple[int, int]:
    """Return how many tokens were named right, and out of how many."""
    rng = np.random.default_rng(seed)
    codes = random_codes(vocabulary, width, rng)
    tokens = torch.from_numpy(rng.integers(vocabulary, size=(100, steps)))
    h = memorise(tokens, codes)
    if bits < 32:
        h = quantise(h, bits, 2)
    return int((recall(h, steps, codes) == tokens).sum()), tokens.numel()


# The memory


def test_codes_are_signs_and_both_are_equally_likely():
    codes = random_codes(100, 1000, np.random.default_rng(0))
    assert {-1.0, 1.0} == set(codes.unique().tolist())
    assert abs(codes.mean().item()) < 4 / math.sqrt(codes.numel())


def test_state_by_hand():
    codes = torch.tensor([[1.0, 1.0, -1.0], [-1.0, 1.0, 1.0]])
    # 1, then moved on by one and 0 added: (1, -1, 1) + (1, 1, -1)
    assert [[2.0, 0.0, 0.0]] == memorise(torch.tensor([[1, 0]]), codes).tolist()


def test_the_state_is_that_of_an_orthogonal_linear_recurrence():
    rng = np.random.default_rng(0)
    codes = random_codes(7, 16, rng)
    tokens = torch.from_numpy(rng.integers(7, size=(1, 9)))
    P = torch.eye(16).roll(1, dims=0)
    assert torch.equal(torch.eye(16), P @ P.T)
    h = torch.zeros(16)
    for token in tokens[0]:
        h = P @ h + codes[token]
    assert torch.equal(h[None], memorise(tokens, codes))


def test_a_few_tokens_are_recalled_in_order_repeated_or_not():
    codes = random_codes(50, 512, np.random.default_rng(0))
    tokens = torch.tensor([[3, 3, 7, 3], [7, 3, 3, 3]])
    assert torch.equal(tokens, recall(memorise(tokens, codes), 4, codes))


@pytest.mark.parametrize(("width", "steps", "vocabulary"), [(128, 16, 200), (64, 10, 20)])
def test_recall_is_as_probable_as_the_integral_says(width, steps, vocabulary):
    right, total = recalled(width, steps, vocabulary, seed=0)
    assert recall_probability(width, steps, vocabulary) == pytest.approx(right / total, abs=0.04)


# The integral


@pytest.mark.parametrize("steps", [1, 5, 200])
def test_of_two_tokens_the_right_one_wins_by_the_normal_distribution(steps):
    expected = normal_cdf(math.sqrt(30 / (2 * steps - 1)))
    assert expected == pytest.approx(recall_probability(30, steps, 2), rel=1e-9)


def test_with_one_token_in_the_vocabulary_nothing_can_be_mistaken():
    assert 1.0 == pytest.approx(recall_probability(8, 100, 1))


def test_a_hopeless_state_is_read_by_guessing():
    assert 1 / 50 == pytest.approx(recall_probability(1e-9, 1000, 50), rel=2e-2)


@pytest.mark.parametrize("probability", [0.99, 0.5])
def test_the_recall_length_is_the_last_one_that_is_good_enough(probability):
    good = [n for n in range(1, 60) if recall_probability(256, n, 1000) >= probability]
    assert good == list(range(1, len(good) + 1))
    assert len(good) == recall_length(256, 1000, probability)


def test_no_token_is_held_where_even_one_is_too_many():
    assert 0 == recall_length(4, 1000, 0.99)


# Precision


def test_one_bit_is_the_sign():
    assert [[-1.0, -1.0, 1.0, 1.0]] == quantise(
        torch.tensor([[-9.0, -1.0, 1.0, 9.0]]), 1, 2
    ).tolist()


def test_two_bits_are_four_levels():
    h = torch.tensor([[-9.0, -5.0, -3.0, -1.0, 1.0, 3.0, 5.0, 9.0]])
    assert [[-3.0, -3.0, -1.0, -1.0, 1.0, 1.0, 3.0, 3.0]] == quantise(h, 2, 4).tolist()


@pytest.mark.parametrize(("bits", "step"), [(1, 2), (2, 4), (3, 2)])
def test_the_kept_share_is_the_squared_correlation_over_all_sums_of_signs(bits, step):
    h = torch.tensor([sum(signs) for signs in itertools.product((-1.0, 1.0), repeat=7)])
    both = torch.stack([h, quantise(h[None], bits, step)[0]])
    expected = torch.corrcoef(both)[0, 1].item() ** 2
    assert expected == pytest.approx(kept_share(bits, step, 7), rel=1e-5)


def test_signs_alone_keep_two_over_pi_of_a_long_sum():
    assert 2 / math.pi == pytest.approx(kept_share(1, 2, 1001), rel=1e-3)


def test_many_levels_keep_everything():
    assert 1.0 == pytest.approx(kept_share(8, 2, 25))


def test_recall_from_signs_is_that_of_a_narrower_state():
    right, total = recalled(256, 15, 500, seed=1, bits=1)
    expected = recall_probability(256 * kept_share(1, 2, 15), 15, 500)
    assert expected == pytest.approx(right / total, abs=0.04)
    assert expected < recall_probability(256, 15, 500) - 0.1
