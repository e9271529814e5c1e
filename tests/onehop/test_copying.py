import numpy as np
import pytest
import torch
from torch import Tensor

from onehop.copying import TOKENS, recalled, sequences, train_copier
from onehop.encoder_decoder import Attention, EncoderDecoder, FixedVector


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


class FirstThree(EncoderDecoder):
    """Knows three tokens, and says token 0 for the others."""

    def __init__(self) -> None:
        super().__init__(TOKENS + 1, TOKENS + 1, TOKENS, 1)

    def forward(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        known = torch.where(torch.arange(source.shape[1]) < 3, source, 0)
        return torch.nn.functional.one_hot(known, TOKENS + 1).double(), source


def test_all_tokens_are_drawn_and_the_start_never():
    assert list(range(TOKENS)) == sequences(100, 20, generator()).unique().tolist()


@pytest.mark.parametrize("steps", [3, 8, 24])
def test_what_is_known_is_counted_and_what_is_guessed_is_not(steps):
    assert 3 == pytest.approx(recalled(FirstThree(), steps, generator()), abs=0.25)


def test_an_untrained_copier_knows_nothing():
    model = FixedVector(TOKENS + 1, TOKENS + 1, TOKENS, 8, generator())
    assert 0 == pytest.approx(recalled(model, 8, generator()), abs=0.2)


@pytest.mark.parametrize("kind", [FixedVector, Attention])
def test_one_token_is_soon_copied(kind):
    model = train_copier(kind, 16, generator(), steps=150, longest=1)
    assert recalled(model, 1, generator(1)) > 0.95


def test_a_seed_trains_the_same_copier():
    first, second = (train_copier(FixedVector, 8, generator(), 3) for _ in range(2))
    assert torch.equal(first.output.weight, second.output.weight)
