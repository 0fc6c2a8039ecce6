"""From a record with named fields, as JSONL and CSV have them, to a document."""

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, TypeGuard

from moverank.indexer.documents import Document, Part, Value
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.titles import begins_with_title

Record = Mapping[str, object]
Build = Callable[[Record, str], Document]
"""Makes a document of a record; the string is its key if the record has none."""

KEY_FIELDS = ("id", "key", "_id", "docid", "doc_id", "docno")
TITLE_FIELDS = ("title", "subject", "headline")
TEXT_FIELDS = ("text", "body", "content", "contents", "abstract")
LABEL_FIELDS = ("label", "class", "category")


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of a record to use; None takes the first of the usual ones that is there.

    The usual ones are `KEY_FIELDS`, `TITLE_FIELDS`, `TEXT_FIELDS` and `LABEL_FIELDS`. A field that is named here must
    be in every record; it may be empty or null where it is the title's or the label's.
    """

    key: str | None = None
    title: str | None = None
    text: str | None = None
    label: str | None = None


def document_of(record: Record, default_key: str, fields: Fields) -> Document:
    """Make a document of `record`; whatever else it holds becomes metadata, save for nested objects.

    Raises `BadRecord` where a field is missing or of the wrong type.
    """
    key_field = choose(record, fields.key, KEY_FIELDS)
    key = key_of(record, key_field, default_key)
    with about(key):
        title_field = choose(record, fields.title, TITLE_FIELDS)
        text_field = choose(record, fields.text, TEXT_FIELDS)
        label_field = choose(record, fields.label, LABEL_FIELDS)
        if text_field is None:
            raise BadRecord(f"there is no field for the text ({', '.join(TEXT_FIELDS)}): {names_of(record)}")
        title = string_of(record, title_field)
        text = with_title(title, string_of(record, text_field))
        metadata = metadata_of(record, {key_field, title_field, text_field, label_field})
        return Document(key, one_line(title), (Part(text),), label_of(record, label_field), metadata)


@contextmanager
def about(key: str) -> Iterator[None]:
    """Put the key into every `BadRecord` that is raised inside."""
    try:
        yield
    except BadRecord as bad:
        bad.key = key
        raise


def choose(record: Record, named: str | None, usual: tuple[str, ...]) -> str | None:
    """Choose the named field, which must be there, or else the first usual one that is there, or None."""
    if named is None:
        return next((name for name in usual if name in record), None)
    if named not in record:
        raise BadRecord(f"there is no field {named!r}: {names_of(record)}")
    return named


def names_of(record: Record) -> str:
    """Say which fields a record has."""
    return f"the record has {', '.join(map(repr, list(record)[:20]))}" if record else "the record has no fields"


def wrong_type(name: str, wanted: str, value: object) -> NoReturn:
    """Raise the `BadRecord` that says what the field `name` must be, and what it is."""
    if isinstance(value, list):
        shown = "a list"
    elif isinstance(value, dict):
        shown = "an object"
    else:
        shown = json.dumps(value)[:80]
    raise BadRecord(f"{name} must be {wanted}, not {shown}")


def key_of(record: Record, name: str | None, default_key: str) -> str:
    """Read the key: a string, or an integer as its decimal string; `default_key` where there is no field for it."""
    if name is None:
        return default_key
    key = record[name]
    if isinstance(key, str):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    wrong_type(f"the key {name!r}", "a string or an integer", key)


def string_of(record: Record, name: str | None) -> str:
    """Read a field of text; where there is none, or null, it is empty."""
    value = None if name is None else record[name]
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    wrong_type(repr(name), "a string", value)


def label_of(record: Record, name: str | None) -> str | None:
    """Read the label: a string, or a number or truth value as JSON writes it; None where it is empty."""
    value = None if name is None else record[name]
    if value is None or isinstance(value, str):
        return (value or "").strip() or None
    if isinstance(value, int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    wrong_type(f"the label {name!r}", "a string or a number", value)


def metadata_of(record: Record, used: Collection[str | None]) -> dict[str, Value | list[Value]]:
    """Collect the fields that are not `used` and hold a scalar or a list of scalars; empty ones say nothing."""
    metadata: dict[str, Value | list[Value]] = {}
    for name, value in record.items():
        if name in used or value is None or value == "":
            continue
        if _is_scalar(value, name) or _is_list(value, name):
            metadata[name] = value
    return metadata


def _is_scalar(value: object, name: str) -> TypeGuard[Value]:
    # JSON writes no infinity, but 1e999 is read as one.
    if isinstance(value, float) and not math.isfinite(value):
        raise BadRecord(f"{name!r} is too large a number: write it as a string")
    return value is None or isinstance(value, str | int | float)


def _is_list(value: object, name: str) -> TypeGuard[list[Value]]:
    return isinstance(value, list) and all(_is_scalar(item, name) for item in value)


def with_title(title: str, text: str) -> str:
    """Put the words of the title into the text, unless the text starts with them already (whatever their case)."""
    title, start = title.strip(), text.lstrip()
    if not start or not title:
        return text if start else title
    return text if begins_with_title(start, title) else f"{title}\n{text}"


def one_line(text: str) -> str:
    """Make a title that fits on one line."""
    return " ".join(text.split())


def first_line(text: str) -> str:
    """Make a title of a text that has none: its first line with something on it, cut at 80 characters."""
    return next(iter(text.lstrip()[:80].splitlines()), "").rstrip()
