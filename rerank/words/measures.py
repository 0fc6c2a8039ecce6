"""Units of measurement, with exact conversions: the table `measures.txt`."""

import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from unicodedata import normalize

from moverank.rerank.words.languages import table_lines

COMMA_LANGUAGES = frozenset(
    "az ca da de el es eu fi fr hu hy id it lt nl no pt ro ru sr sv tr vi".split()  # noqa: SIM905 - a list of codes
)
"""The languages that write a comma before decimals."""

CURRENCIES = {"$": "USD", "\u20ac": "EUR", "\u00a3": "GBP", "\u00a5": "JPY"}
"""The currency of each sign that may be before or after a number."""

CODES = ("USD", "EUR", "GBP", "CHF", "JPY", "CAD", "AUD", "CNY", "INR")
"""The currencies whose codes may be before a number, too."""

Table = dict[str, tuple[Fraction, str]]
"""The factor and the dimension of each symbol or name."""


@cache
def _table(language: str) -> Table:
    """Return the units of all languages, and those of one."""
    found: Table = {}
    for line in table_lines("measures.txt"):
        where, _, units = line.partition(": ")
        code, _, dimension = where.rpartition(" ")
        if code in ("", language):
            for symbol, _, factor in (one.partition("=") for one in units.split()):
                found[symbol] = found[symbol.lower() if code else symbol] = Fraction(factor), dimension
    return found


_AFFINE = {"\u00b0F": (Fraction(5, 9), Fraction(-32)), "\u00b0C": (Fraction(1), Fraction(0))}
_DEGREES = re.compile(r"(?:degrees?|[Gg]rad|degr\u00e9s?|[\u00b0\u00ba]) ?(?P<scale>[CF]|(?i:celsius|fahrenheit))?")
_RAISED = "\u00b2\u00b3\u00b9\u2070-\u2079"
_PARTS, _LENGTH = 8, 60  # of the rest of a unit, and the characters of a part; limits keep the time linear
_TAIL = (  # powers and other units: `m2`, `m/s^2`, `m s-1`, `mg/kg/day`
    rf"(?P<tail>(?:(?:[23]|[-\u2212]1)(?!\w))?(?:[/\u00b7\u22c5]\w{{1,{_LENGTH}}}+|\^[-\u2212]?\d{{1,{_LENGTH}}}+|"
    rf"\u207b?[{_RAISED}]{{1,{_LENGTH}}}+|"
    r"[ \u00a0]?(?:kg|mol|min|[mglLshdK])[-\u2212\u207b][1-4\u00b9\u00b2\u00b3](?!\w))"
    rf"{{0,{_PARTS}}}+(?:[/^][^\s,;]{{1,{_LENGTH}}}+)?+)"
)


_SIGN = "".join(CURRENCIES)
_TIMES = r"(?:second|minute|hour|day|week|month|year)\b"
_ADVERBS = {"daily": "day", "hourly": "hour", "weekly": "week", "t\u00e4glich": "Tag", "w\u00f6chentlich": "Woche"}
_AFTER_PAR = "l[ea]s?|une?|des|son|sa|ses|cet?te?"  # after the French `par`, as in `minutes par le sentier`
_RATE = (
    rf"(?:(?: (?:per|pro|par|each) (?!(?:{_AFTER_PAR})\b)| an? (?={_TIMES})|(?: \u00e0 l['\u2019]|-)(?=heure\b))"
    rf"(?P<per>[^\W\d_]+)| (?P<adverb>{'|'.join(_ADVERBS)})|{_TAIL})"
)


