"""The documents of a collection that pass a filter."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.filters.where import Alternatives, alternatives
from moverank.indexer.options import Where
from moverank.indexer.store import FieldTest, Reader

_MANY = 2000  # accepted values from which reading all values of a field takes less time than finding each


def matching_ids(reader: Reader, where: Where | None, elsewhere: Iterable[str] = ()) -> NDArray[np.int64]:
    """Return the ids (n,), increasing, of the documents that pass a filter; None or no condition: of all documents.

    For `elsewhere` and the errors see `field_tests`.
    """
    ids: NDArray[np.int64] | None = None
    for test in field_tests(reader, where, elsewhere) if where else ():
        found = _passing(reader, test)
        ids = found if ids is None else np.intersect1d(ids, found, assume_unique=True)
    return _all_ids(reader) if ids is None else ids


def field_tests(reader: Reader, where: Where, elsewhere: Iterable[str] = ()) -> tuple[FieldTest, ...]:
    """Return a filter as tests of stored values, all of which a document must pass.

    Each distinct value of a field is compared once, here: a database compares numbers and dates in other ways. Raises
    UsageError for an invalid condition, and for a field that no document has, since that is rather a misspelt name.
    Documents in other shards have the fields `elsewhere`.
    """
    return tuple(_test(reader, group, elsewhere) for group in alternatives(where))


def _test(reader: Reader, group: Alternatives, elsewhere: Iterable[str]) -> FieldTest:
    """Return the test that one of some conditions on the same field holds."""
    if not group:
        return FieldTest(())
    names = sorted({*reader.field_names(), *elsewhere})
    field = group[0].field
    below = [name for name in names if name.startswith(f"{field}.")]
    if field not in names and not (below and group[0].tests_presence):
        known = f"the fields are {', '.join(below or names)}" if names else "no document has any field"
        raise UsageError(f"no document has a field {field!r}: {known}")
    if group[0].tests_presence:
        return FieldTest((field, *below), None, group[0].negates)
    tests = [condition.accepted() for condition in group]
    values = reader.distinct_values(field)
    accepted = tuple(value for value in values if any(test(value) for test in tests))
    return FieldTest((field,), None if len(accepted) == len(values) else accepted, group[0].negates)


def _passing(reader: Reader, test: FieldTest) -> NDArray[np.int64]:
    """Return the ids (n,), increasing, of the documents that pass a test."""
    found = [id_ for name in test.names for id_ in _having(reader, name, test.values)]
    ids = np.unique(np.array(found, np.int64))
    return np.setdiff1d(_all_ids(reader), ids, assume_unique=True) if test.negated else ids


def _having(reader: Reader, name: str, values: tuple[str, ...] | None) -> list[int]:
    """Return the ids of documents whose field has any of the values, or any at all."""
    if values is None:
        return reader.having(name)
    if len(values) < _MANY:
        return reader.matching(name, values)
    wanted = set(values)
    return [id_ for id_, value in reader.values(name) if value in wanted]


def _all_ids(reader: Reader) -> NDArray[np.int64]:
    return np.fromiter(reader.ids(), np.int64)
