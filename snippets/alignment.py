"""Alignments learnt by translators of several seeds, for "Reading with weights".

`python snippets/alignment.py > snippets/alignment_record.py` records them; it takes half a minute.
"""

import datetime

import numpy as np
import torch

from onehop.determinism import clean_state
from onehop.translation import Translator, adjective_sentences, sentence_pairs, train


# --8<-- [start: tally]
def tally(translator: Translator) -> tuple[int, int, int, int]:
    """Count, over all sentences built like the example, what a translator gets right and reads.

    Returns how many are translated right, in how many the adjective reads the adjective, in how
    many with more than half of the weight, and in how many the noun reads the noun.
    """
    right = adjective = above_half = noun = 0
    for sentence, expected in adjective_sentences():
        written, alpha = translator.translate(sentence)
        right += written == expected
        adjective += int(alpha[1].argmax() == 2)  # English word 2 reads French word 3
        above_half += int(alpha[1, 2] > 0.5)
        noun += int(alpha[2].argmax() == 1)
    return right, adjective, above_half, noun


# --8<-- [end: tally]


def main() -> None:
    clean_state()
    today, version = datetime.date.today().isoformat(), torch.__version__
    print(f"# Five seeds, torch {version}, {today}. Of {len(adjective_sentences())} sentences:")
    print("# translated right; adjective reads adjective; with more than half; noun reads noun.")
    print("tallies = [")
    for seed in range(5):
        rng = np.random.default_rng(seed)
        translator = train(sentence_pairs(1000, rng), rng, width=32, steps=300)
        print(f"    {tally(translator)},", flush=True)
    print("]")


if __name__ == "__main__":
    main()
