"""BLEU, the score that translation papers report, from its definition.

Papineni et al. (2002, doi:10.3115/1073083.1073135), section 2. Words are what stands between
blanks; a candidate may have several references.
"""

import math
from collections import Counter


def bleu(candidates: list[str], references: list[list[str]], longest: int = 4) -> float:
    """Return the BLEU of a whole set of translations, from 0 to 1 (papers print it times 100).

    It is the geometric mean of the modified precisions of all phrases of 1 to `longest` words,
    times the brevity penalty (section 2.3). Counts are summed over the set before they are
    divided: the BLEU of a set is no mean of those of its sentences.

    Args:
        candidates: the translations to judge.
        references: right translations, one or more for each candidate.
        longest: length of the longest phrases compared; 0 results if none of some length matches.

    Raises:
        ValueError: not as many lists of references as candidates.
    """
    if len(candidates) != len(references):
        raise ValueError(
            f"references: expected one list for each of {len(candidates)} candidates, "
            f"got {len(references)}"
        )
    logarithms = []
    for length in range(1, longest + 1):
        matched, written = _matches(candidates, references, length)
        if not matched:
            return 0.0
        logarithms.append(math.log(matched / written))
    return brevity_penalty(candidates, references) * math.exp(sum(logarithms) / longest)


def modified_precision(candidates: list[str], references: list[list[str]], length: int) -> float:
    """Return the share of the candidates' phrases of `length` words that a reference holds too.

    A phrase counts as often as in the reference that has it most often, and no more (section 2.1):
    a word said seven times is right at most as often as some reference says it.

    Args:
        candidates: the translations to judge.
        references: right translations, one or more for each candidate.
        length: words in a phrase.

    Raises:
        ZeroDivisionError: no candidate has that many words.
    """
    matched, written = _matches(candidates, references, length)
    return matched / written


def brevity_penalty(candidates: list[str], references: list[list[str]]) -> float:
    """Return 1, or `exp(1 - r / c)` if the candidates have `c` words, fewer than `r` (section 2.3).

    Args:
        candidates: the translations to judge.
        references: right translations; of those of one candidate, the one nearest to it in length
            counts towards `r`.
    """
    c = r = 0
    for candidate, options in zip(candidates, references, strict=True):
        words = len(candidate.split())
        c += words
        r += min((len(option.split()) for option in options), key=lambda n: (abs(n - words), n))
    if not c:
        return 0.0
    return min(1.0, math.exp(1 - r / c))


def _matches(candidates: list[str], references: list[list[str]], length: int) -> tuple[int, int]:
    """Return how many phrases of the candidates are matched, and how many there are."""
    matched = written = 0
    for candidate, options in zip(candidates, references, strict=True):
        phrases = _phrases(candidate, length)
        most = Counter()
        for option in options:
            most |= _phrases(option, length)
        matched += (phrases & most).total()
        written += phrases.total()
    return matched, written


def _phrases(sentence: str, length: int) -> Counter[tuple[str, ...]]:
    words = sentence.split()
    return Counter(tuple(words[i : i + length]) for i in range(len(words) - length + 1))
