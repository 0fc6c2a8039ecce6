"""The units of a text that are compared: words, and numbers, quantities and dates by their exact values.

A negation gives the words after it another polarity. Units are the same if their keys are equal; so `1 kg` is `1000 g`,
and `effective` is not what `not effective` says. The manual's page `evidence` has the rules.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Literal

from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.limiting_words import NEGATIONS, NO_NEGATIONS
from moverank.rerank.words.measures import (
    COMMA_LANGUAGES,
    CURRENCIES,
    SCALES,
    SMALL_NUMBERS,
    TENS,
    measure_of,
    money_of,
)
from moverank.rerank.words.months import month_pattern, months_of
from moverank.rerank.words.tokenizer import Tokenizer

UnitKind = Literal["word", "name", "number", "quantity", "date"]
"""`name` is a word with a digit, such as `p53`, or the number in `IL-6`: near vectors make no two the same."""

UnitKey = tuple[UnitKind, str, bool]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: code points `start` to `end` of a text, its kind, and its word or exact value in one way of writing."""

    start: int
    end: int
    kind: UnitKind
    value: str
    negated: bool = False
    """Whether a negation is before the word; always false for other kinds."""

    @property
    def key(self) -> UnitKey:
        """Return the key that equal units share."""
        return self.kind, self.value, self.negated


_GROUPS = 12  # of digits in a number, and parts of a version; a limit keeps the time linear
_DIGITS = 1000  # of a number whose value is computed; Python writes no number of more than 4300
_MINUS = r"\-\u2212\u2013"
_NO_RANGE = (  # before a minus: not as in `3-5`, `5%-7%`, `3.-5. May`, `5'-3'`, `+/-5`, or among other dashes
    rf"(?<![\w)\]}}%\u2030\u00b0+{_MINUS}\u2010\u2011\u2014{''.join(CURRENCIES)}])"
    r"(?<!\w[.'\"\u2018-\u201f\u2032\u2033])(?<!\+/)"
)
_SPACED = (  # `10 000`: digits after a space that begin with 0 are no number of their own
    rf"(?=\d{{1,3}}(?: \d{{3}}){{0,{_GROUPS - 1}}} 0\d\d(?!\d))[1-9]\d{{0,2}}(?: \d{{3}}){{1,{_GROUPS}}}(?!\d)"
)
_EXPONENT = 2  # digits of an exponent in a number whose value is computed
_PORTION = 2000  # words, or characters with numbers, between two checks of the time
_SCALES = 3  # words such as `million` after a number
_SCOPE = 3  # words after a negation that it changes
_APOSTROPHES = frozenset("'\u2019\u02bc")
_CLAUSE_END = re.compile(r"[.,;:!?()\[\]{}\"\u2026\u2013\u2014\u3001\u3002\uff0c\u060c\u061b\u061f]|\n\s*\n")


def units_of(text: str, tokenizer: Tokenizer) -> list[Unit]:
    """Return the units of a text in order; stop words and negations are none."""
    typed = list(_typed(text, tokenizer.language))
    return sorted([*typed, *_words(text, tokenizer, typed)], key=lambda unit: unit.start)


def _words(text: str, tokenizer: Tokenizer, typed: Sequence[Unit]) -> Iterator[Unit]:
    """Yield the words outside `typed` units that are neither stop words nor negations, with their polarity."""
    negations, exceptions = NEGATIONS.get(tokenizer.language, frozenset()), NO_NEGATIONS.get(tokenizer.language, {})
    outside, place = _without(text, typed), 0
    left, last, before = 0, 0, ""
    for count, (start, end, word) in enumerate(replace(tokenizer, stop_words=frozenset()).spans(text)):
        if count % _PORTION == 0:
            check_time()
        while place < len(typed) and typed[place].end <= start:
            place += 1
        if place < len(typed) and typed[place].start < end:
            continue
        if word in exceptions.get(before, ()) or _CLAUSE_END.search(outside, last, start):
            left = 0
        if negates(text, end, word, negations):
            left = _SCOPE
        elif word not in tokenizer.stop_words:
            kind: UnitKind = "name" if any(char.isdigit() for char in word) else "word"
            yield Unit(start, end, kind, word, left > 0 and kind == "word")
            left = max(0, left - 1)
        last, before = end, word


