"""Models and measurements behind the book: how sequence models went from recurrence to attention.

Import from the modules (`from onehop.recurrent import rnn`): importing the package alone loads
neither numpy nor torch. Nothing here prints or formats, that is the page's work; only a diagnosis
comes with its report, and with a command, `python -m onehop diagnose`.

Conventions of every function:

* Tensors of sequences have the axes `(batch, steps, width)`; a lag counts steps back from the last.
* Seconds are seconds, memory is bytes, and one multiply-add is two floating-point operations.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onehop.diagnosis import diagnose as diagnose


def __getattr__(name: str) -> Any:
    if name != "diagnose":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from onehop.diagnosis import diagnose

    return diagnose
