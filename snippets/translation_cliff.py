"""Runs of "The translation cliff" over several seeds.

`python snippets/translation_cliff.py > snippets/translation_cliff_record.py` records them; it takes
some minutes.
"""

import datetime
from collections.abc import Callable

import numpy as np
import torch

from onehop.bleu import bleu
from onehop.copying import recalled, train_copier
from onehop.determinism import clean_state
from onehop.encoder_decoder import Attention, FixedVector, Kind
from onehop.translation import Translator, sentences_of, train

# --8<-- [start: measure]
GROUPS = [(3, 5), (6, 8), (9, 11), (12, 14), (15, 16), (17, 20), (21, 24)]


def measure(
    kind: Kind, width: int, steps: int, seed: int, change: Callable[[str], str] = str
) -> tuple[list[float], list[float], Translator]:
    """Train on 3 to 16 words; percent exact and BLEU for each group of lengths, and the model."""
    rng = np.random.default_rng(seed)
    lesson = [pair for words in range(3, 17) for pair in sentences_of(words, 300, rng)]
    model = train([(change(f), e) for f, e in lesson], rng, width, steps, kind)
    exact, scores = [], []
    for shortest, longest in GROUPS:
        written, right = [], []
        for words in range(shortest, longest + 1):
            french, english = zip(*sentences_of(words, 40, rng), strict=True)
            written += model.translate_all([change(f) for f in french])
            right += english
        exact.append(100 * np.mean([w == r for w, r in zip(written, right, strict=True)]))
        scores.append(100 * bleu(written, [[r] for r in right]))
    return exact, scores, model


# --8<-- [end: measure]


def backwards(french: str) -> str:
    return " ".join(reversed(french.split()))


def main() -> None:
    clean_state()
    print("# --8<-- [start: translations]")
    print(
        f"# Five seeds each; torch {torch.__version__}, {datetime.date.today()}. Percent translated"
    )
    print(
        "# exactly, by words of the sentence: 3-5, 6-8, 9-11, 12-14, 15-16, then 17-20 and 21-24,"
    )
    print("# which are longer than all that were trained.")
    print("exact, scores = {}, {}")
    for name, settings in {
        "attention 48, 400 steps": (Attention, 48, 400),
        "fixed 128, 800 steps": (FixedVector, 128, 800),
        "fixed 64, 800 steps": (FixedVector, 64, 800),
        "fixed 64, 1600 steps": (FixedVector, 64, 1600),
        "fixed 64, 800 steps, French backwards": (FixedVector, 64, 800),
    }.items():
        change = {"change": backwards} if "backwards" in name else {}
        runs = [measure(*settings, seed, **change) for seed in range(5)]
        show(f'exact["{name}"]', [[round(x) for x in exact] for exact, _, _ in runs])
        if name in ("attention 48, 400 steps", "fixed 128, 800 steps"):
            show(f'scores["{name}"]', [[round(x) for x in scores] for _, scores, _ in runs])
    print("# --8<-- [end: translations]")
    print("# --8<-- [start: widths]")
    print("# The same for fixed vectors of other widths, 800 steps.")
    print("by_width = {}")
    for width in (32, 96, 192, 256):
        runs = [measure(FixedVector, width, 800, seed) for seed in range(5)]
        show(f"by_width[{width}]", [[round(x) for x in exact] for exact, _, _ in runs])
    print("# --8<-- [end: widths]")
    print("# --8<-- [start: copies]")
    print("# Five seeds each: tokens recalled beyond chance, of 4, 8, 16 and 24 tokens.")
    print("copied = {}")
    for name, (kind, width, steps) in {
        "attention 64, 400 steps": (Attention, 64, 400),
        "fixed 64, 600 steps": (FixedVector, 64, 600),
        "fixed 32, 600 steps": (FixedVector, 32, 600),
    }.items():
        rows = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            model = train_copier(kind, width, rng, steps)
            rows.append([round(recalled(model, length, rng), 1) for length in (4, 8, 16, 24)])
        show(f'copied["{name}"]', rows)
    print("# --8<-- [end: copies]")


def show(name: str, rows: list[list[float]]) -> None:
    print(f"{name} = [")
    for row in rows:
        print(f"    {row},", flush=True)
    print("]")


if __name__ == "__main__":
    main()