def _without(text: str, typed: Sequence[Unit]) -> str:
    """Return a text of the same length with digits in the place of `typed` units, which end no clause."""
    kept, last = list[str](), 0
    for unit in typed:
        kept += [text[last : unit.start], "0" * (unit.end - unit.start)]
        last = unit.end
    return "".join([*kept, text[last:]])


def negates(text: str, end: int, word: str, negations: frozenset[str]) -> bool:
    """Return whether a word that ends at `end` is a negation: one of the language's, or the end of `n't`."""
    if word in negations:
        return word != "n" or text[end : end + 1] in _APOSTROPHES
    return text[max(0, end - 3) : end].lower() in {f"n{sign}t" for sign in _APOSTROPHES}


def _typed(text: str, language: str) -> Iterator[Unit]:
    """Yield the numbers, quantities and dates of a text, in order."""
    place = checked = 0
    pattern = _pattern(language)
    while (found := pattern.search(text, place)) is not None:
        if place - checked > _PORTION:
            check_time()
            checked = place
        unit = _date(found) if found["date"] else _number(text, found)
        place = found.end() if unit is None else unit.end
        if unit is not None:
            yield unit


@cache
def _pattern(language: str) -> re.Pattern[str]:
    """Return the pattern of everything that may begin a typed unit, dates first."""
    month = month_pattern(language)
    ordinal, gap = r"(?:st|nd|rd|th|\.|\u00ba)?", r"(?=\s)[^\S\n]*+\n?+[^\S\n]*+"  # at most one end of a line
    dates = (
        r"(?P<y1>\d{4})-(?P<m1>\d\d)-(?P<d1>\d\d)(?!\w)",
        r"(?P<d2>\d{1,2})\.\s?(?P<m2>\d{1,2})\.\s?(?P<y2>\d{4})(?!\w)",
        rf"(?P<d3>\d{{1,2}}){ordinal}{gap}(?:(?:of|de){gap})?(?P<m3>{month})(?:,?{gap}(?:del?{gap})?(?P<y3>\d{{4}})(?!\w))?",
        rf"(?P<m4>{month}){gap}(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?(?![\w.]?\d)(?!\w)(?:,?{gap}(?P<y4>\d{{4}})(?!\w))?",
        rf"(?P<m5>{month}),?{gap}(?:del?{gap})?(?P<y5>\d{{4}})(?!\w)",
    )
    group, point = (r".\u00a0\u2009\u202f", ",") if language in COMMA_LANGUAGES else (r",\u00a0\u2009\u202f", r"\.")
    other = r"|\.(?:\d{1,2}|\d{4,})(?!\d)" if language in COMMA_LANGUAGES else ""
    signs = "".join(CURRENCIES)
    number = (
        rf"(?<!\w[{signs}])(?P<sign>{_NO_RANGE}[{_MINUS}])?(?:(?P<money>[A-Z]{{0,3}}[{signs}])\s?)?"
        rf"(?:(?P<whole>\d{{1,3}}(?:[{group}]\d{{3}}){{1,{_GROUPS}}}(?!\d)|{_SPACED}|\d+)(?P<rest>(?:{point}\d+{other})?)|(?P<dot>\.\d+))"
        rf"(?P<power>(?:[eE][+-]?\d{{1,3}}(?!\w))?)"
    )
    grouped = rf"(?!\d{{1,3}}(?:[{group}]\d{{3}}){{1,{_GROUPS}}}(?![\d.]))"
    version = rf"(?P<version>{grouped}\d+(?:\.\d+){{2,{_GROUPS}}}(?!\w))"
    words = "(?P<words>(?!))"
    if language == "en":
        ones = "|".join(word for word, value in SMALL_NUMBERS.items() if value < 10)
        small = "|".join(sorted(SMALL_NUMBERS, key=len, reverse=True))
        words = rf"(?P<words>(?i:(?:{'|'.join(TENS)})(?:[- ](?:{ones}))?|{small})(?!\w))"
    return re.compile(rf"(?<!\w)(?:(?P<date>{'|'.join(dates)})|{version}|{number}|{words})")


