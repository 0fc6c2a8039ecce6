"""Makes documents of records, as in JSONL and CSV: the names of their fields, and the kinds of values.

A record that cannot become a document is a `BadRecord`, which says why.
"""

import json
import logging
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from moverank.indexer.values.documents import Document, Part, Value, metadata_fault

_log = logging.getLogger("moverank")


class BadRecord(Exception):  # noqa: N818 - also a result that readers yield
    """A record that cannot become a document: the reason with its remedy, and the document's key if known.

    `part`: it may be a post of the thread with its key, or without a key of any thread of its file. `ends`: the rest of
    the file is not read.
    """

    def __init__(self, reason: str, key: str | None = None, *, part: bool = False, ends: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.key = key
        self.part = part
        self.ends = ends


def log_left_out(source: str, count: int, what: str = "deleted post") -> None:
    """Log how many posts or messages of a source are left out, if any."""
    if count:
        _log.warning("%s: %s left out", source, f"1 {what} is" if count == 1 else f"{count:,} {what}s are")


ReadResult = tuple[int, Document | BadRecord]
"""The line at which a record starts (0 for a whole file), and its document or its fault."""


Record = Mapping[str, object]
Made = TypeVar("Made")
Builds = Callable[[Record, str], Made]
"""A function that makes something of a record; the string is the key of a record without one."""
Build = Builds[Document]
"""A function that makes a document of a record."""

KEY_FIELDS = ("id", "key", "_id", "docid", "doc_id", "docno")
TITLE_FIELDS = ("title", "subject", "headline")
TEXT_FIELDS = ("text", "body", "content", "contents", "abstract")
TEXT_NAMES = frozenset(TEXT_FIELDS)
LABEL_FIELDS = ("label", "class", "category")
VECTOR_FIELD = "vector"

MAX_RANK = 2**31 - 1


class Fields(NamedTuple):
    """The names of the fields to use; None: the first default name that the record has.

    The default names are `KEY_FIELDS`, `TITLE_FIELDS`, `TEXT_FIELDS` and `LABEL_FIELDS`. A field that is named here
    must be in every record; a title, a text or a label may be empty or null. `comments` is only for threads, and
    `more_texts`, of which each is a part of the document, only for other documents. `thread`: the records are posts of
    the thread that this field names, perhaps below the post that the field `parent` names.
    """

    key: str | None = None
    title: str | None = None
    text: str | None = None
    label: str | None = None
    comments: str | None = None
    more_texts: tuple[str, ...] = ()
    thread: str | None = None
    parent: str | None = None


def document_of(record: Record, default_key: str, fields: Fields, *, any_case: bool = False) -> Document:
    """Make a document of `record`; its other fields, except the posts of a thread, become metadata.

    The field `vector` is its vector; a text in it, as in a table, is metadata if `any_case`.

    `default_key` is the key of a record without one; `fields` names the fields to use. `any_case`: the case of a field
    name does not matter, unless a field has exactly this name. Raises `BadRecord` if a field is missing or has the
    wrong type.
    """
    lower_case = {name.lower(): name for name in [*record][::-1]} if any_case else {}
    key_field = choose_field(record, fields.key, KEY_FIELDS, lower_case)
    key = key_of(record, key_field, default_key)
    with attached_key(key):
        title = choose_field(record, fields.title, TITLE_FIELDS, lower_case)
        text = choose_field(record, fields.text, TEXT_FIELDS, lower_case)
        label = choose_field(record, fields.label, LABEL_FIELDS, lower_case)
        vector = choose_field(record, None, (VECTOR_FIELD,), lower_case)
        if text is None:
            _refuse_wrapped(record)
            raise no_text_field(record)
        if any_case and isinstance(record.get(vector or ""), str):
            vector = None
        more = [choose_field(record, name, (), lower_case) for name in fields.more_texts]
        parts = [part for name in (text, *more) for part in parts_of(string_of(record, name))]
        return Document(
            key,
            one_line(string_of(record, title)),
            tuple(parts),
            label_of(record, label),
            metadata_of(record, (key_field, title, text, *more, label, vector)),
            vector=vector_of(record, vector),
        )


def no_text_field(record: Record) -> BadRecord:
    """Return the fault of a record without any of `TEXT_FIELDS`."""
    usual = ", ".join(TEXT_FIELDS)
    return BadRecord(f"there is no field for the text ({usual}): {field_names(record)}; --text-field names another")


_BULK = frozenset({"index", "create", "update", "delete"})


def _refuse_wrapped(record: Record) -> None:
    """Raise BadRecord for a record that holds others, and for one that is an instruction to a search engine."""
    if len(record) == 1 and not _BULK.isdisjoint(record) and isinstance(next(iter(record.values())), dict):
        raise BadRecord("it is an instruction of a bulk file, and no text: keep the lines with texts alone")
    for name, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], dict) and not TEXT_NAMES.isdisjoint(value[0]):
            raise BadRecord(f"its records are in its field {name!r}: take them out, as `jq -c '.{name}[]'` does")


