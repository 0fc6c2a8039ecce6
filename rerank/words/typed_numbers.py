"""The numbers, quantities, dates and times of a text, with their exact values, and with the comparators beside them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from unicodedata import numeric

from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.dates import date_of, date_pattern, hours_of_day, time_of, time_pattern
from moverank.rerank.words.limiting_words import LABEL, Limits, limits_of
from moverank.rerank.words.measures import CODES, COMMA_LANGUAGES, CURRENCIES, Conversion, measure_of, money_of
from moverank.rerank.words.number_words import number_words
from moverank.rerank.words.unit import Unit, UnitKind

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
_PORTION = 2000  # characters with numbers, between two checks of the time
_SCALES = 3  # words such as `million` after a number


def typed_numbers(text: str, language: str) -> Iterator[Unit]:
    """Yield the numbers, quantities, dates and times of a text, in order, each with its comparator."""
    place = checked = last = 0
    pattern, waiting = _pattern(language), None
    while (found := pattern.search(text, place)) is not None:
        if place - checked > _PORTION:
            check_time()
            checked = place
        number = _found(text, found, language)
        place = found.end() if number is None else number.end
        if number is None:
            continue
        if waiting is not None:
            between = text[waiting.end : number.start]
            is_label = _is_label(text, waiting.start, language)
            is_apart = (is_label and between in _SHARES) or text[number.end : number.end + 1] == "/"  # `3/4/2020`
            pair = None if is_apart else waiting.paired(number, between) or waiting.with_rest(number, between)
            if pair is not None:
                waiting = pair
                continue
            joined = _YEARS if waiting.kind == "date" else _RANGE
            is_joined = joined.fullmatch(text, waiting.end, number.start) is not None
            is_range = is_joined and number.convert is not None and not is_label
            for unit in (waiting.in_unit(number) if is_range else waiting).units(text, last, language, number.start):
                last = unit.end
                yield unit
        waiting = number
    if waiting is not None:
        yield from waiting.units(text, last, language)


@dataclass(frozen=True, slots=True)
class _Number:
    """A number, quantity, date or time that is found at a place; `plain` is the value before a unit."""

    start: int
    end: int
    kind: UnitKind
    value: str
    plain: Fraction | None = None
    convert: Conversion | None = None
    dimension: str = ""
    article: bool = False
    """Whether it is mostly an article or a pronoun, unless it is one of two numbers, as in `four to one`."""

    def paired(self, other: "_Number", between: str) -> "_Number | None":
        """Return the fraction, or the two numbers whose order counts, that this number and the next one are.

        As `1/2`, `3:1`, `120/80` and `four to one`; `3-1` and `3 to 1` are no range. None: they are neither.
        """
        joint = _PAIR.fullmatch(between)
        if joint is None or self.kind == "quantity" or self.plain is None or other.plain is None or self.plain < 0:
            return None
        if between in _SHARES:
            is_share = self.kind == other.kind == "number" and 0 < self.plain < other.plain <= _LARGEST_SHARE
            is_share &= between != " in " or self.plain == 1  # `invested 5 in 10 firms`
            if is_share or between != " sur ":
                return _plain_number(self.start, other.end, self.plain / other.plain) if is_share else None
        if between == "/" and 0 < self.plain < other.plain <= _DENOMINATOR:
            value = self.plain / other.plain
            if other.convert is None:
                return _plain_number(self.start, other.end, value)
            return replace(other, start=self.start, plain=value, value=f"{other.convert(value)} {other.dimension}")
        is_scale = other.convert is None and self.plain == 1 and other.plain >= _SMALLEST_SCALE
        if joint["order"] is None and self.plain <= other.plain and not is_scale:
            return None
        if other.convert is None:
            return _Number(self.start, other.end, "number", f"{self.plain}:{other.plain}")
        both = f"{other.convert(self.plain)}:{other.convert(other.plain)} {other.dimension}"
        return _Number(self.start, other.end, "quantity", both)

    def with_rest(self, other: "_Number", between: str) -> "_Number | None":
        """Return the sum of this quantity and the next, in a smaller unit, as in `1 h 30 min`; None: they are two."""
        if between != " " or not (self.convert and other.convert and self.plain and other.plain):
            return None
        factor = other.convert(Fraction(1))
        is_smaller = self.dimension == other.dimension and self.convert(Fraction(1)) > factor
        if not is_smaller or self.plain < 0 or self.convert(Fraction(0)) or other.convert(Fraction(0)):
            return None
        value = self.convert(self.plain) + other.convert(other.plain)
        return replace(other, start=self.start, plain=value / factor, value=f"{value} {self.dimension}")

    def in_unit(self, other: "_Number") -> "_Number":
        """Return the first number of a range, as `5` in `5-10 mg`, in the unit of the last."""
        if self.plain is None or self.convert is not None or other.convert is None:
            return self
        return replace(self, kind="quantity", value=f"{other.convert(self.plain)} {other.dimension}")

    def units(self, text: str, last: int, language: str, following: int | None = None) -> Iterator[Unit]:
        """Yield the unit with the comparator beside it, which begins after `last`; none for an article.

        One after the number has a unit without a value, since a word may be between them.
        `following` is where the next number begins: in `5 mg at least 3 times` the comparator is before it.
        """
        unit, limits = Unit(self.start, self.end, self.kind, self.value), limits_of(language)
        comparator = None
        is_year = self.kind == "date" and self.value.isdecimal()
        if self.plain is not None and (self.kind != "date" or is_year):
            before, after = limits.before(text, self.start), limits.after(text, self.end)
            if before is not None and before[0] >= last:
                unit = replace(unit, start=before[0], value=f"{before[1]} {self.value}")
            elif after is not None and not (following and self._is_of_next(text, after, following, limits)):
                unit = replace(unit, value=f"{after[2]} {self.value}")
                comparator = replace(unit, start=after[0], end=after[1], value="")
            if is_year and unit.value != self.value:
                unit = replace(unit, kind="number")
        if not self.article:
            yield unit
        if comparator is not None:
            yield comparator

    @staticmethod
    def _is_of_next(text: str, after: tuple[int, int, str], following: int, limits: Limits) -> bool:
        """Return whether a comparator after this number is rather that of the next one, which begins at `following`."""
        before = limits.before(text, following)
        return following < after[0] or (before is not None and before[0] < after[1])


@cache
def _pattern(language: str) -> re.Pattern[str]:
    """Return the pattern of everything that may begin a typed unit, dates first."""
    spaces = r"\u00a0\u2009\u202f'\u2019"
    group, point = (rf".{spaces}", ",") if language in COMMA_LANGUAGES else (rf",{spaces}", r"\.")
    other = r"|\.(?:\d{1,2}|\d{4,})(?!\d)" if language in COMMA_LANGUAGES else ""
    signs = "".join(CURRENCIES)
    spaced = rf"\d{{1,3}}(?: \d{{3}}){{1,{_GROUPS}}}(?!\d)" if language in COMMA_LANGUAGES else _SPACED
    number = (
        rf"(?<!\w[{signs}])(?P<sign>{_NO_RANGE}[{_MINUS}]|(?<!or )(?<!ou )(?<!oder )(?i:minus|(?<!au )moins) )?"
        rf"(?:(?P<money>[A-Z]{{0,3}}[{signs}]|{'|'.join(CODES)})\s?)?"
        rf"(?:(?P<whole>\d{{1,3}}(?:[{group}]\d{{3}}){{1,{_GROUPS}}}(?!\d)|{spaced}|\d+)(?P<rest>(?:{point}\d+{other})?)"
        rf"(?P<part>[{_VULGAR}]?)|(?P<dot>\.\d+)|(?P<vulgar>[{_VULGAR}]))"
        r"(?P<power>(?:[eE][+-]?\d{1,3}(?!\w))?)"
    )
    grouped = rf"(?!\d{{1,3}}(?:[{group}]\d{{3}}){{1,{_GROUPS}}}(?![\d.]))"
    version = rf"(?P<version>{grouped}\d+(?:\.\d+){{2,{_GROUPS}}}(?!\w))"
    known = number_words(language)
    words = f"(?P<words>{known.pattern if known else '(?!)'})"
    ordinals = f"(?P<ordinal>{_ORDINALS.get(language, '(?!)')})"
    dates, times = f"(?P<date>{date_pattern(language)})", f"(?P<time>{time_pattern(language)})"
    typed = (dates, times, ordinals, version, number, words)
    return re.compile(rf"(?<!\w)(?:{'|'.join(typed)})")


_ARTICLES = "der die das den dem des im am in zur zum vom als".split()  # noqa: SIM905 - a list of words
_ORDINALS = {
    "de": rf"(?:{'|'.join(f'(?<={word} )' for word in _ARTICLES)})\d{{1,2}}\.(?= [A-Z\u00c4\u00d6\u00dc][^\W\d_A-Z])|"
    r"\d{1,2}\.(?= Jahrhundert)",
    "en": r"\d{1,3}(?:st|nd|rd|th)(?!\w)",
    "fr": r"(?:[XVI]+(?=e )|\d{1,3})(?:ers?|\u00e8res?|es?|[e\u00e8]mes?|nde?)(?!\w)",
}


def _found(text: str, found: re.Match[str], language: str) -> _Number | None:
    """Return what the pattern found."""
    if found["ordinal"]:
        digits = _NO_DIGITS.sub("", found[0])
        return _Number(found.start(), found.end(), "limit", f"#{int(digits) if digits else _roman(found[0])}")
    if found["date"]:
        value = date_of(found)
        return _Number(found.start(), found.end(), "date", value) if value else None
    if found["time"]:
        end, value = time_of(text, found, language)
        return _Number(found.start(), end, "number", value)
    return _number(text, found, language)


_ROMAN = {"I": 1, "V": 5, "X": 10}


def _roman(written: str) -> int:
    """Return the value of a number in Roman numerals below 40; other letters count nothing."""
    values = [_ROMAN.get(letter, 0) for letter in written]
    return sum(-own if own < after else own for own, after in zip(values, [*values[1:], 0], strict=True))


def _number(text: str, found: re.Match[str], language: str) -> _Number | None:
    """Return a number with the scale and the unit of measurement after it; None if it is part of a word."""
    start, end, written = found.start(), found.end(), found[0]
    large = len((found["power"] or "").lstrip("eE+-")) > _EXPONENT or end - start > _DIGITS
    if _PART_OF_NAME.match(text, max(0, start - 2)):
        return None if text[end : end + 1].isalnum() else _Number(start, end, "name", written)
    if found["version"] or large:
        return _Number(start, end, "number", written)
    if written.isdecimal() and _DECADE.match(text, end):
        return _Number(start, end + 1, "number", f"{written}s")
    known = number_words(language)
    value = known.value(written) if known and found["words"] else _value(found)
    if value.denominator > 1 and found["words"] and (part := _OF_PART.match(text, end)) is not None:
        end = part.end()
    end, value, scaled = _scaled(text, end, value, language)
    measured = money_of(text, end, found["money"]) if found["money"] else measure_of(text, end, language)
    if measured is not None:
        return _quantity(text, start, value, *measured, language)
    if text[end : end + 1].isalnum() or text[end : end + 1] == "_":
        return None
    if known and written.lower() in known.articles and not scaled and not _is_counted(text, start, end, language):
        return _Number(start, end, "number", str(value), value, article=True)
    if not scaled and re.fullmatch(r"1[5-9]\d\d|20\d\d", written):
        return _Number(start, end, "date", written, value)
    if not scaled and re.fullmatch(r"0\d+" if not found["rest"] else r"[1-9]\d*[.,]\d*0", written):
        return _Number(start, end, "number", written.replace(",", "."))  # 007 is not 7
    return _plain_number(start, end, value)


def _quantity(
    text: str, start: int, value: Fraction, end: int, convert: Conversion, dimension: str, language: str
) -> _Number:
    """Return a quantity whose unit ends at `end`; a time of the day if it is one, as in `trois heures du matin`."""
    end, value = _with_part(text, end, value, language)
    if dimension == "s" and convert(Fraction(1)) == 3600 and (at := hours_of_day(text, start, end, value)):
        return _Number(start, at[0], "number", at[1])
    return _Number(start, end, "quantity", f"{convert(value)} {dimension}", value, convert, dimension)


def _plain_number(start: int, end: int, value: Fraction) -> _Number:
    """Return a number without a unit; a part of 1 is a percentage."""
    if 0 < value < 1:
        return _Number(start, end, "quantity", f"{100 * value} %", value)
    return _Number(start, end, "number", str(value), value)


def _value(found: re.Match[str]) -> Fraction:
    """Return the value of a number that is written in digits."""
    if found["vulgar"]:
        return _numeric(found["vulgar"]) * (-1 if found["sign"] else 1)
    whole, rest = (_NO_DIGITS.sub("", found[name] or "") for name in ("whole", "rest" if found["whole"] else "dot"))
    value = Fraction(int(whole + rest), 10 ** len(rest))
    if found["part"]:
        value += _numeric(found["part"])
    if found["power"]:
        value *= Fraction(10) ** int(found["power"][1:])
    return -value if found["sign"] else value


def _numeric(sign: str) -> Fraction:
    """Return the value of a sign such as `\u00bd`."""
    return Fraction(numeric(sign)).limit_denominator(10)


_VULGAR = "\u00bc-\u00be\u2150-\u215e"
_DENOMINATOR = 20  # of a fraction; 120/80 and 50/100 are pairs of numbers
_LARGEST_SHARE = 1000  # as in `one in 1,000`
_SMALLEST_SCALE = 20  # as in `1 to 25,000`
_SHARES = (" in ", " out of ", " von ", " sur ")
_PAIR = re.compile(
    rf"(?P<order> ?: ?|/| over | zu | pour )|[\-\u2013\u2011]|[- ]to[- ]| bis | \u00e0 |{'|'.join(_SHARES)}"
)
_OF_PART = re.compile(r"(?: (?:an?|of an?)(?= ))?")  # as in `half a million`
_RANGE = re.compile(r" ?[\-\u2013\u2011] ?| (?:to|and|or|bis|und|oder|\u00e0|a|et|ou) ")
_NO_DIGITS = re.compile(r"\D")
_YEARS = re.compile(r" ?[\-\u2013\u2011] ?| (?:to|bis|\u00e0) ")  # `in 2019 and 5 %` is no range
_PART_OF_NAME = re.compile(r"[^\W\d_][-\u2010\u2011]\d")  # as in `COVID-19`
_DECADE = re.compile(r"s(?!\w)")  # right after digits, it is rather a plural, as in `1990s`, than seconds
_RAISED = str.maketrans("\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u2212", "0123456789--")
_TEN = re.compile(
    r"(?P<times>[ \u00a0]?[\u00d7x*\u00b7\u22c5][ \u00a0]?10)?(?:(?:\^|\*\*)(?P<up>[-\u2212]?\d{1,2})|"
    r"(?P<raised>\u207b?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{1,2}))(?!\w)"
)


def _scaled(text: str, end: int, value: Fraction, language: str) -> tuple[int, Fraction, bool]:
    """Return end and value of a number with a power of ten or words such as `million` after it, and whether it has."""
    if (power := _TEN.match(text, end)) is not None and (power["times"] or value == 10):
        exponent = int((power["up"] or power["raised"]).translate(_RAISED))
        return power.end(), value * Fraction(10) ** (exponent if power["times"] else exponent - 1), True
    known, scale = number_words(language), 1
    for _ in range(_SCALES if known else 0):
        end, value = _with_part(text, end, value, language, scale)
        if known and (found := known.scale.match(text, end)) is not None:
            scale = known.scales[found["scale"]]
            end, value = found.end(), value * scale
    return end, value, scale > 1


def _with_part(text: str, end: int, value: Fraction, language: str, scale: int = 1) -> tuple[int, Fraction]:
    """Return end and value of a number, or of a number with its unit, with words such as `and a half` after it."""
    known = number_words(language)
    found = known.added.match(text, end) if known else None
    if known is None or found is None:
        return end, value
    return found.end(), value + Fraction(scale, known.parts_added[found["part"]])


def _is_counted(text: str, start: int, end: int, language: str) -> bool:
    """Return whether `one` counts the noun after it, and is no pronoun."""
    return language == "en" and not _THE_ONE.search(text, max(0, start - 10), start) and bool(_COUNTED.match(text, end))


_THE_ONE = re.compile(
    r"(?i:\b(?:no|the|this|that|each|every|any|some|which|another|only|last|next|or|than)|[-'\u2019]) ?$"
)
_COUNTED = re.compile(
    r" (?!(?:of|or|and|who|that|which|another|day|way|side|hand|thing|time|can|could|should|must|may|might|will|would|"
    r"has|have|had|is|was|are|were|to|in|on|at|by|for|from|with|as|more|if|when|does|did)\b)[a-z]{3,}"
)


def _is_label(text: str, start: int, language: str) -> bool:
    """Return whether the number at `start` follows a label, as in `group 1`."""
    before = _WORD_BEFORE.search(text, max(0, start - _LONGEST_LABEL), start)
    return before is not None and before[1].lower() in limits_of(language).lists[LABEL]


_LONGEST_LABEL = 20  # characters
_WORD_BEFORE = re.compile(r"(?<!\w)([^\W\d_]+)\.? $")
