import math
from fractions import Fraction

import pytest

from onehop.bleu import bleu, brevity_penalty, modified_precision

# Example 1 of Papineni et al. (2002), in lower case and without its full stops.
GUIDE = [
    "it is a guide to action that ensures that the military will forever heed party commands",
    "it is the guiding principle which guarantees the military forces always being under the "
    "command of the party",
    "it is the practical guide for the army always to heed the directions of the party",
]
GOOD = (
    "it is a guide to action which ensures that the military always obeys the commands of the party"
)
BAD = "it is to insure the troops forever hearing the activity guidebook that party direct"
# Example 2.
MAT = ["the cat is on the mat", "there is a cat on the mat"]
THE = "the the the the the the the"


@pytest.mark.parametrize(
    ("candidate", "references", "length", "expected"),
    [
        (GOOD, GUIDE, 1, Fraction(17, 18)),
        (GOOD, GUIDE, 2, Fraction(10, 17)),
        (BAD, GUIDE, 1, Fraction(8, 14)),
        (BAD, GUIDE, 2, Fraction(1, 13)),
        (THE, MAT, 1, Fraction(2, 7)),
        (THE, MAT, 2, Fraction(0)),
    ],
)
def test_modified_precisions_are_those_of_the_paper(candidate, references, length, expected):
    assert float(expected) == modified_precision([candidate], [references], length)


def test_a_perfect_translation_scores_one():
    assert 1.0 == pytest.approx(bleu(MAT, [MAT[:1], MAT[1:]]))


def test_the_geometric_mean_of_four_precisions_by_hand():
    candidate, reference = "the black cat sees the dog", "the black cat sees a dog"
    # words 5/6 (the second `the` is one too many), pairs 3/5, triples 2/4, fours 1/3
    expected = (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / 4)
    assert expected == pytest.approx(bleu([candidate], [[reference]]))


def test_short_translations_are_penalised_by_the_whole_set():
    assert math.exp(1 - 6 / 4) == brevity_penalty(["the cat is on"], [MAT[:1]])
    assert 1.0 == brevity_penalty(["the cat is on", "a b c d e f g h"], [MAT[:1], MAT[:1]])
    assert 1.0 == brevity_penalty(["the cat is on the mat mat"], [MAT])
    assert 0.0 == brevity_penalty([""], [MAT])
    nearest = [["a b c d", "a b c d e f g h"], ["a b c d e f g h", "a b c d e f g"]]
    assert 1.0 == brevity_penalty(["a b c d e"], nearest[:1])
    assert math.exp(1 - 7 / 6) == brevity_penalty(["a b c d e f"], nearest[1:])
    expected = math.exp(1 - 6 / 5)
    assert expected == pytest.approx(bleu(["the cat is on the"], [MAT[:1]]))


def test_a_set_is_scored_as_one_text_and_not_as_a_mean():
    right, wrong = "the cow sees the hen", "no word here is right"
    references = [[right], [right]]
    assert 0.0 == bleu([wrong], references[:1])
    expected = (5 / 10 * 4 / 8 * 3 / 6 * 2 / 4) ** (1 / 4)
    assert expected == pytest.approx(bleu([right, wrong], references))


def test_nothing_of_four_words_in_common_scores_zero():
    assert 0.0 == bleu(["the cat is"], [MAT])


def test_a_candidate_without_references_is_refused():
    with pytest.raises(ValueError, match="one list for each of 2 candidates, got 1"):
        bleu(MAT, [MAT])
