import copy

import numpy as np
import pytest
import torch
from torch import nn

from onehop.agreement import (
    WORDS,
    LastQueryAttention,
    Reader,
    Sentences,
    accuracy,
    answers,
    reader,
    sentences,
    text,
    train,
)
from onehop.attention import MultiHeadSelfAttention


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def numbers(sentence: str) -> list[int]:
    """Number of each noun, in order, found by spelling: only plurals end in s."""
    nouns = {"key", "door", "letter", "boat", "garden", "teacher", "window", "song"}
    return [int(word.endswith("s")) for word in sentence.split() if word.removesuffix("s") in nouns]


# Sentences


@pytest.mark.parametrize("distance", [1, 5, 25, 97])
def test_the_blank_stands_the_distance_behind_the_subject(distance: int):
    for tokens in sentences(20, distance, 0.5, generator()).tokens:
        words = text(tokens).split()
        assert "the" == words[0]
        assert [int(words[1].endswith("s"))] == numbers(text(tokens))[:1]
        assert distance == words.index("___") - 1
        assert 1 + distance // 4 == len(numbers(text(tokens)))


def test_labels_are_the_numbers_of_the_first_and_of_the_last_noun():
    drawn = sentences(50, 13, 0.5, generator())
    for tokens, plural, nearest in zip(*drawn, strict=True):
        found = numbers(text(tokens))
        assert (found[0], found[-1]) == (plural, nearest)


def test_without_attractors_the_nearest_noun_is_the_subject():
    drawn = sentences(50, 1, 0.0, generator())
    assert drawn.plural.tolist() == drawn.nearest.tolist()


@pytest.mark.parametrize("agree", [0.0, 0.5, 0.7, 1.0])
def test_each_attractor_agrees_with_the_probability_asked_for(agree: float):
    drawn = sentences(4000, 9, agree, generator())
    found = np.array([numbers(text(tokens)) for tokens in drawn.tokens])
    shares = (found[:, 1:] == found[:, :1]).mean(axis=0)
    assert [agree, agree] == pytest.approx(shares.tolist(), abs=0.03)
    assert 0.5 == pytest.approx(found[:, 0].mean(), abs=0.03)


def test_all_words_are_drawn():
    tokens = sentences(500, 25, 0.5, generator()).tokens
    assert set(range(len(WORDS))) == set(tokens.flatten().tolist())


@pytest.mark.parametrize("distance", [0, 3, -3, 26])
def test_other_distances_are_refused(distance: int):
    with pytest.raises(ValueError, match=r"distance: expected 1, 5, 9, \.\.\., got"):
        sentences(1, distance, 0.5, generator())


def test_what_is_no_probability_is_refused():
    with pytest.raises(ValueError, match=r"agree: expected a probability, got 1\.5"):
        sentences(1, 5, 1.5, generator())


# Readers


def test_last_query_attention_is_the_last_row_of_full_attention():
    layer = LastQueryAttention(8, 11, generator()).double()
    full = MultiHeadSelfAttention(8, 2).double()
    with torch.no_grad():
        for part in ("query", "key", "value"):
            getattr(full, part).weight.copy_(getattr(layer, part).weight)
        full.output.weight.copy_(torch.eye(8))
    inputs = torch.from_numpy(generator().standard_normal((3, 7, 8)))
    outputs, _ = full(inputs + layer.positions[:7])
    torch.testing.assert_close(outputs[:, -1:], layer(inputs))


def test_a_forget_bias_starts_the_forget_gate():
    lstm = reader("lstm", generator(), width=4, forget_bias=3).layer
    assert isinstance(lstm, nn.LSTM)
    biases = dict(lstm.named_parameters())
    assert [3.0] * 4 == (biases["bias_ih_l0"] + biases["bias_hh_l0"])[4:8].tolist()


def test_a_reader_keeps_the_layer_it_is_given():
    layer = nn.GRU(8, 8, batch_first=True)
    before = copy.deepcopy(layer.state_dict())
    model = Reader(layer, 8, generator())
    assert model.layer is layer
    torch.testing.assert_close(before, layer.state_dict(), rtol=0, atol=0)
    assert (5, 2) == model(sentences(5, 9, 0.5, generator()).tokens).shape


def test_unknown_kinds_and_a_forget_bias_without_forget_gate_are_refused():
    with pytest.raises(ValueError, match="expected rnn, lstm, gru or attention, got 'ssm'"):
        reader("ssm", generator())
    with pytest.raises(ValueError, match="forget_bias: expected an lstm, got rnn"):
        reader("rnn", generator(), forget_bias=1)


# Training


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru", "attention"])
def test_a_reader_learns_distance_5_and_stops_early(kind: str):
    rng = generator()
    model = reader(kind, rng)
    assert train(model, [5], 0.5, rng) < 200
    assert accuracy(model, sentences(512, 5, 0.5, rng)) >= 0.95


def test_training_stops_at_the_number_of_steps():
    rng = generator()
    assert 3 == train(reader("rnn", rng), [5, 9], 0.5, rng, steps=3)


def test_a_seed_trains_the_same_reader():
    first, second = (reader("rnn", generator(1)) for _ in range(2))
    for model in (first, second):
        train(model, [5], 0.5, generator(2), steps=3)
    torch.testing.assert_close(first.scores.weight, second.scores.weight, rtol=0, atol=0)


class AlwaysPlural(nn.Module):
    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.tensor([0.0, 1.0]).expand(len(tokens), 2)


def test_accuracy_is_the_share_of_right_answers():
    tokens = torch.zeros(4, 3, dtype=torch.long)
    drawn = Sentences(tokens, torch.tensor([1, 0, 1, 1]), torch.zeros(4))
    assert [1, 1, 1, 1] == answers(AlwaysPlural(), tokens).tolist()
    assert 0.75 == accuracy(AlwaysPlural(), drawn)
