"""A document as one JSON record and back, without loss: what `export` writes, `index` and `threads` read."""

from typing import Any

from moverank.indexer.documents import Document, Part
from moverank.indexer.metadata import metadata_fault
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.records import (
    KEY_FIELDS,
    TEXT_FIELDS,
    VECTOR_FIELD,
    Record,
    attached_key,
    choose_field,
    field_names,
    key_of,
    metadata_of,
    string_of,
    vector_of,
    wrong_type,
)
from moverank.indexer.readers.threads import MAX_RANK

_FIELDS = {"title", "parts", "label", "metadata", "title_counts", VECTOR_FIELD}


def record_of(document: Document) -> dict[str, Any]:
    """Return the record of a document; `title_counts` is omitted where it is true, and the vector of one without it.

    Nine digits distinguish all float32 numbers.
    """
    more: dict[str, Any] = {} if document.title_counts else {"title_counts": False}
    if document.vector is not None:
        more[VECTOR_FIELD] = [float(f"{number:.9g}") for number in document.vector]
    return {
        "key": document.key,
        "title": document.title,
        "label": document.label,
        "metadata": dict(document.metadata),
        **more,
        "parts": [{"text": part.text, "rank": part.rank} for part in document.parts],
    }


def is_stored_record(record: Record) -> bool:
    """Return whether a record has `parts`, and neither a text nor comments: no other kind of record is valid so."""
    return "parts" in record and not any(name in record for name in (*TEXT_FIELDS, "comments"))


def stored_document(record: Record, default_key: str) -> Document:
    """Make a document of a record such as `record_of` returns; other fields are added to its metadata.

    Only `parts` is required, and `text` in each of them; the parts of a record without ranks have the ranks 0, 1, and
    so on. Texts, title and label are taken as they are. Raises `BadRecord` if a field has the wrong type.
    """
    key_field = choose_field(record, None, KEY_FIELDS)
    key = key_of(record, key_field, default_key)
    with attached_key(key):
        title = string_of(record, "title" if "title" in record else None)
        label, counts = record.get("label"), record.get("title_counts", True)
        if not isinstance(label, str | None):
            wrong_type("the label", "a string", label)
        if not isinstance(counts, bool):
            wrong_type("'title_counts'", "true or false", counts)
        parts, metadata = _parts(record["parts"]), _metadata(record, key_field)
        return Document(key, title, parts, label, metadata, counts, vector_of(record))


def _metadata(record: Record, key_field: str | None) -> dict[str, Any]:
    own = record.get("metadata")
    if own is not None and not isinstance(own, dict):
        wrong_type("'metadata'", "an object", own)
    fault = metadata_fault(own or {})
    if fault:
        raise BadRecord(fault)
    return {**(own or {}), **metadata_of(record, {*_FIELDS, key_field})}


def _parts(parts: object) -> tuple[Part, ...]:
    if not isinstance(parts, list):
        wrong_type("'parts'", "a list", parts)
    return tuple(_part(f"part {number}", number - 1, part) for number, part in enumerate(parts, start=1))


def _part(where: str, position: int, part: object) -> Part:
    if not isinstance(part, dict):
        wrong_type(where, 'an object {"text": ...}', part)
    if "text" not in part:
        raise BadRecord(f"{where} has no field 'text': {field_names(part)}")
    text, rank = part["text"], part.get("rank", position)
    if not isinstance(text, str):
        wrong_type(f"the text of {where}", "a string", text)
    if not (type(rank) is int and 0 <= rank <= MAX_RANK):
        wrong_type(f"the rank of {where}", "a whole number, 0 (the top) or more", rank)
    return Part(text, rank)
