"""A least-recently-used cache, limited in bytes, of results that a view has computed for its searches."""

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from threading import Lock
from typing import Any, TypeVar

import numpy as np

MOST_BYTES = 256 * 2**20
"""The bytes of all values of a cache; files that are mapped into memory are not counted."""

_MOST_VALUES = 64  # measuring so many takes no time
_ALWAYS = 8  # values that are kept whatever their size: one ranking needs so many at a time
_SAMPLED = 1000  # items of a long list or mapping that are measured

_Value = TypeVar("_Value")


class SizedCache:
    """Values by key, for several threads; two threads may compute the same value at a time.

    Objects of the classes `others` belong to others: they are not measured.
    """

    def __init__(self, others: tuple[type, ...] = ()) -> None:
        self._others = others
        self._values, self._lock = OrderedDict[Hashable, Any](), Lock()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def get(self, key: Hashable, compute: Callable[[], _Value]) -> _Value:
        """Return the value of a key, computed if it is not there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                found: _Value = self._values[key]
                return found
        value = compute()
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            self._drop()
        return value

    def emptied(self) -> "SizedCache":
        """Return another cache, without values."""
        return SizedCache(self._others)

    def _drop(self) -> None:
        """Drop the least recently used values beyond the limits. All are measured again, since some grow."""
        seen = set[int]()
        sizes = {key: size_of(value, self._others, seen) for key, value in reversed(self._values.items())}
        total = sum(sizes.values())
        while len(self._values) > _ALWAYS and (total > MOST_BYTES or len(self._values) > _MOST_VALUES):
            key, _ = self._values.popitem(last=False)
            total -= sizes[key]


def size_of(value: object, others: tuple[type, ...] = (), seen: set[int] | None = None) -> int:
    """Estimate the bytes of an object and of all objects that it refers to, except objects with ids in `seen`.

    Arrays of mapped files, functions, classes, and objects of the classes `others` count nothing.
    """
    known = set[int]() if seen is None else seen
    total, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in known or isinstance(one, (*others, type)) or callable(one):
            continue
        known.add(id(one))
        if isinstance(one, np.ndarray):
            total += _array_bytes(one, known)
        elif isinstance(one, Mapping | list | tuple | set | frozenset):
            children, factor = _some(one)
            total += sys.getsizeof(one) + int(factor * sum(size_of(child, others, known) for child in children))
        else:
            total += sys.getsizeof(one)
            waiting += _attributes(one)
    return total


def _array_bytes(array: "np.ndarray[Any, Any]", known: set[int]) -> int:
    """Return the bytes of the memory that an array is a part of; 0 if that is `known`, or a mapped file's."""
    while isinstance(array.base, np.ndarray):
        array = array.base
        if id(array) in known:
            return 0
        known.add(id(array))
    return array.nbytes if array.base is None else 0


def _some(several: Any) -> tuple[list[object], float]:
    """Return some items (keys and values of a mapping), and the ratio of all to them."""
    items = several.items() if isinstance(several, Mapping) else several
    some = [item for item, _ in zip(items, range(_SAMPLED), strict=False)]
    children = [part for item in some for part in item] if isinstance(several, Mapping) else some
    return children, max(1.0, len(several) / _SAMPLED)


def _attributes(one: object) -> Iterator[object]:
    """Return the values of the attributes of an object, with slots or without."""
    yield from vars(one).values() if hasattr(one, "__dict__") else ()
    for kind in type(one).__mro__:
        slots = getattr(kind, "__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(one, name):
                yield getattr(one, name)
