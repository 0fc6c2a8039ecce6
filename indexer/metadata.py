"""Metadata as JSON values: what can be stored, the texts within, and the fields by which filters find them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from math import isfinite
from typing import Any

from moverank.indexer.documents import Document, Metadata

MAX_DEPTH = 20
"""How deeply lists and objects may be nested."""

LONGEST_KEY, LONGEST_NAME, LONGEST_VALUE = 2000, 500, 2000
"""Bytes of a key, and of the name of a field; bytes up to which a value is compared as a whole by filters.

The index of PostgreSQL for a name and a value takes 2,704 bytes, and SQLite gets the same limits.
"""

_MOST_BITS = 10_000  # Python reads and writes no integer of more than 4300 digits


def flattened(metadata: Metadata) -> Iterator[tuple[str, str]]:
    """Yield name and value of every field: text as it is, numbers and Booleans as JSON.

    The values of a list are values of its field; those of a nested object are fields with dotted names, as in
    `author.name`. Null is no value.
    """
    for name, value in metadata.items():
        yield from _values(name, value)


def values_by_field(metadata: Metadata) -> dict[str, list[str]]:
    """Return the values of every field by its name; see `flattened`."""
    fields: dict[str, list[str]] = {}
    for name, value in flattened(metadata):
        fields.setdefault(name, []).append(value)
    return fields


def _values(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for inner, item in value.items():
            yield from _values(f"{name}.{inner}", item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _values(name, item)
    elif value is not None:
        yield name, value if isinstance(value, str) else json.dumps(value)


def filter_value(value: str) -> str:
    """Return the text by which a filter finds a value: a long one is cut, and a digest distinguishes it.

    Its beginning has `LONGEST_VALUE` bytes at least, and with the digest it has more than any value that is not cut.
    """
    if len(value) <= LONGEST_VALUE // 4:  # characters of four bytes at most
        return value
    encoded = value.encode(errors="surrogatepass")  # conditions may have halves of characters, stored values have none
    if len(encoded) <= LONGEST_VALUE:
        return value
    return f"{encoded[: LONGEST_VALUE + 3].decode(errors='ignore')}…{blake2b(encoded, digest_size=16).hexdigest()}"


def texts_of(value: object) -> Iterator[str]:
    """Yield every name and every text within metadata."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - a dict is recognised in less time
        for name, item in value.items():
            yield name
            if isinstance(item, str):
                yield item
            else:
                yield from texts_of(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_of(item)


def texts_of_document(document: Document) -> list[str]:
    """Return key, title and label of a document, and the texts of its parts."""
    return [document.key, document.title, document.label or "", *[part.text for part in document.parts]]


def text_fault(texts: Sequence[str], metadata: Metadata) -> str | None:
    """Return why one of `texts`, or of those within metadata, cannot be stored, and the remedy; None if all can."""
    try:
        joined = "".join([*texts, *metadata, *metadata.values()] if metadata else texts)  # type: ignore[list-item]
    except TypeError:  # a value is no text
        joined = "".join((*texts, *texts_of(metadata)))
    if "\0" not in joined and (joined.isascii() or _lone_surrogate(joined) is None):
        return None
    # Two halves of a character in neighbouring texts would not become one: each is a fault in UTF-8.
    for text in (*texts, *texts_of(metadata)):
        if "\0" in text:
            return "holds a NUL character: take it out"
        half = _lone_surrogate(text)
        if half:
            return f"holds \\u{ord(half):04x}, half of a surrogate pair: take it out"
    return None


def _lone_surrogate(text: str) -> str | None:
    """Return the first half of a character without the other one."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return text[error.start]
    return None


def key_fault(key: str) -> str | None:
    """Return why a key is too long, and the remedy; None if it is not."""
    size = 0 if len(key) <= LONGEST_KEY // 4 else _size(key)
    return f"the key has {size:,} bytes, over the limit of {LONGEST_KEY:,}: shorten it" if size > LONGEST_KEY else None


def name_fault(metadata: Metadata) -> str | None:
    """Return why the name of a field is too long, and the remedy; None if none is. The metadata are storable else."""
    nested = any(isinstance(value, dict | list | tuple) for value in metadata.values())
    names: Iterable[str] = (name for name, _ in flattened(metadata)) if nested else metadata
    for name in names:
        if len(name) > LONGEST_NAME // 4 and _size(name) > LONGEST_NAME:
            size = f"{_size(name):,} bytes, over the limit of {LONGEST_NAME}"
            return f"has a field whose name has {size}, {f'{name[:40]}...'!r}: shorten it"
    return None


def metadata_fault(metadata: Metadata) -> str | None:
    """Return why metadata cannot be stored as JSON, and the remedy; None if they can."""
    values: Mapping[Any, Any] = metadata  # from a program without type checks
    try:
        "".join([*values, *values.values()])
    except TypeError:  # not all are texts, as most are
        return _first_fault(values)
    return None


def _size(text: str) -> int:
    """Return the number of bytes; halves of characters are reported elsewhere."""
    return len(text.encode(errors="surrogatepass"))


def _first_fault(values: Mapping[Any, object]) -> str | None:
    for name, value in values.items():
        if not isinstance(name, str):
            return f"the name {name!r} must be a text"
        fault = _fault(value, MAX_DEPTH)
        if fault:
            return f"{name!r} {fault}"
    return None


def _fault(value: object, depth: int) -> str | None:
    """Return why a value cannot be stored that may be nested up to `depth`."""
    if value is None or isinstance(value, str | bool):
        return None
    if isinstance(value, float):
        return None if isfinite(value) else "is no finite number: write it as a text, or leave it out"
    if isinstance(value, int):
        return None if value.bit_length() <= _MOST_BITS else "has too many digits: write it as a text"
    if not isinstance(value, list | tuple | dict):
        kind = type(value).__name__
        return f"is of type {kind}: use text, numbers, Booleans, None, and lists and dicts of these"
    if not depth:
        return f"is nested more than {MAX_DEPTH} deep: flatten it"
    if isinstance(value, dict):
        wrong = next((name for name in value if not isinstance(name, str)), None)
        if wrong is not None:
            return f"has the name {wrong!r}, which must be a text"
    items = value.values() if isinstance(value, dict) else value
    return next((fault for item in items if (fault := _fault(item, depth - 1))), None)
