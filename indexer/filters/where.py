"""The conditions of a filter: given as texts or as a mapping, grouped into alternatives."""

import json
from collections.abc import Iterable, Mapping, Sequence

from moverank.indexer.errors import UsageError
from moverank.indexer.filters.condition import FORMS, Condition
from moverank.indexer.options import Where

Alternatives = tuple[Condition, ...]
"""Conditions on one field of which at least one must hold."""


def alternatives(where: Where) -> tuple[Alternatives, ...]:
    """Return the conditions of a filter, all groups of which must hold; UsageError for anything else.

    Conditions with = and ^= on the same field are alternatives, since a value cannot equal two; all others are groups
    by themselves. A mapping has the accepted values of each field; a field without any accepts nothing.
    """
    if isinstance(where, Mapping):
        return tuple(tuple(_equal(field, values)) for field, values in where.items())
    texts = [where] if isinstance(where, str) else where
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"where must be a list of conditions, or a mapping of fields to values: write {FORMS}")
    groups: dict[tuple[str, int], Alternatives] = {}
    for number, text in enumerate(texts, start=1):
        condition = Condition.parse(text)
        group = (condition.field, 0 if condition.operator in ("=", "^=") else number)
        groups[group] = (*groups.get(group, ()), condition)
    return tuple(groups.values())


def _equal(field: str, values: object) -> Iterable[Condition]:
    several = isinstance(values, Iterable) and not isinstance(values, str)
    for value in values if several else [values]:  # type: ignore[attr-defined]
        if not isinstance(value, str | int | float):
            raise UsageError(
                f"where[{field!r}] must be a text, a number or a Boolean, or a list of these: not {value!r}"
            )
        yield Condition(field, "=", value if isinstance(value, str) else json.dumps(value))