def with_key(record: Record, key: str) -> Record:
    """Return a record with a `key` instead of its own, if it has one."""
    own = choose_field(record, None, KEY_FIELDS)
    return {**{name: value for name, value in record.items() if name != own}, KEY_FIELDS[0]: key}


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


class Kind(NamedTuple):
    """A kind of field values: `expected` names it in faults, `accepts` returns whether a value is of this kind."""

    expected: str
    accepts: Callable[[Any], bool]


KEY = Kind("a string or an integer", lambda value: isinstance(value, str | int) and not isinstance(value, bool))
TEXT = Kind("a string", lambda value: isinstance(value, str))
LABEL = Kind("a string or a number", lambda value: isinstance(value, str | int | float))
RANK = Kind("a whole number, 0 (the top) or more", lambda value: type(value) is int and 0 <= value <= MAX_RANK)
NUMBER = Kind("a number", lambda value: type(value) in {int, float} and math.isfinite(value))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
LIST = Kind("a list", lambda value: isinstance(value, list))
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
POST = OBJECT._replace(expected='an object {"text": ...}')
TEXT_OR_OBJECT = Kind("a text or an object", lambda value: isinstance(value, str | dict))
_VECTOR = LIST._replace(expected="a list of numbers")
_COORDINATE = NUMBER._replace(accepts=lambda value: type(value) in {int, float})


def checked(kind: Kind, value: object, name: str, *, required: bool = False) -> Any:
    """Return the value of a field, None unless it is `required`; BadRecord names a field of another kind."""
    if kind.accepts(value) or (value is None and not required):
        return value
    shown = "a list" if isinstance(value, list) else "an object" if isinstance(value, dict) else json.dumps(value)[:80]
    raise BadRecord(f"{name} must be {kind.expected}, not {shown}")


def key_of(record: Record, name: str | None, default_key: str) -> str:
    """Return the key in the field `name` of `record`, a string or an integer; `default_key` if `name` is None."""
    return default_key if name is None else str(checked(KEY, record[name], f"the key {name!r}", required=True))


def string_of(record: Record, name: str | None) -> str:
    """Return the string in the field `name`; empty if `name` is None or the field is null."""
    return "" if name is None else checked(TEXT, record[name], repr(name)) or ""


def label_of(record: Record, name: str | None) -> str | None:
    """Return the label in the field `name`: a string, or a number or Boolean as JSON writes it; None for no label."""
    value = None if name is None else checked(LABEL, record[name], f"the label {name!r}")
    if value is None or isinstance(value, str):
        return (value or "").strip() or None
    return str(value).lower() if isinstance(value, bool) else str(value)


def vector_of(record: Record, name: str | None = VECTOR_FIELD) -> tuple[float, ...] | None:
    """Return the vector in the field `name`, a list of numbers; None if there is none, or it is null.

    The numbers and the dimension are checked later, as for vectors that are no fields.
    """
    value = checked(_VECTOR, record.get(name or ""), repr(name))
    if value is None:
        return None
    for position, number in enumerate(value, start=1):
        checked(_COORDINATE, number, f"number {position} of {name!r}", required=True)
    try:
        return tuple(map(float, value))
    except OverflowError as error:
        raise BadRecord(f"{name!r} has a number that is too large") from error


def metadata_of(record: Record, used: Collection[str | None]) -> dict[str, Value]:
    """Return the fields, perhaps nested, that are not in `used`, without empty values (null, "", {}) and posts."""
    return storable_metadata(
        (name, value)
        for name, value in record.items()
        if name not in used and (value if type(value) is str else value not in (None, "", {}) and not _are_posts(value))
    )


def storable_metadata(fields: Iterable[tuple[str, object]]) -> dict[str, Value]:
    """Return metadata; BadRecord if they cannot be stored as JSON."""
    metadata: Any = dict(fields)
    if fault := metadata_fault(metadata):
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
