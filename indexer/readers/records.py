"""Makes documents of records with named fields, as in JSONL and CSV."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from moverank.indexer.documents import Document, Part, Value
from moverank.indexer.metadata import metadata_fault
from moverank.indexer.readers.bad_record import BadRecord

Record = Mapping[str, object]
Build = Callable[[Record, str], Document]
"""A function that makes a document of a record; the string is the key of a record without one."""

KEY_FIELDS = ("id", "key", "_id", "docid", "doc_id", "docno")
TITLE_FIELDS = ("title", "subject", "headline")
TEXT_FIELDS = ("text", "body", "content", "contents", "abstract")
LABEL_FIELDS = ("label", "class", "category")
VECTOR_FIELD = "vector"

_SHAPES = 64  # different lists of field names whose choice is remembered


class Fields(NamedTuple):
    """The names of the fields to use; None: the first default name that the record has.

    The default names are `KEY_FIELDS`, `TITLE_FIELDS`, `TEXT_FIELDS` and `LABEL_FIELDS`. A field that is named here
    must be in every record; a title, a text or a label may be empty or null. `comments` is only for threads.
    """

    key: str | None = None
    title: str | None = None
    text: str | None = None
    label: str | None = None
    comments: str | None = None


def document_of(record: Record, default_key: str, fields: Fields, *, any_case: bool = False) -> Document:
    """Make a document of `record`; its other fields, except the posts of a thread, become metadata.

    The field `vector` is its vector; a text in it, as in a table, is metadata if `any_case`.

    `default_key` is the key of a record without one; `fields` names the fields to use. `any_case`: the case of a field
    name does not matter where no field has this very name. Raises `BadRecord` if a field is missing or has the wrong
    type.
    """
    names = tuple(record)
    try:
        chosen = _chosen_fields(names, fields, any_case)
    except BadRecord as bad:
        bad.key = key_of(record, _key_field(names, fields.key, any_case), default_key)
        raise
    key = key_of(record, chosen.key, default_key)
    try:
        vector_field, used = chosen.vector, chosen.used
        if any_case and isinstance(record.get(vector_field or ""), str):
            vector_field, used = None, used - {vector_field}
        title = string_of(record, chosen.title)
        text = string_of(record, chosen.text)
        vector = vector_of(record, vector_field)
        metadata = metadata_of(record, used)
        return Document(key, one_line(title), parts_of(text), label_of(record, chosen.label), metadata, vector=vector)
    except BadRecord as bad:  # a context manager would take a tenth of the time of reading a record
        bad.key = key
        raise


def with_key(record: Record, key: str) -> Record:
    """Return a record with a `key` instead of its own, if it has one."""
    own = choose_field(record, None, KEY_FIELDS)
    return {**{name: value for name, value in record.items() if name != own}, KEY_FIELDS[0]: key}


class _Chosen(NamedTuple):
    """The names of the fields that a record has; None for those that it lacks. `used` are all of them."""

    key: str | None
    title: str | None
    text: str
    label: str | None
    vector: str | None
    used: frozenset[str | None]


@lru_cache(_SHAPES)
def _key_field(names: tuple[str, ...], named: str | None, any_case: bool) -> str | None:
    """Return the name of the field of the key; BadRecord if the record lacks the one that is `named`."""
    return choose_field(dict.fromkeys(names), named, KEY_FIELDS, _lower_case(names) if any_case else {})


@lru_cache(_SHAPES)
def _chosen_fields(names: tuple[str, ...], fields: Fields, any_case: bool) -> _Chosen:
    """Return the names of the fields to use; BadRecord if one is missing. Most records of a file have the same ones."""
    record, lower_case = dict.fromkeys(names), _lower_case(names) if any_case else {}
    key = choose_field(record, fields.key, KEY_FIELDS, lower_case)
    title = choose_field(record, fields.title, TITLE_FIELDS, lower_case)
    text = choose_field(record, fields.text, TEXT_FIELDS, lower_case)
    label = choose_field(record, fields.label, LABEL_FIELDS, lower_case)
    vector = choose_field(record, None, (VECTOR_FIELD,), lower_case)
    if text is None:
        usual = ", ".join(TEXT_FIELDS)
        raise BadRecord(f"there is no field for the text ({usual}): {field_names(record)}; --text-field names another")
    return _Chosen(key, title, text, label, vector, frozenset((key, title, text, label, vector)))


def _lower_case(names: Sequence[str]) -> dict[str, str]:
    """Return names by their lower-case forms, the first of those that are equal."""
    return {name.lower(): name for name in names[::-1]}


@contextmanager
def attached_key(key: str) -> Iterator[None]:
    """Set the key of every `BadRecord` raised in the block."""
    try:
        yield
    except BadRecord as bad:
        bad.key = key
        raise


def choose_field(
    record: Record, named: str | None, defaults: tuple[str, ...], any_case: Mapping[str, str] = MappingProxyType({})
) -> str | None:
    """Return `named`, which `record` must have, or without it the first of `defaults` that `record` has, else None.

    `any_case`: the names of fields by their lower-case forms, if case does not matter.
    """
    candidates = defaults if named is None else (named,)
    for name in candidates:
        if name in record:
            return name
    found = (
        next((any_case[name.lower()] for name in candidates if name.lower() in any_case), None) if any_case else None
    )
    if found is None and named is not None:
        raise BadRecord(f"there is no field {named!r}: {field_names(record)}")
    return found


def field_names(record: Record) -> str:
    """Describe which fields a record has."""
    return f"the record has {', '.join(map(repr, list(record)[:20]))}" if record else "the record has no fields"


def wrong_type(name: str, expected: str, value: object) -> NoReturn:
    """Raise a `BadRecord` that gives the field's `name`, the `expected` type and the actual `value`."""
    if isinstance(value, list):
        shown = "a list"
    elif isinstance(value, dict):
        shown = "an object"
    else:
        shown = json.dumps(value)[:80]
    raise BadRecord(f"{name} must be {expected}, not {shown}")


