"""The documents of a collection that pass a filter."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.filters.comparable import Comparable
from moverank.indexer.filters.where import Alternatives, alternatives, value_test
from moverank.indexer.store import FieldTest, Reader
from moverank.indexer.values.documents import filter_value
from moverank.indexer.values.search_options import OtherGroups, TheseKeys, Where
from moverank.rerank.runtime.deadline import check_time

_LONGEST_SHOWN, _FEW = 60, 10  # characters of a value in a message, and number of values
_MANY = 2000  # accepted values from which reading all values of a field takes less time than finding each


def matching_ids(reader: Reader, where: Where | None, elsewhere: Iterable[str] = ()) -> NDArray[np.int64]:
    """Return the ids (n,), increasing, of the documents that pass a filter; without a condition, all pass.

    For `elsewhere` and the errors see `field_tests`.
    """
    if isinstance(where, OtherGroups):
        return np.setdiff1d(matching_ids(reader, where.where, elsewhere), _in_groups(reader, where), assume_unique=True)
    ids: NDArray[np.int64] | None = None
    conditions: Where = [] if where is None or _is_empty(where) else where
    for test in field_tests(reader, conditions, elsewhere):
        found = _passing(reader, test)
        ids = found if ids is None else np.intersect1d(ids, found, assume_unique=True)
    return _all_ids(reader) if ids is None else ids


def field_tests(reader: Reader, where: Where, elsewhere: Iterable[str] = ()) -> tuple[FieldTest, ...]:
    """Return a filter as tests of stored values, all of which a document must pass.

    Each distinct value of a field is compared once, here: a database compares numbers and dates in other ways. Raises
    UsageError for an invalid condition, and for a field that no document has, which is probably misspelt. `elsewhere`
    are fields of documents in other shards.
    """
    if isinstance(where, TheseKeys):
        return (FieldTest((), (), ids=tuple(sorted(one.id for one in reader.known(sorted(where.keys)).values()))),)
    groups = alternatives(where)
    names = sorted({*reader.field_names(), *elsewhere}) if any(groups) else []
    values = cache(reader.distinct_values)
    return tuple(_test(reader, group, names, values) for group in groups)


def why_none_passes(reader: Reader, where: Where, elsewhere: Iterable[str] = ()) -> str:
    """Return why no document passes a filter: the condition that no document meets, with the nearest existing value."""
    if isinstance(where, OtherGroups):
        return "no document of another group passes the filter"
    if isinstance(where, TheseKeys):
        return "no document has one of the keys"
    groups = alternatives(where)
    if not all(groups):
        return "no document passes the filter: a field without any accepted value accepts nothing"
    tests = field_tests(reader, where, elsewhere)
    unmet = [group for group, test in zip(groups, tests, strict=True) if not len(_passing(reader, test))]
    if not unmet:
        shown = ", ".join(map(_shown, groups))
        together = f": each of these holds for some, but not together: {shown}" if len(groups) > 1 else ""
        return f"no document passes the filter{together}"
    reasons = [f"{_shown(group)}{_nearest(reader, group)}" for group in unmet[:_FEW]]
    return f"no document passes the filter: none meets {', and none '.join(reasons)}"


def _shown(group: Alternatives) -> str:
    """Return conditions as they can be typed; of many, only the first."""
    more = f" or {len(group) - _FEW:,} more" if len(group) > _FEW else ""
    return " or ".join(map(str, group[:_FEW])) + more


def _in_groups(reader: Reader, groups: OtherGroups) -> NDArray[np.int64]:
    """Return the ids of the documents whose groups a search has found before."""
    values: dict[int, tuple[str, ...]] = {}
    for id_, value in sorted(set(reader.values(groups.field))):
        values[id_] = (*values.get(id_, ()), value)
    alone = [state.id for state in reader.known(sorted(groups.keys)).values()]
    return np.array([*(id_ for id_, own in values.items() if own in groups.seen), *alone], np.int64)


def _nearest(reader: Reader, group: Alternatives) -> str:
    """Return in brackets existing values, if no document has the accepted ones: a similar value, a few, or the last."""
    condition = group[-1]
    values = [value for value in reader.distinct_values(condition.field) if len(value) <= _LONGEST_SHOWN]
    if condition.field == "key":
        values += reader.keys_beginning(condition.value[:1], _MANY)
    if condition.field == "source":
        known = reader.named_sources().items()
        files = ((source, file) for number, source in known for _, file in reader.files_of_source(number))
        values += dict.fromkeys(source.name_of(file) for source, file in islice(files, _MANY))
    if condition.operator in ("<", "<=", ">", ">="):
        ordered = Comparable(condition.value).ordered(values)
        smallest = condition.operator in ("<", "<=")
        return f" (the {'smallest' if smallest else 'largest'}: {ordered[0 if smallest else -1]})" if ordered else ""
    if condition.operator not in ("=", "^="):
        return ""
    from difflib import get_close_matches

    similar = get_close_matches(condition.value, values[:_MANY], 1)
    if similar:
        return f" (the nearest: {similar[0]})"
    return f" (there are: {', '.join(sorted(values))})" if 0 < len(values) <= _FEW else ""


def _is_empty(where: Where) -> bool:
    """Return whether there is no condition; invalid types are reported later."""
    return isinstance(where, str | Sequence | Mapping) and not where


def _test(
    reader: Reader, group: Alternatives, names: Sequence[str], values_of: Callable[[str], list[str]]
) -> FieldTest:
    """Return the test that one of the conditions, all on the same field, holds; `names` are the names of all fields."""
    check_time()
    if not group:
        return FieldTest(())
    field = group[0].field
    ids = tuple(_OF_ALL[field](reader, group)) if field in _OF_ALL else ()
    below = [name for name in names if name.startswith(f"{field}.")]
    if field not in (*names, *_OF_ALL) and not (below and group[0].tests_presence):
        own = [name for name in below or names if name not in _OF_ALL]
        known = f"the fields are {', '.join(own)}" if own else "no document has any field"
        raise UsageError(f"no document has a field {field!r}: {known}{'' if below else '; also key and source'}")
    if group[0].tests_presence:
        return FieldTest((field, *below), None, group[0].negates, ids)
    accepts, values = value_test(group), values_of(field)
    chosen = tuple(value for value in values if accepts(value))
    return FieldTest((field,), None if len(chosen) == len(values) else chosen, group[0].negates, ids)


def _with_key(reader: Reader, group: Alternatives) -> Iterable[int]:
    """Return the ids of documents by conditions on the key."""
    found = {state.id for state in reader.known(sorted(_equal_keys(group))).values()}
    for condition in group:
        if condition.operator == "^=":
            found.update(*map(reader.ids_beginning, {condition.value, condition.value.lstrip()}))
        elif condition.tests_presence:
            found.update(reader.ids())
        elif condition.operator not in ("=", "!="):
            accepts = value_test([condition])
            found.update(id_ for id_, key in reader.all_keys() if accepts(key))
    return sorted(found)


def _from_source(reader: Reader, group: Alternatives) -> Iterable[int]:
    """Return the ids of documents by conditions on the file, or the source, that they were read from.

    A file and a source have two names: the canonical path, and the path as it was given to `index`.
    """
    every, meets = any(one.tests_presence for one in group), value_test(group)

    @cache
    def accepts(name: str) -> bool:
        return every or meets(filter_value(name))

    for number, source in reader.named_sources().items():
        whole = accepts(source.place) or accepts(source.name)
        for id_, file in reader.files_of_source(number):
            if whole or accepts(source.path_of(file)) or accepts(source.name_of(file)):
                yield id_


_OF_ALL = {"key": _with_key, "source": _from_source}
"""Fields of documents that are not stored as fields; metadata of such a name count, too."""


def _passing(reader: Reader, test: FieldTest) -> NDArray[np.int64]:
    """Return the ids (n,), increasing, of the documents that pass a test."""
    found = [id_ for name in test.names for id_ in _having(reader, name, test.values)]
    ids = np.unique(np.array([*found, *test.ids], np.int64))
    return np.setdiff1d(_all_ids(reader), ids, assume_unique=True) if test.negated else ids


def _having(reader: Reader, name: str, values: tuple[str, ...] | None) -> list[int]:
    """Return the ids of documents whose field has any of the values, or any at all."""
    if values is None:
        return reader.ids_with_field(name)
    if len(values) < _MANY:
        return reader.ids_with_value(name, values)
    wanted = set(values)
    return [id_ for id_, value in reader.values(name) if value in wanted]


def _all_ids(reader: Reader) -> NDArray[np.int64]:
    return np.fromiter(reader.ids(), np.int64)


class FilteredDocument(NamedTuple):
    """A document as filters see it: its key, and its values by field; the field `source` has the names of its file."""

    key: str
    values: Mapping[str, Sequence[str]]


def filtered_documents(reader: Reader, ids: Iterable[int]) -> dict[int, FilteredDocument]:
    """Return the documents `ids`, all of which exist, by id."""
    keys = reader.keys(list(ids))
    values: dict[int, dict[str, list[str]]] = {id_: {"key": []} for id_ in keys}
    for id_, name, value in reader.fields_of([*keys]):
        values[id_].setdefault(name, []).append(value)
    sources = reader.named_sources() if keys else {}
    for state in reader.known([*keys.values()]).values():
        if state.source is not None:
            source, file = sources[state.source], state.file or ""
            names = (source.place, source.name, source.path_of(file), source.name_of(file))
            values[state.id].setdefault("source", []).extend(map(filter_value, names))
    return {id_: FilteredDocument(key, values[id_]) for id_, key in keys.items()}


def document_test(where: Where) -> Callable[[FilteredDocument], bool]:
    """Return the function that says whether one document passes a filter, as `matching_ids` finds all of them."""
    check_time()
    tests = list(map(_group_test, alternatives(where)))
    return lambda one: all(test(one) for test in tests)


def _group_test(group: Alternatives) -> Callable[[FilteredDocument], bool]:
    if not group:
        return lambda _: False
    field, negates, accepts = group[0].field, group[0].negates, value_test(group)
    if group[0].tests_presence:
        return lambda one: any(f"{name}.".startswith(f"{field}.") for name in one.values) != negates
    equal, others = _equal_keys(group), value_test([one for one in group if one.operator not in ("=", "!=")])

    def passes(one: FilteredDocument) -> bool:
        by_key = field == "key" and (one.key in equal or others(one.key))
        return (by_key or any(map(accepts, one.values.get(field, ())))) != negates

    return passes


def _equal_keys(group: Alternatives) -> set[str]:
    """Return the keys that conditions with = and != name: they are compared as texts, since 7 and 7.0 are two keys."""
    return {text for one in group if one.operator in ("=", "!=") for text in (one.value, one.value.strip())}
