"""One condition on a field: its text, as in `year>=2019`, and the values that meet it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

from moverank.indexer.errors import UsageError
from moverank.indexer.filters.comparable import Comparable
from moverank.indexer.metadata import LONGEST_VALUE, filter_value

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
    negate "=" and "present": they hold for all other documents, also for those without the field.
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
            raise UsageError(f"--where {text!r} is not a condition: write {FORMS}")
        condition = cls(field, cast("Operator", operator), value)
        if operator == "^=" and len(value.encode(errors="surrogatepass")) > LONGEST_VALUE:
            raise UsageError(
                f"--where {text[:40]!r}...: a prefix has at most {LONGEST_VALUE:,} bytes; = takes any value"
            )
        if operator in _ORDERS and not Comparable(value).has_order:
            raise UsageError(
                f"--where {text!r}: {operator} compares numbers and dates (3, 2021-05, 2021-05-03, "
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
        """Return whether any value is accepted, also that of a field nested in this one."""
        return self.operator in ("present", "absent")

    def accepted(self) -> Callable[[str], bool]:
        """Return a function that says whether a value, as stored, is accepted; the operator != accepts as = does.

        Equal are: the same text; numbers of the same size, as 3 and 3.0; a date within the condition's; true and True.
        Blanks beside the operator do not matter, so the text is compared with and without them.
        """
        if self.operator == "^=":
            starts = (self.value, self.value.lstrip())
            return lambda text: text.startswith(starts)
        comparable = Comparable(self.value)
        if self.operator in _ORDERS:
            orders = _ORDERS[self.operator]
            return lambda text: comparable.order_of(text) in orders
        texts, folded = {filter_value(self.value), filter_value(self.value.strip())}, self.value.strip().casefold()
        if folded in _BOOLEANS:
            return lambda text: text in texts or text.strip().casefold() == folded
        if comparable.has_order:
            return lambda text: text in texts or comparable.order_of(text) == 0
        return texts.__contains__
