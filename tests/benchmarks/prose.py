"""Sentences that differ from page to page, as many as a book needs, the same in every run."""

from __future__ import annotations

import random
from pathlib import Path

_KINDS = (Path(__file__).parent / "pages/words.txt").read_text("utf-8").strip().split("\n\n")
_WORDS = {kind: words.split() for kind, _, words in (text.partition("\n") for text in _KINDS)}
_ENDINGS = _KINDS[-1].splitlines()[1:]


class Prose:
    """An endless supply of sentences without numbers.

    Args:
        seed: What makes the prose of one page different from that of another.
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        # A few names of its own: a real page has words that no other page has.
        self._places = ["".join(self._a("syllable") for _ in range(4)) for _ in range(12)]

    def title(self) -> str:
        """Return three words."""
        return f"{self._a('adjective')} {self.thing()}".capitalize()

    def thing(self) -> str:
        """Return an adjective and a noun."""
        return f"{self._a('adjective')} {self._a('noun')}"

    def sentence(self) -> str:
        """Return one sentence of about a dozen words."""
        subject, verb, thing = self.thing(), self._a("verb"), self.thing()
        if self._random.random() < 0.25:
            place = self._random.choice(self._places)
            return f"In {place.capitalize()} the {subject} {verb} the {thing}."
        ending = self._random.choice(_ENDINGS)
        return f"The {subject} {verb} the {thing} of the {self.thing()}, {ending}."

    def paragraph(self) -> str:
        """Return four sentences, one a line; the last has emphasis, code or a formula in it."""
        noun = self._a("noun")
        last = (
            f"So the *{noun}* is what remains.",
            f"The code calls it `{noun}_{self._a('verb')}`.",
            f"Here $h_t = \\tanh(W h_{{t-1}} + x_t)$ is the {noun}.",
            f"With $\\alpha_{{ij}} \\ge 0$ the {noun} stays where it was.",
            self.sentence(),
        )
        return "\n".join([*(self.sentence() for _ in range(3)), self._random.choice(last)])

    def _a(self, kind: str) -> str:
        return self._random.choice(_WORDS[kind])
