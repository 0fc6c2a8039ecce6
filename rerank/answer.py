"""Answers: dataclasses whose fields declare, once, the keys of a JSON object.

The fields, or the fields and properties in `KEYS`, are the keys, in order. The server's OpenAPI document is made of the
same declarations: docstrings of fields describe the keys.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from math import isfinite, nan
from operator import attrgetter
from types import NoneType
from typing import Annotated, Any, ClassVar, NamedTuple, Self, get_args, get_origin


@dataclass(frozen=True, slots=True)
class Key:
    """How a field is a key, if not by its own name."""

    name: str = ""
    """The key; empty: the name of the field."""
    optional: bool = False
    """The key is left out if the field has its default."""
    unless: str = ""
    """With `optional`: the key is not left out if this other field has another value than its default."""
    flat: bool = False
    """The keys of the field, an answer and the first of its answer, stand in its place."""


OPTIONAL, FLAT = Key(optional=True), Key(flat=True)

Number = Annotated[float, "null if it is not finite"]
"""A number that is nan or infinite in Python where JSON has null."""

Numbers = tuple[tuple[str, Number], ...]
"""Numbers by name, in order: an object in JSON."""


class Declared(NamedTuple):
    """A key of an answer: its attribute, the type and the default of that, and the attribute that keeps it."""

    attribute: str
    type: Any
    key: Key
    default: Any
    unless: Any
    """The default of `Key.unless`."""
    is_field: bool

    @property
    def name(self) -> str:
        """Return the key; empty if the keys of the attribute stand in its place."""
        return "" if self.key.flat else self.key.name or self.attribute


def _declared(kind: Any) -> tuple[Declared, ...]:
    own = {field.name: field for field in fields(kind)}
    found = []
    for name in kind.KEYS or own:
        field = own.get(name)
        hint = getattr(kind, name).fget.__annotations__["return"] if field is None else field.type
        key = next((one for one in get_args(hint)[1:] if isinstance(one, Key)), Key())
        unless = own[key.unless].default if key.unless else None
        found.append(Declared(name, hint, key, field and _default(field), unless, field is not None))
    return tuple(found)


declared: Callable[[Any], tuple[Declared, ...]] = cache(_declared)
"""Returns the keys of an answer, a class, in order."""


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


class Answer:
    """A dataclass that is a JSON object."""

    __slots__ = ()

    KEYS: ClassVar[tuple[str, ...]] = ()
    """The fields and properties that are keys; empty: all fields."""
    OBJECT: ClassVar[str] = ""
    """Its name in the server's OpenAPI document; empty: that of the class."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object; a `Number` that is nan or infinite is None, as JSON has no such numbers."""
        names, get, others = _writers(type(self))
        values = dict(zip(names, get(self), strict=True))
        for name, default, unless, usual, write in others:
            value = values[name]
            if (value is default or value == default) and (unless is None or getattr(self, unless) == usual):
                del values[name]
            elif write is not None and value is not None:
                values[name] = write(value)
        flat: Answer | None = values.pop("", None)
        return values if flat is None else flat.to_dict() | values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the answer whose `to_dict` is `values`; KeyError, TypeError or ValueError for anything else.

        Other keys do not matter.
        """
        found = dict[str, Any]()
        for attribute, name, default, read in _readers(cls):
            if not name:
                found[attribute] = read(values)
            elif name in values:
                found[attribute] = read(values[name])
            elif default is MISSING:
                raise KeyError(name)
        return cls(**found)


def bare(hint: Any) -> Any:
    """Return a type without its annotations."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def members(hint: Any) -> Iterator[Any]:
    """Yield the types of a union except None, or the type itself if it is no union."""
    hint = bare(hint)
    parts = get_args(hint)
    yield from (part for part in parts if part is not NoneType) if NoneType in parts else [hint]


def is_object(hint: Any) -> bool:
    """Return whether a type is a tuple of names and values, an object in JSON."""
    item = get_args(hint)[0] if get_origin(hint) is tuple else None
    return get_origin(item) is tuple and get_args(item)[0] is str and get_args(item)[1] is not ...


def _writer(hint: Any) -> Callable[[Any], Any] | None:
    """Return the function that makes a value of a type JSON; None: it is JSON."""
    kind = next(members(hint))
    inner, origin = get_args(kind), get_origin(kind)
    if hint == Number:
        return _finite
    if origin is Iterable:
        return lambda value: [float(f"{one:.9g}") for one in value]  # nine digits distinguish all float32 numbers
    if isinstance(kind, type) and issubclass(kind, Answer):
        return kind.to_dict
    if is_object(kind):
        return _object_writer(_writer(get_args(inner[0])[1]))
    if origin is tuple:
        write = _writer(inner[0])
        return list if write is None else lambda value: [write(one) for one in value]
    return _object_writer(_writer(inner[1])) if origin in (dict, Mapping) else None


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _object_writer(write: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    return dict if write is None else lambda value: {name: write(one) for name, one in dict(value).items()}


def _reader(hint: Any) -> Callable[[Any], Any]:
    """Return the function that reads a JSON value as a type; it raises TypeError for a value of another type."""
    kinds, missing = list(members(hint)), nan if hint == Number else None
    kind: Any = kinds[0] if len(kinds) == 1 else object
    inner, is_answer = get_args(kind), isinstance(kind, type) and issubclass(kind, Answer)
    expected: Any = dict if is_answer or is_object(kind) else _KINDS.get(get_origin(kind) or kind, object)
    if is_answer:
        convert: Any = kind.from_dict
    elif is_object(kind):
        number = _reader(get_args(inner[0])[1])
        convert = lambda value: tuple((name, number(one)) for name, one in value.items())  # noqa: E731
    elif expected is list:
        item = _reader(inner[0])
        convert = lambda value: tuple([item(one) for one in value])  # noqa: E731
    elif expected is dict:
        item = _reader(inner[1])
        convert = lambda value: {name: item(one) for name, one in value.items()}  # noqa: E731
    else:
        convert = float if kind is float else None

    def read(value: Any) -> Any:
        if value is None:
            return missing
        if not isinstance(value, expected):
            raise TypeError(f"{value!r} is not of the type {kind}")
        return value if convert is None else convert(value)

    return read


_KINDS = {bool: bool, int: int, float: (int, float), str: str, tuple: list, Iterable: list, Mapping: dict, dict: dict}
"""The types of JSON values, by the types that they are read as."""


# Made once for each type: a list of hits has thousands of flows.
_Written = tuple[tuple[str, ...], Any, Sequence[tuple[str, Any, str | None, Any, Any]]]


def _written(kind: Any) -> _Written:
    """Return the keys, the function that gets all values, and how some values are omitted or converted to JSON."""
    keys, others = declared(kind), list[tuple[str, Any, str | None, Any, Any]]()
    for one in keys:
        write, key = _writer(one.type), one.key
        if one.name and (key.optional or write):
            default = one.default if key.optional else _NEVER
            others.append((one.name, default, key.unless or None, one.unless, write))
    get = attrgetter(*(one.attribute for one in keys))
    return tuple(one.name for one in keys), get if len(keys) > 1 else lambda answer: (get(answer),), others


_NEVER = object()  # no value of a key: it is not left out
_writers: Callable[[Any], tuple[tuple[str, ...], Any, Sequence[tuple[str, Any, str | None, Any, Any]]]] = cache(
    _written
)
_readers: Callable[[Any], Sequence[tuple[str, str, Any, Any]]] = cache(
    lambda kind: tuple(
        (one.attribute, one.name, one.default, _reader(one.type)) for one in declared(kind) if one.is_field
    )
)
