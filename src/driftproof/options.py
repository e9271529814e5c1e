"""The options of a fence: a closed set, written `name="value"`, anything else an error."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any, NoReturn

PLACEMENTS = ("above", "below", "block", "console", "tabbed-left", "tabbed-right")

Check = Callable[[str], Any]
Options = dict[str, Any]
"""Option values by name, converted to what they mean."""

_TOKEN = re.compile(r"""[ \t]*([A-Za-z][\w-]*)=("[^"]*"|'[^']*')(?=[ \t]|$)""")
_BRACES = re.compile(r"\{[ \t]*\.([\w#+-]+)(?=[ \t}])(.*)\}")
_LANGUAGE = re.compile(r"\.?([\w#.+-]+)(?=[ \t]|$)")
_PYTHON_BY_ANOTHER_NAME = re.compile(r"(?i)(i?python|py)\d*|py(con|i|odide)|python-(console|repl)")


class OptionError(Exception):
    """A header that says something the grammar does not know; `code` names the kind."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def _one_of(*allowed: str) -> Check:
    def check(value: str) -> str:
        if value not in allowed:
            listed = ", ".join(f'"{choice}"' for choice in allowed)
            raise ValueError(
                f"must be {listed}" if len(allowed) == 1 else f"must be one of {listed}"
            )
        return value

    return check


def _matching(pattern: str, what: str) -> Check:
    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"must be {what}")
        return value

    return check


def _positive(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ValueError("must be a number above zero")
    return number


_text = _matching(r"(?s).*\S.*", "some text")
_identifier = _matching(
    r"[A-Za-z][\w. -]*", "a letter followed by letters, digits, blanks, '-', '_' or '.'"
)

PYTHON = {
    "exec": _one_of("off"),
    "reason": _text,
    "file": _matching(r"[\w./-]+\.py(:[A-Za-z][\w-]*)?", '"name.py" or "name.py:region"'),
    "source": _one_of(*PLACEMENTS),
    "title": _text,
    "hl_lines": _matching(r"\d+(-\d+)?( +\d+(-\d+)?)*", 'line numbers such as "1 3-4"'),
    "linenums": _matching(r"\d+( +\d+){0,2}", 'a line number such as "1"'),
    "id": _identifier,
    "timeout": _positive,
    "raises": _matching(r"[A-Za-z_][\w.]*", "the name of an exception"),
}
OUTPUT = {
    "rtol": _positive,
    "atol": _positive,
    "because": _text,
    "show": _one_of("table", "figure"),
    "measured": _text,
    "device": _one_of("cuda"),
    "code": _matching(r"[0-9a-f]{8}", "the eight digits that recording writes"),
}
SHOWN = {
    "title": _text,
    "hl_lines": PYTHON["hl_lines"],
    "linenums": PYTHON["linenums"],
}
"""What a fence of any other language may say; SuperFences takes no more without braces."""
_LANGUAGES: dict[str, dict[str, Check]] = {"python": PYTHON, "output": OUTPUT, "math": {}}


def parse_header(header: str) -> tuple[str, Options]:
    """Return the language of a fence and its options, checked and converted.

    Args:
        header: The opening line after the ticks, such as `python title="One step"`.

    Raises:
        OptionError: The header is not of the grammar.
    """
    if "`" in header:
        raise OptionError(
            "fence-header",
            "GitHub takes a fence with a back-tick after it for text",
            "leave it out",
        )
    if header.partition("=")[0].strip("{").count("{"):
        raise OptionError(
            "fence-header",
            "braces begin before the language",
            'write {.python title="…"}, or leave the braces out',
        )
    if braces := _BRACES.fullmatch(header):
        language, rest = braces.groups()
    else:
        match = _LANGUAGE.match(header)
        language, rest = (match[1], header[match.end() :]) if match else ("", header)
    known = _LANGUAGES.get(language, SHOWN)
    if known is SHOWN:
        _refuse_misspelt(language)
    values: Options = {}
    position = 0
    while rest[position:].strip(" \t"):
        token = _TOKEN.match(rest, position)
        if token is None:
            _not_understood(rest[position:], language, known)
        name, value = token[1], token[2][1:-1]
        if name not in known:
            _unknown(name, language, known)
        if name in values:
            raise OptionError("option-value", f"option {name!r} stands twice", "leave one out")
        try:
            values[name] = known[name](value)
        except ValueError as error:
            hint = f'write {name}="…" with such a value, or leave it out'
            raise OptionError("option-value", f"{name}={token[2]} {error}", hint) from None
        position = token.end()
    return language, values


def _refuse_misspelt(language: str) -> None:
    if _PYTHON_BY_ANOTHER_NAME.fullmatch(language):
        raise OptionError(
            "fence-language",
            f"a fence in {language!r} would never run",
            'write `python`, with exec="off" and a reason if it must not run',
        )
    if near := difflib.get_close_matches(language.lower(), _LANGUAGES, 1, cutoff=0.8):
        raise OptionError(
            "fence-language", f"no language is called {language!r}", f"did you mean {near[0]!r}?"
        )


def _unknown(name: str, language: str, known: dict[str, Check]) -> NoReturn:
    near = difflib.get_close_matches(name.lower().lstrip("."), known, n=1)
    what = f"the `{language}` fence" if language else "the fence without a language"
    hint = f"did you mean {near[0]!r}?" if near else f"it knows {', '.join(known) or 'none'}"
    raise OptionError("unknown-option", f"{what} has no option {name!r}", hint)


def _not_understood(rest: str, language: str, known: dict[str, Check]) -> NoReturn:
    word = re.split(r"[ \t]", rest.strip(" \t"))[0]
    name = word.split("=")[0]
    if "=" in word and name in known:
        raise OptionError(
            "option-value", f"the value of {name!r} is not quoted", f'write {name}="…"'
        )
    if "=" in word and name:
        _unknown(name, language, known)
    raise OptionError(
        "fence-header",
        f"{word!r} after the fence is not understood, and the fence would be shown as text",
        f'options are written name="value": {", ".join(known) or "here, none"}',
    )