@cache
def _after(language: str) -> re.Pattern[str]:
    """Return the pattern of a unit of measurement; in the table, names such as `square metre` have hyphens."""
    several = sorted((name for name in _table(language) if "-" in name), key=len, reverse=True)
    names = "|".join(re.escape(name).replace("\\-", "[ -]") for name in several)
    return re.compile(
        r"[ \t\u00a0\u2009\u202f-]?\n?"
        rf"(?P<unit>(?i:{names})s?(?!\w)|(?:[kKM]|Md)[{_SIGN}]|per ?cent|pour ?cent|%|\u2030|"
        rf"{_DEGREES.pattern.replace('?P<scale>', '?:')}|[^\W\d_{_RAISED}]+|[{_SIGN}](?!\s?\d)){_RATE}"
        r"(?!\w|['\u2019]\w)"
    )


_AFTER_MONEY = re.compile(rf"(?P<scale>[ \u00a0\u202f]?(?:[kKmMbB]|bn|mn)(?!\w))?{_TAIL}(?!\w)")
_MONEY_SCALES = {"k": 10**3, "m": 10**6, "mn": 10**6, "b": 10**9, "bn": 10**9}

Conversion = Callable[[Fraction], Fraction]


def measure_of(text: str, start: int, language: str) -> tuple[int, Conversion, str] | None:
    """Return end, conversion to the base unit, and dimension of the unit of measurement at `start`; None without one.

    Symbols are case-sensitive (`mM` is no `mm`); names may be plural, and in any case. A unit with a power, or with
    a rest that is no unit, as in `kg/m2` and `mg/dose`, is a dimension of its own, which is not converted.
    """
    found = _after(language).match(text, start)
    if found is None:
        return None
    symbol = _symbol(found["unit"].replace("\u03bc", "\u00b5"))
    rate = found["per"] or _ADVERBS.get(found["adverb"], "")
    tail = f"/{rate}" if rate else (found["tail"] or "").replace("\u03bc", "\u00b5")
    one = _named(symbol + ("" if "/" in tail else _plain(tail)), language)
    if one is not None and "/" not in tail:
        return found.end(), lambda value: value * one[0], one[1]
    one, per = _named(symbol, language), _named(_plain(tail).replace("\u03bc", "\u00b5").removeprefix("/"), language)
    if one is None and symbol not in _AFFINE:
        return None
    if tail and (one is None or per is None or tail[0] != "/"):
        return found.end(), lambda value: value, symbol + _plain(tail)
    if one is None:
        factor, shift = _AFFINE[symbol]
        return found.end(), lambda value: (value + shift) * factor, "\u00b0C"
    if per is None:
        return found.end(), lambda value: value * one[0], one[1]
    return found.end(), lambda value: value * one[0] / per[0], f"{one[1]}/{per[1]}"


def money_of(text: str, start: int, sign: str) -> tuple[int, Conversion, str] | None:
    """Return the same of money with a `sign` before the number, which ends at `start`; None if that is in a word."""
    found = _AFTER_MONEY.match(text, start)
    if found is None:
        return None
    factor = _MONEY_SCALES.get((found["scale"] or "").strip().lower(), 1)
    return (
        found.end(),
        lambda value: value * factor,
        CURRENCIES.get(sign.removeprefix("US"), sign) + _plain(found["tail"]),
    )


def _plain(tail: str) -> str:
    """Return the rest of a unit with powers in one way of writing."""
    return normalize("NFKC", tail).replace("^", "").replace("\u2212", "-")


def _symbol(unit: str) -> str:
    """Return a unit in one way of writing."""
    if (degrees := _DEGREES.fullmatch(unit)) is not None:
        usual = "C" if unit[0] in "Gg" or "\u00e9" in unit else "?"  # outside English
        return f"\u00b0{(degrees['scale'] or usual)[0].upper()}"
    return "%" if unit.replace(" ", "").lower() in ("percent", "pourcent") else unit


def _named(symbol: str, language: str) -> tuple[Fraction, str] | None:
    """Return factor and dimension of a symbol, or of a name in any case and number."""
    table, name = _table(language), symbol.lower().replace(" ", "-")
    if symbol in table:
        return table[symbol]
    if len(name) > 2 and name in table:
        return table[name]
    return table.get(name[:-1]) if len(name) > 3 and name.endswith("s") else None
