import numpy as np
import pytest
import torch
from torch import nn

from onehop.encoder_decoder import Attention, EncoderDecoder, FixedVector, fit

KINDS = [FixedVector, Attention]
SOURCE = torch.tensor([[1, 2, 3, 4], [4, 4, 0, 1]])
TARGET = torch.tensor([[2, 0, 1], [1, 1, 2]])


def build(kind: type[FixedVector] | type[Attention], seed: int = 0) -> EncoderDecoder:
    return kind(5, 4, 3, 8, np.random.default_rng(seed))


def test_all_that_a_fixed_vector_hands_over_is_the_last_state():
    model = build(FixedVector)
    s, states = model.read(model.source(SOURCE))
    assert (2, 8) == s.shape
    assert (2, 0, 8) == states.shape
    whole, _ = model(SOURCE, TARGET)
    s, scores, weights = model.step(model.target(torch.tensor([3, 3])), s, states)
    assert (2, 0) == weights.shape
    torch.testing.assert_close(whole[:, 0], scores)


def test_the_fixed_vector_is_as_long_whatever_it_has_read():
    model = build(FixedVector)
    assert (
        model.read(model.source(SOURCE))[0].shape
        == model.read(model.source(SOURCE[:, :1]))[0].shape
    )


def test_a_fixed_vector_model_is_two_recurrent_layers_of_torch():
    model = build(FixedVector)
    assert isinstance(model, FixedVector)
    decoder = nn.GRU(8, 8, batch_first=True).double()
    decoder.load_state_dict({f"{n}_l0": p for n, p in model.decoder.state_dict().items()})
    _, last = model.encoder(model.source(SOURCE))
    before = torch.cat([torch.full((2, 1), 3), TARGET[:, :-1]], dim=1)
    expected = model.output(decoder(model.target(before), last)[0])
    torch.testing.assert_close(expected, model(SOURCE, TARGET)[0])


def test_attention_weights_are_a_mean_over_all_states():
    scores, weights = build(Attention)(SOURCE, TARGET)
    assert (2, 3, 4) == scores.shape
    torch.testing.assert_close(torch.ones(2, 3).double(), weights.sum(dim=2))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_the_likeliest_token_after_each(kind):
    model = build(kind, seed=1)
    tokens, weights = model.write(SOURCE, 6)
    scores, expected = model(SOURCE, tokens)
    assert torch.equal(scores.argmax(dim=2), tokens)
    torch.testing.assert_close(expected, weights)


@pytest.mark.parametrize("kind", KINDS)
def test_writing_stops_at_the_last_end_or_at_the_limit(kind):
    model = build(kind)
    with torch.no_grad():
        for parameter in model.output.parameters():
            parameter.zero_()
        model.output.bias[3] = 1.0
    assert [[3], [3]] == model.write(SOURCE, 6)[0].tolist()
    with torch.no_grad():
        model.output.bias[2] = 2.0
    assert [[2] * 6] * 2 == model.write(SOURCE, 6)[0].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_fitting_makes_the_right_tokens_likely(kind):
    model = fit(build(kind), lambda: (SOURCE, TARGET), 60)
    assert torch.equal(TARGET, model(SOURCE, TARGET)[0].argmax(dim=2))
    assert {torch.float64} == {p.dtype for p in model.parameters()}
