import numpy as np
import pytest
import torch

from onehop.encoder_decoder import FixedVector
from onehop.translation import (
    END,
    ENGLISH,
    FRENCH,
    Translator,
    adjective_sentences,
    sentence_pairs,
    sentences_of,
    train,
)

VERBS = {"dort", "court", "saute", "mange", "voit", "suit", "chasse", "aime"}
FEMININE = {"vache", "souris", "poule", "chèvre", "noire", "blanche", "grise", "brune", "lente"}


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def trained() -> Translator:
    torch.set_num_threads(1)
    rng = generator()
    return train(sentence_pairs(1000, rng), rng)


# The grammar


def test_adjective_and_noun_change_places():
    assert ("le chat noir dort", "the black cat sleeps") == adjective_sentences()[0]


def test_eight_nouns_five_adjectives_and_four_verbs_make_160_sentences():
    assert 8 * 5 * 4 == len(set(adjective_sentences()))


def test_articles_adjectives_and_nouns_agree_in_gender():
    for french, _ in sentence_pairs(300, generator()):
        article = ""
        for word in french.split():
            if word in {"le", "la"}:
                article = word
            elif any(word in pair.split()[1:3] for pair, _ in adjective_sentences()):
                assert (article == "la") == (word in FEMININE), french


def test_both_languages_need_3_to_15_words():
    lengths = [
        tuple(len(side.split()) for side in pair) for pair in sentence_pairs(2000, generator())
    ]
    assert {3, 15} <= {french for french, _ in lengths}
    assert all(3 <= french == english <= 15 for french, english in lengths)


@pytest.mark.parametrize("words", [3, 8, 16, 24])
def test_sentences_of_any_length_can_be_drawn(words):
    pairs = sentences_of(words, 20, generator())
    assert {words} == {len(side.split()) for pair in pairs for side in pair}
    assert 20 == len(pairs)


def test_each_clause_has_one_verb_and_et_stands_between_clauses():
    for french, english in sentences_of(24, 50, generator()):
        clauses = french.split(" et "), english.split(" and ")
        assert len(clauses[0]) == len(clauses[1]) >= 4
        for clause in clauses[0]:
            assert 1 == sum(word in VERBS for word in clause.split()), french


def test_there_is_no_sentence_of_two_words():
    with pytest.raises(ValueError, match="expected 3 or more, got 2"):
        sentences_of(2, 1, generator())


def test_the_vocabularies_hold_every_word_that_is_drawn():
    pairs = sentence_pairs(2000, generator())
    assert set(FRENCH) == {word for french, _ in pairs for word in french.split()}
    assert set(ENGLISH) == {END} | {word for _, english in pairs for word in english.split()}


def test_a_seed_draws_the_same_sentences():
    assert sentence_pairs(20, generator(1)) == sentence_pairs(20, generator(1))
    assert sentence_pairs(20, generator(1)) != sentence_pairs(20, generator(2))


# The translator


def test_before_training_every_weight_is_about_one_over_the_number_of_states():
    model = Translator(32, generator())
    for french, _ in adjective_sentences():
        _, weights = model.translate(french)
        torch.testing.assert_close(weights, torch.full_like(weights, 1 / 4), rtol=0, atol=0.01)


def test_an_endless_translation_is_cut_at_twice_the_french_length():
    model = Translator(8, generator())
    output = model.model.output
    with torch.no_grad():
        output.weight.zero_()
        output.bias.zero_()[ENGLISH.index("cat")] = 1.0
    english, weights = model.translate("le chat dort")
    assert "cat cat cat cat cat cat" == english
    assert (6, 3) == weights.shape


def test_translating_and_scoring_the_same_words_give_the_same_weights(trained):
    french, english = adjective_sentences()[0]
    translation, expected = trained.translate(french)
    assert english == translation
    numbers = torch.tensor([[FRENCH.index(word) for word in french.split()]])
    right = torch.tensor([[ENGLISH.index(word) for word in [*english.split(), END]]])
    scores, weights = trained.model(numbers, right)
    torch.testing.assert_close(weights[0], expected)
    assert right.tolist() == scores.argmax(dim=-1).tolist()


def test_the_english_adjective_reads_the_state_of_the_french_one(trained):
    for french, english in adjective_sentences():
        translation, weights = trained.translate(french)
        assert english == translation
        assert 2 == weights[1].argmax(), french
        assert 0.5 < weights[1, 2], french


def test_translating_all_is_translating_each(trained):
    french = [french for french, _ in adjective_sentences()[:20]]
    assert [trained.translate(f)[0] for f in french] == trained.translate_all(french)


def test_a_fixed_vector_translator_weighs_nothing():
    pairs = sentence_pairs(50, generator())
    translator = train(pairs, generator(), 8, 3, FixedVector)
    _, weights = translator.translate("le chat dort")
    assert 0 == weights.shape[1]


def test_the_weights_are_float64():
    assert {torch.float64} == {p.dtype for p in Translator(8, generator()).parameters()}


def test_a_seed_trains_the_same_translator():
    first, second = (train(sentence_pairs(50, generator()), generator(1), 8, 3) for _ in range(2))
    assert torch.equal(first.model.output.weight, second.model.output.weight)


def test_an_unknown_word_and_an_empty_sentence_are_refused():
    model = Translator(8, generator())
    with pytest.raises(ValueError, match="expected words of the vocabulary, got cat"):
        model.translate("le cat dort")
    with pytest.raises(ValueError, match="expected words of the vocabulary, got none"):
        model.translate("")
    with pytest.raises(ValueError, match="expected words of the vocabulary, got purple"):
        train([("le chat dort", "the purple cat sleeps")], generator(), 8, 1)
