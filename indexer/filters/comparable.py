"""Texts that are numbers or ISO 8601 dates, and their comparison.

Filter fields are stored as text, since a CSV table has nothing else: this module decides whether a text is a number.
"""

import re
from calendar import isleap, monthrange
from collections.abc import Iterable
from datetime import date
from math import isfinite
from typing import NamedTuple

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
"""A number as JSON writes it. `007` and `+49` are no numbers: they are rather names or parts of addresses."""

_DATE = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?"
    r"(?: ?(Z|[+-][0-9]{2}(?::?[0-9]{2})?))?)?)?)?",
    re.IGNORECASE,
)
_MOST_DIGITS = 4000  # Python converts no more than 4300 digits
_SECOND = 1_000_000  # microseconds
_MINUTE, _DAY = 60 * _SECOND, 86_400 * _SECOND


class Period(NamedTuple):
    """The time that a date covers, `start` <= t < `end`, in microseconds of UTC: a year, a month, a day, a second."""

    start: int
    end: int


class Comparable:
    """A text as a number and as a date; a text of four digits is both, as the year 2021."""

    __slots__ = ("number", "period")

    def __init__(self, text: str) -> None:
        stripped = text.strip()
        self.number, self.period = number_of(stripped), period_of(stripped)

    @property
    def has_order(self) -> bool:
        """Return whether the text is a number or a date."""
        return self.number is not None or self.period is not None

    def order_of(self, text: str) -> int | None:
        """Return whether another text is smaller or before (-1), equal or within (0), or larger or after (1).

        A date of `text` counts from its start, so that noon is within its day. None: the texts do not compare.
        """
        stripped = text.strip()
        if self.number is not None and (number := number_of(stripped)) is not None:
            return (number > self.number) - (number < self.number)
        if self.period is not None and (period := period_of(stripped)) is not None:
            return (period.start >= self.period.end) - (period.start < self.period.start)
        return None

    def ordered(self, texts: Iterable[str]) -> list[str]:
        """Return the `texts` that compare with this one, in order: as numbers if all are numbers, else as dates."""
        found = [text for text in texts if self.order_of(text) is not None]
        sizes = sizes_of(found)
        return [found[i] for i in sorted(range(len(found)), key=lambda i: sizes[i] or 0)]


def sizes_of(texts: Iterable[str]) -> list[int | float | None]:
    """Return numbers by which `texts` (n,) can be ordered (n,): the numbers themselves if all are numbers, else dates.

    A date is the microsecond of its start. None: the text is no number or date, or a number beside dates.
    """
    found = list(map(Comparable, texts))
    if all(one.number is not None for one in found if one.has_order):
        return [one.number for one in found]
    return [one.period.start if one.period else None for one in found]


def number_of(text: str) -> int | float | None:
    """Return the number that a text states, None for other texts; Python compares integers and floats exactly."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    if found[1] is None and found[2] is None and len(text) <= _MOST_DIGITS:
        return int(text)
    number = float(text)
    return number if isfinite(number) else None


def period_of(text: str) -> Period | None:
    """Return the period that an ISO 8601 date covers, None for other texts; a time without a zone is UTC."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        first = date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None
    start = first.toordinal() * _DAY
    if hour is None:
        return Period(start, start + _days(first, month, day) * _DAY)
    offset = _offset(zone)
    if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59 or offset is None:
        return None
    start += (int(hour) * 60 + int(minute) - offset) * _MINUTE
    if second is None:
        return Period(start, start + _MINUTE)
    digits = (fraction or "")[:6]  # microseconds
    start += int(second) * _SECOND + int(digits.ljust(6, "0"))
    return Period(start, start + 10 ** (6 - len(digits)))


def _days(first: date, month: str | None, day: str | None) -> int:
    """Return the number of days of a year, a month or a day that begins with `first`."""
    if day is not None:
        return 1
    return monthrange(first.year, first.month)[1] if month is not None else 365 + isleap(first.year)


def _offset(zone: str | None) -> int | None:
    """Return the minutes that a zone is ahead of UTC; None if there is no such zone."""
    if zone is None or zone in "Zz":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        return None
    return (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)
