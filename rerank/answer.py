"""Answers: dataclasses that are JSON objects, and say once, by their fields, what is in the object.

The fields, or the fields and properties in `KEYS`, are the keys, in order. The server's OpenAPI document is made of the
same declarations: docstrings of fields describe the keys.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from math import isfinite, nan
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
    """The keys of the field, an answer, stand in its place."""


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

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object; nan and infinity are None, as JSON has no such numbers."""
        values = dict[str, Any]()
        for one in declared(type(self)):
            value, key = getattr(self, one.attribute), one.key
            if key.optional and value == one.default and (not key.unless or getattr(self, key.unless) == one.unless):
                continue
            if key.flat:
                values |= value.to_dict()
            else:
                values[key.name or one.attribute] = _written(value, one.type)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the answer whose `to_dict` is `values`; KeyError, TypeError or ValueError for anything else.

        Other keys do not matter.
        """
        found = dict[str, Any]()
        for one in declared(cls):
            if not one.is_field:
                continue
            if one.key.flat:
                found[one.attribute] = _read(values, one.type)
            elif (key := one.key.name or one.attribute) in values:
                found[one.attribute] = _read(values[key], one.type)
            elif one.default is MISSING:
                raise KeyError(key)
        return cls(**found)


def bare(hint: Any) -> Any:
    """Return a type without what is annotated."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def members(hint: Any) -> Iterator[Any]:
    """Yield the types of a union but None; the type itself if it is none."""
    hint = bare(hint)
    parts = get_args(hint)
    yield from (part for part in parts if part is not NoneType) if NoneType in parts else [hint]


def is_object(hint: Any) -> bool:
    """Return whether a type is a tuple of names and values, an object in JSON."""
    item = get_args(hint)[0] if get_origin(hint) is tuple else None
    return get_origin(item) is tuple and get_args(item)[0] is str and get_args(item)[1] is not ...


def _written(value: Any, hint: Any) -> Any:
    """Return a value as JSON."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Answer):
        return value.to_dict()
    if isinstance(value, Mapping) or is_object(next(members(hint))):
        return {name: _written(one, None) for name, one in dict(value).items()}
    return [_written(one, None) for one in value]


def _read(value: Any, hint: Any) -> Any:
    """Return a JSON value as the type `hint`; TypeError for a value of another type."""
    kind = next(members(hint))
    if value is None:
        return nan if kind is float and Number in (hint, kind) else None
    inner, is_answer = get_args(kind), isinstance(kind, type) and issubclass(kind, Answer)
    expected: Any = dict if is_answer or is_object(kind) else _KINDS.get(get_origin(kind) or kind, object)
    if not isinstance(value, expected):
        raise TypeError(f"{value!r} is not of the type {kind}")
    if is_answer:
        return kind.from_dict(value)
    if is_object(kind):
        return tuple((name, _read(one, get_args(inner[0])[1])) for name, one in value.items())
    if expected is list:
        return tuple(_read(one, inner[0]) for one in value)
    if expected is dict:
        return {name: _read(one, inner[1]) for name, one in value.items()}
    return float(value) if kind is float else value


_KINDS = {bool: bool, int: int, float: int | float, str: str, tuple: list, Mapping: dict, dict: dict}
"""The types of JSON values, by the types that they are read as."""
