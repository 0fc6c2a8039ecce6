"""Parses filters: conditions on fields, as in `year>=2019`, or a mapping, grouped into alternatives."""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, cast

from moverank.indexer.errors import UsageError
from moverank.indexer.filters.comparable import Comparable, Period
from moverank.indexer.values.documents import LONGEST_VALUE, filter_value
from moverank.indexer.values.search_options import Where

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "^=", "present", "absent"]

FORMS = "FIELD=V, FIELD!=V, FIELD<V, FIELD<=V, FIELD>V, FIELD>=V, FIELD^=PREFIX, FIELD (present) or !FIELD (absent)"
"""The forms of a condition, for messages."""

_OPERATOR = r"!=|<=|>=|\^=|=|<|>"
_COMPARISON = re.compile(rf"(.+?)({_OPERATOR})(.*)", re.DOTALL)
_NO_FIELD = re.compile(rf"\s*(?:{_OPERATOR})")
_ORDERS = {"<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (1, 0)}
_BOOLEANS = ("true", "false")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a field.

    `field` is a name as in the metadata, dotted for nested objects. As with Kubernetes' selectors, `!=` and "absent"
    negate "=" and "present": they hold for all other documents, also for documents without the field.
    """

    field: str
    operator: Operator
    value: str = ""

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """Return the condition that a text states; UsageError, which lists the `FORMS`, for other texts."""
        found = None if _NO_FIELD.match(text) else _COMPARISON.fullmatch(text)
        if found:
            field, operator, value = found[1].strip(), found[2], found[3]
        else:
            absent = text.lstrip().startswith("!")
            field, operator, value = text.strip().removeprefix("!").strip(), "absent" if absent else "present", ""
        if not field or field.startswith("!") or _NO_FIELD.match(text):
            raise UsageError(f"the filter {text!r} is not a condition: write {FORMS}")
        condition = cls(field, cast("Operator", operator), value)
        if operator == "^=" and len(value.encode(errors="surrogatepass")) > LONGEST_VALUE:
            raise UsageError(
                f"the filter {text[:40]!r}...: a prefix has at most {LONGEST_VALUE:,} bytes; = takes any value"
            )
        if operator in _ORDERS and not Comparable(value).has_order:
            raise UsageError(
                f"the filter {text!r}: {operator} compares numbers and dates (3, 2021-05, 2021-05-03, "
                f"2021-05-03T10:00Z), and {value.strip()!r} is neither"
            )
        return condition

    def __str__(self) -> str:
        """Return the condition as it can be typed; a long value is cut."""
        if self.tests_presence:
            return self.field if self.operator == "present" else f"!{self.field}"
        return f"{self.field}{self.operator}{self.value if len(self.value) <= 80 else self.value[:80] + '...'}"

    @property
    def negates(self) -> bool:
        """Return whether the condition holds for all documents without an accepted value."""
        return self.operator in ("!=", "absent")

    @property
    def tests_presence(self) -> bool:
        """Return whether any value is accepted, also the value of a field nested in this one."""
        return self.operator in ("present", "absent")


def value_test(conditions: Iterable[Condition]) -> Callable[[str], bool]:
    """Return a function that tests whether a stored value meets any of the conditions; != accepts the same values as =.

    Equal are: the same text; equal numbers, as 3 and 3.0; a date within the condition's date; true and True. Blanks
    beside the operator do not matter, so the text is compared with and without them. A value is looked up: the time
    does not grow with the number of conditions, except for conditions with <, <=, > and >=.
    """
    equal, prefixes, tests = _Equal(), set[str](), list[Callable[[str], bool]]()
    for condition in conditions:
        if condition.operator == "^=":
            prefixes |= {condition.value, condition.value.lstrip()}
        elif condition.operator in _ORDERS:
            tests.append(_ordered(Comparable(condition.value), _ORDERS[condition.operator]))
        else:
            equal.add(condition.value)
    lengths = sorted({len(prefix) for prefix in prefixes})
    ends = equal.latest_ends()
    return lambda text: (
        any(text[:length] in prefixes for length in lengths)
        or equal.accepts(text, ends)
        or any(test(text) for test in tests)
    )


def _ordered(comparable: Comparable, orders: tuple[int, ...]) -> Callable[[str], bool]:
    return lambda text: comparable.order_of(text) in orders


_Ends = tuple[list[int], list[int]]
"""Starts of periods, increasing, and the latest end of all periods up to each."""


class _Equal:
    """Values that are accepted by =."""

    def __init__(self) -> None:
        self._texts, self._folded, self._numbers = set[str](), set[str](), set[int | float]()
        self._periods: list[tuple[Period, bool]] = []  # periods, and whether the value is also a number

    def add(self, value: str) -> None:
        """Accept one more value."""
        self._texts |= {filter_value(value), filter_value(value.strip())}
        if value.strip().casefold() in _BOOLEANS:
            self._folded.add(value.strip().casefold())
            return
        comparable = Comparable(value)
        if comparable.number is not None:
            self._numbers.add(comparable.number)
        if comparable.period is not None:
            self._periods.append((comparable.period, comparable.number is not None))

    def latest_ends(self) -> tuple[_Ends, _Ends]:
        """Return all periods, and the periods of values that are no numbers: two numbers are not compared as dates."""
        every = sorted(period for period, _ in self._periods)
        dates = sorted(period for period, is_number in self._periods if not is_number)
        first, second = (
            ([one.start for one in some], list(accumulate((one.end for one in some), max))) for some in (every, dates)
        )
        return first, second

    def accepts(self, text: str, ends: tuple[_Ends, _Ends]) -> bool:
        """Return whether a value equals an accepted one; `ends` are the result of `latest_ends`."""
        if text in self._texts or (self._folded and text.strip().casefold() in self._folded):
            return True
        if not (self._numbers or self._periods):
            return False
        found = Comparable(text)
        if found.number is not None and found.number in self._numbers:
            return True
        if found.period is None:
            return False
        starts, latest = ends[found.number is not None]
        place = bisect_right(starts, found.period.start)
        return place > 0 and latest[place - 1] > found.period.start


Alternatives = tuple[Condition, ...]
"""Conditions on one field of which at least one must hold."""

MOST_CONDITIONS, MOST_VALUES, MOST_TEXT = 1000, 200_000, 20_000_000
"""Limits of a filter: number of conditions that must all hold, number of all values, and their characters."""


def alternatives(where: Where) -> tuple[Alternatives, ...]:
    """Return the conditions of a filter in groups that must all hold; UsageError for anything but a filter.

    Conditions with = and ^= on the same field are alternatives, since a value cannot equal two; all others are groups
    by themselves. A mapping has the accepted values of each field; a field without values accepts nothing.
    """
    if isinstance(where, Mapping):
        _check_number(
            sum(len(some) for some in where.values() if isinstance(some, Sized) and not isinstance(some, str))
        )
        return checked_size(tuple(tuple(_equal(field, values)) for field, values in where.items()))
    texts = [where] if isinstance(where, str) else where
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"where must be a list of conditions, or a mapping of fields to values: write {FORMS}")
    _check_number(len(texts))
    groups: dict[tuple[str, int], list[Condition]] = {}
    for number, text in enumerate(texts, start=1):
        condition = Condition.parse(text)
        group = (condition.field, 0 if condition.operator in ("=", "^=") else number)
        groups.setdefault(group, []).append(condition)
    return checked_size(tuple(map(tuple, groups.values())))


def checked_size(
    groups: tuple[Alternatives, ...], conditions: int = MOST_CONDITIONS, values: int = MOST_VALUES
) -> tuple[Alternatives, ...]:
    """Return the groups; UsageError for more groups than `conditions`, more values than `values`, or too much text."""
    if len(groups) > conditions:
        raise UsageError(f"a filter has at most {conditions:,} conditions which must all hold, not {len(groups):,}")
    _check_number(sum(map(len, groups)), values)
    if (length := sum(len(one.value) for group in groups for one in group)) > MOST_TEXT:
        raise UsageError(f"the values of a filter have at most {MOST_TEXT:,} characters together: these {length:,}")
    return groups


def _check_number(number: int, most: int = MOST_VALUES) -> None:
    if number > most:
        raise UsageError(f"a filter has at most {most:,} values: this one has {number:,}: use several filters")


def _equal(field: str, values: object) -> Iterable[Condition]:
    several = isinstance(values, Iterable) and not isinstance(values, str)
    for value in values if several else [values]:  # type: ignore[attr-defined]
        if not isinstance(value, str | int | float):
            raise UsageError(
                f"where[{field!r}] must be a text, a number or a Boolean, or a list of these: not {value!r}"
            )
        yield Condition(field, "=", value if isinstance(value, str) else json.dumps(value))
