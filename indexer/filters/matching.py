"""The documents of a collection that pass a filter."""

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.filters.where import Alternatives, alternatives
from moverank.indexer.options import Where
from moverank.indexer.store import Reader

_MANY = 2000  # accepted values from which reading all values of a field takes less time than finding each


def matching_ids(reader: Reader, where: Where | None) -> NDArray[np.int64]:
    """Return the ids (n,), increasing, of the documents that pass a filter; None or no condition: of all documents.

    Each distinct value of a field is compared once. Raises UsageError for an invalid condition, and for a field that no
    document has, since that is rather a misspelt name.
    """
    ids: NDArray[np.int64] | None = None
    for group in alternatives(where) if where else ():
        found = _matching(reader, group)
        ids = found if ids is None else np.intersect1d(ids, found, assume_unique=True)
    return _all_ids(reader) if ids is None else ids


def _matching(reader: Reader, group: Alternatives) -> NDArray[np.int64]:
    """Return the ids of documents for which one of some conditions on the same field holds."""
    if not group:
        return np.empty(0, np.int64)
    names = reader.field_names()
    field = group[0].field
    below = [name for name in names if name.startswith(f"{field}.")]
    if field not in names and not (below and group[0].tests_presence):
        known = f"the fields are {', '.join(below or names)}" if names else "no document has any field"
        raise UsageError(f"no document has a field {field!r}: {known}")
    if group[0].tests_presence:
        ids = np.unique(np.array([id_ for name in (field, *below) for id_ in reader.having(name)], np.int64))
    else:
        ids = _accepted(reader, field, group)
    return np.setdiff1d(_all_ids(reader), ids, assume_unique=True) if group[0].negates else ids


def _accepted(reader: Reader, field: str, group: Alternatives) -> NDArray[np.int64]:
    """Return the ids of documents of whose values of `field` one is accepted."""
    tests = [condition.accepted() for condition in group]
    values = reader.distinct_values(field)
    accepted = [value for value in values if any(test(value) for test in tests)]
    if len(accepted) == len(values):
        ids = reader.having(field)
    elif len(accepted) < _MANY:
        ids = reader.matching(field, accepted)
    else:
        wanted = set(accepted)
        ids = [id_ for id_, value in reader.values(field) if value in wanted]
    return np.unique(np.array(ids, np.int64))


def _all_ids(reader: Reader) -> NDArray[np.int64]:
    return np.sort(np.fromiter(reader.ids(), np.int64))