def _date(found: re.Match[str]) -> Unit | None:
    """Return a date as its ISO form; a missing year is two hyphens, a missing day is left out."""
    parts = found.groupdict()
    number = next(i for i in "12345" if parts[f"m{i}"])
    month, day, year = parts[f"m{number}"], parts.get(f"d{number}"), parts[f"y{number}"]
    months = months_of_all()
    in_year = int(month) if month.isdecimal() else months[month.removesuffix(".")]
    if not 1 <= in_year <= 12 or (day is not None and not 1 <= int(day) <= 31):
        return None
    value = f"{int(year):04}-{in_year:02}" if year else f"--{in_year:02}"
    return Unit(found.start(), found.end(), "date", value if day is None else f"{value}-{int(day):02}")


@cache
def months_of_all() -> dict[str, int]:
    """Return the number of each name of a month in any language."""
    return {name: number for language in ("en", "de", "es", "fr") for name, number in months_of(language).items()}


def _number(text: str, found: re.Match[str]) -> Unit | None:
    """Return a number with the scale and the unit of measurement after it; None if it is part of a word."""
    large = len((found["power"] or "").lstrip("eE+-")) > _EXPONENT or found.end() - found.start() > _DIGITS
    if _PART_OF_NAME.match(text, max(0, found.start() - 2)):
        inside = text[found.end() : found.end() + 1].isalnum()
        return None if inside else Unit(found.start(), found.end(), "name", found[0])
    if found["version"] or large:
        return Unit(found.start(), found.end(), "number", found[0])
    if found[0].isdecimal() and _DECADE.match(text, found.end()):
        return Unit(found.start(), found.end() + 1, "number", f"{found[0]}s")
    value, end = _value(found), found.end()
    end, value, scaled = _scaled(text, end, value)
    measured = money_of(text, end, found["money"]) if found["money"] else measure_of(text, end)
    if measured is not None:
        end, amount, dimension = measured[0], measured[1](value), measured[2]
        return Unit(found.start(), end, "quantity", f"{amount} {dimension}")
    if text[end : end + 1].isalnum() or text[end : end + 1] == "_":
        return None
    if found["words"] and found["words"].lower() == "one" and not scaled:
        return None  # mostly a pronoun
    if not scaled and re.fullmatch(r"1[5-9]\d\d|20\d\d", found[0]):
        return Unit(found.start(), end, "date", found[0])
    return Unit(found.start(), end, "number", str(value))


def _value(found: re.Match[str]) -> Fraction:
    """Return the value of a number as it is written, in digits or in words."""
    if found["words"]:
        words = re.split("[- ]", found["words"].lower())
        return Fraction(sum(SMALL_NUMBERS.get(word, 0) + TENS.get(word, 0) for word in words))
    whole, rest = (re.sub(r"\D", "", found[name] or "") for name in ("whole", "rest" if found["whole"] else "dot"))
    value = Fraction(int(whole + rest), 10 ** len(rest))
    if found["power"]:
        value *= Fraction(10) ** int(found["power"][1:])
    return -value if found["sign"] else value


_PART_OF_NAME = re.compile(r"[^\W\d_][-\u2010\u2011]\d")  # as in `COVID-19`
_DECADE = re.compile(r"s(?!\w)")  # right after digits, it is rather a plural, as in `1990s`, than seconds
_SCALE = re.compile(rf"[\s-](?P<scale>{'|'.join(SCALES)})s?(?!\w)")


def _scaled(text: str, end: int, value: Fraction) -> tuple[int, Fraction, bool]:
    """Return end and value of a number with words such as `million` after it, and whether there are any."""
    scaled = False
    for _ in range(_SCALES):
        if (found := _SCALE.match(text, end)) is not None:
            end, value, scaled = found.end(), value * SCALES[found["scale"]], True
    return end, value, scaled
