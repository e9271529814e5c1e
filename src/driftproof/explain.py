"""What the code at the end of a message means: the texts behind `driftproof explain`."""

from __future__ import annotations

import difflib
import re
from importlib import resources

from driftproof.problem import DriftproofError

_SECTION = re.compile(r"^## `([a-z-]+)` \{ #\1 \}\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)


def sections() -> dict[str, str]:
    """Return what there is to say about each code, in the order of the alphabet."""
    text = resources.files("driftproof").joinpath("assets/messages.md").read_text("utf-8")
    return {code: body.strip() for code, body in _SECTION.findall(text)}


def explain(code: str) -> str:
    """Return what a code means: cause, an example, what to do.

    Raises:
        DriftproofError: There is no such code.
    """
    known = sections()
    code = code.strip("[] ").lower()
    if code not in known:
        near = difflib.get_close_matches(code, known, cutoff=0.6)
        hint = f"did you mean {' or '.join(near)}?" if near else "`driftproof explain` lists them"
        raise DriftproofError("no-code", f"no message ends in [{code}]", hint)
    return f"{code}\n\n{known[code]}"
