"""Sentences that differ from page to page, as many as a book needs, the same in every run."""

from __future__ import annotations

import random

_NOUNS = (
    "state gate step weight sum path signal memory reader sentence subject verb cell layer model "
    "token query key value mask head window batch kernel cache bound slope norm curve table "
    "figure claim limit error record letter harbour lamp keeper bridge ledger winter tide rope "
    "anchor compass map clock mirror engine garden river stone"
).split()
_VERBS = (
    "carries keeps loses reaches bounds repeats shows hides moves reads writes weighs measures "
    "follows crosses holds forgets explains replaces divides gathers returns delays compares"
).split()
_ADJECTIVES = (
    "small distant plain earlier hidden recurrent careful uniform narrow honest stable sparse "
    "linear smooth late local wide exact steady quiet bounded ordinary second familiar"
).split()
_TAILS = (
    "as long as nothing else depends on it",
    "whatever the length of the sequence",
    "because every step uses the same rule",
    "and the rest follows from the definition",
    "although nobody had asked for it",
    "which is what the table above says",
    "before the next part begins",
    "so that the two never part",
    "where the argument ends",
    "if the clock is to be trusted",
)
_SYLLABLES = "ba ce do fi gu ka le mo ni pu ra se to vi zu".split()


class Prose:
    """An endless supply of sentences.

    Args:
        seed: What makes the prose of one page different from that of another.
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        # A few names of its own: a real page has words that no other page has.
        self._names = ["".join(self._pick(_SYLLABLES) for _ in range(4)) for _ in range(12)]

    def words(self, count: int) -> str:
        """Return adjectives and a noun, for a title."""
        return " ".join([*(self._pick(_ADJECTIVES) for _ in range(count - 1)), self._pick(_NOUNS)])

    def sentence(self) -> str:
        """Return one sentence of about fifteen words, without numbers."""
        subject, thing = self._phrase(), self._phrase()
        if self._random.random() < 0.25:
            name = self._pick(self._names)
            return f"In {name.capitalize()} the {subject} {self._pick(_VERBS)} the {thing}."
        start = f"The {subject} {self._pick(_VERBS)} the {thing}"
        return f"{start} of the {self._phrase()}, {self._pick(_TAILS)}."

    def paragraph(self, sentences: int = 4) -> str:
        """Return some sentences, one a line, with emphasis, code or a formula here and there."""
        lines = [self.sentence() for _ in range(sentences)]
        word = self._pick(_NOUNS)
        ornament = self._pick(
            (
                f"So the *{word}* is what remains.",
                f"The code calls it `{word}_{self._pick(_NOUNS)}`.",
                f"Here $h_t = \\tanh(W h_{{t-1}} + x_t)$ is the {word}.",
                f"With $\\alpha_{{ij}} \\ge 0$ the {word} stays where it was.",
                self.sentence(),
            )
        )
        return "\n".join([*lines, ornament])

    def _phrase(self) -> str:
        return f"{self._pick(_ADJECTIVES)} {self._pick(_NOUNS)}"

    def _pick(self, among: tuple[str, ...] | list[str]) -> str:
        return among[self._random.randrange(len(among))]