def key_of(record: Record, name: str | None, default_key: str) -> str:
    """Return the key in the field `name` of `record`, a string or an integer; `default_key` if `name` is None."""
    if name is None:
        return default_key
    key = record[name]
    if isinstance(key, str):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    wrong_type(f"the key {name!r}", "a string or an integer", key)


def string_of(record: Record, name: str | None) -> str:
    """Return the string in the field `name`; empty if `name` is None or the field is null."""
    value = None if name is None else record[name]
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    wrong_type(repr(name), "a string", value)


def label_of(record: Record, name: str | None) -> str | None:
    """Return the label in the field `name`: a string, or a number or Boolean as JSON writes it; None if it is empty."""
    value = None if name is None else record[name]
    if value is None or isinstance(value, str):
        return (value or "").strip() or None
    if isinstance(value, int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    wrong_type(f"the label {name!r}", "a string or a number", value)


def vector_of(record: Record, name: str | None = VECTOR_FIELD) -> tuple[float, ...] | None:
    """Return the vector in the field `name`, a list of numbers; None if there is none, or it is null.

    Which numbers and how many can be stored is checked later, as for vectors that are no fields.
    """
    value = record.get(name or "")
    if value is None:
        return None
    if not isinstance(value, list):
        wrong_type(repr(name), "a list of numbers", value)
    for position, number in enumerate(value, start=1):
        if type(number) not in (int, float):
            wrong_type(f"number {position} of {name!r}", "a number", number)
    try:
        return tuple(map(float, value))
    except OverflowError as error:
        raise BadRecord(f"{name!r} has a number that is too large") from error


def metadata_of(record: Record, used: Collection[str | None]) -> dict[str, Value]:
    """Return the fields that are not in `used`, without those that are null, "", {} or posts; they may be nested."""
    metadata: Any = {
        name: value
        for name, value in record.items()
        if name not in used and (value if type(value) is str else value not in (None, "", {}) and not _are_posts(value))
    }
    fault = metadata_fault(metadata)
    if fault:
        raise BadRecord(fault)
    found: dict[str, Value] = metadata
    return found


def _are_posts(value: object) -> bool:
    """Return whether a value is a list of objects with a text, as the comments of a thread: too long to filter by."""
    return isinstance(value, list) and any(isinstance(item, dict) and "text" in item for item in value)


def parts_of(text: str) -> tuple[Part, ...]:
    """Return the text as the only part of a document; none if it is blank."""
    return (Part(text),) if text and not text.isspace() else ()  # stripping would copy it


def one_line(text: str) -> str:
    """Return the text with each run of white space replaced by one space."""
    return " ".join(text.split())


def first_line(text: str) -> str:
    """Return a title for a text without one: its first line that is not blank, cut at 80 characters."""
    return next(iter(text.lstrip()[:80].splitlines()), "").rstrip()
