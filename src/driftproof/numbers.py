"""What a number is: the one rule that comparing, binding and reporting share.

`docs/contributing/numbers.md` states the rule for readers; a test holds its examples against it.
"""

import functools
import re
from dataclasses import dataclass
from decimal import Decimal

_BLANK = r"[ \t\u00a0\u2009\u202f]"
_SUPERSCRIPT_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"

# 2,101,248, also with a no-break or thin space or TeX's {,} or \, between; `1,2,345` is a list.
_SEPARATORS = (",", r"[\u00a0\u2009\u202f]", r"\{,\}", r"\\,")
_GROUPS = "|".join(rf"(?:{each}[0-9]{{3}})+(?!(?:{each})?[0-9])" for each in _SEPARATORS)
_GROUPED = "".join(rf"(?<![0-9]{each})" for each in _SEPARATORS) + f"[1-9][0-9]{{0,2}}(?:{_GROUPS})"
# The point of `[1. 2.]` belongs to the number, a full stop does not: what follows decides.
# An array too long for its line goes on, indented, on the next one.
_BARE_POINT = r"""\.(?= %|j\b|[eE][-+−]?[0-9]
    | [ \t]*+(?:\n[ \t]++)?+ (?:[\])},;|] | [-+−]?(?:\.?[0-9]|nan\b|inf\b)))"""
_UNSIGNED = rf"""(?:
    (?:{_GROUPED} | [0-9]++) (?:\.[0-9]++|{_BARE_POINT})?
    | (?<![\w.)\]])\.[0-9]++)"""
_SIGN = r"(?:(?<![-‐‑\w)\]}%])[-+−])?"
# Five digits of exponent: no printed float has more, and Decimal takes them all.
_EXPONENT = r"[-+−]?[0-9]{1,5}"
_POWER = rf"\^\{{{_EXPONENT}\}} | \^{_EXPONENT} | [⁺⁻]?[{_SUPERSCRIPT_DIGITS}]{{1,5}}"
_TIMES = rf"{_BLANK}*+(?:×|·|\\times|\\cdot)(?:{_BLANK}|\\,)*+"

_NUMBER = rf"""
    (?P<sign>{_SIGN})
    (?: (?P<special>nan|NaN|inf)
      | (?:(?P<factor>{_UNSIGNED}){_TIMES})?10(?P<power>{_POWER})
      | (?P<mantissa>{_UNSIGNED})(?:[eE](?P<exponent>{_EXPONENT}))?
    )
    (?:\\?%(?!\w))?+
    (?![^\W{_SUPERSCRIPT_DIGITS}])  # a letter, a digit or an underscore follows: part of a word
    (?!\.\w)                        # the next part of a version follows
    (?!\.?[-‐‑]\.?\w)               # a hyphen to a word or to another number follows
"""
# What hyphens and points join to a word: names, dates, versions, addresses.
_JOINED = r"(?:(?:%?[-‐‑]\.?|\.[-‐‑]?)\w+)*"
_CLOCK_TIME = r"""(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T)?
    [0-9]{1,2}(?::[0-9]{2}(?![0-9])){1,2}(?:\.[0-9]+)?\w*"""
_COMPLEX = rf"{_SIGN}{_UNSIGNED}(?:[eE]{_EXPONENT})?[-+]{_UNSIGNED}(?:[eE]{_EXPONENT})?j(?!\w)"
# `torch 2.12` and `section 5.6` name something: the number after such a word is part of the name.
_NAMED = rf"""(?i:
      §{_BLANK}*+
    | (?:versions?|arxiv|doi)(?:{_BLANK}*+[:=]{_BLANK}*+ | {_BLANK}++)
    | (?:python|(?:py)?torch|numpy|cuda|cudnn|mkdocs|sections?|chapters?|figures?|figs?\.?|tables?
        |equations?|eqs?\.?|pages?|appendix|pep|rfc)
      (?:{_BLANK}*+[=<>~!]={_BLANK}*+ | {_BLANK}++)
    )
    \(?[0-9]\w*{_JOINED}(?:,[0-9]{{3}}(?!\w))*"""
_TEX_COMMAND = r"\\[A-Za-z]+"
_SUBSCRIPT = r"(?<=_)\{(?:[^{}\n]|\{[^{}\n]*\})*\}"

# One scan from left to right: text is consumed whole, so that no number is found inside it.
# The first look-ahead only saves time.
_TOKEN = rf"""(?=[-+−.\\{{\#§\w]) (?: {_CLOCK_TIME} | {_NAMED} | {_COMPLEX} | (?P<number>{_NUMBER})
    | {_TEX_COMMAND} | {_SUBSCRIPT} | \#?\w+{_JOINED} )"""
_PLAIN_EXPONENT = str.maketrans(f"{_SUPERSCRIPT_DIGITS}⁺⁻−", "0123456789+--", "^{}")


@dataclass(frozen=True)
class Number:
    """A number as it stands in a text.

    Attributes:
        start: index of its first character (the sign, if it has one).
        end: index after its last character (the percent sign, if it has one).
        text: what is written there.
        value: what is written, exactly; `6.5%` has the value 6.5. May be nan or infinite.
        is_integer: written with neither point nor exponent, and neither nan nor inf.
        digits: significant digits as written (of an integer all digits, of a zero its decimals, of
            nan and inf 0), so that 0.50 and 0.5, or 0.0000 and 0.0, are told apart.
    """

    start: int
    end: int
    text: str
    value: Decimal
    is_integer: bool
    digits: int

    @property
    def is_percentage(self) -> bool:
        """Whether a percent sign belongs to it."""
        return self.text.endswith("%")


def find_numbers(text: str) -> list[Number]:
    """Every number of a text, in order; digits in names, versions, dates and clock times are text.

    Args:
        text: printed output or prose, of any number of lines. No number spans two of them.
    """
    return [_read(match) for match in _token().finditer(text) if match["number"]]


@functools.cache
def _token() -> re.Pattern[str]:
    return re.compile(_TOKEN, re.VERBOSE)  # when it is needed: a build may recall all it needs


def _read(match: re.Match[str]) -> Number:
    """The value and the digits of a match of `_TOKEN` that is a number."""
    sign = "-" if match["sign"] in {"-", "−"} else ""
    if match["special"]:
        value, is_integer, digits = Decimal(sign + match["special"]), False, 0
    else:
        written = match["mantissa"] or match["factor"] or "1"
        mantissa = "".join(character for character in written if character in "0123456789.")
        exponent = (match["exponent"] or match["power"] or "0").translate(_PLAIN_EXPONENT)
        value = Decimal(f"{sign}{mantissa}E{exponent}")
        is_integer = not (match["exponent"] or match["power"] or "." in mantissa)
        if is_integer:
            digits = len(mantissa)
        elif value == 0:
            digits = len(mantissa.partition(".")[2]) - int(exponent)
        else:
            digits = len(mantissa.replace(".", "").lstrip("0"))
    return Number(*match.span(), match.group(), value, is_integer, digits)
