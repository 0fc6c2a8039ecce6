"""The candidates of another engine: texts, records and threads, as documents with a key."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from moverank.indexer.documents import Document, Part
from moverank.indexer.errors import UsageError
from moverank.indexer.ranked_texts import check_ranks

Text = str | Mapping[str, Any] | Document
"""A text; a record, `{"title": ..., "text": ...}` or a thread's, of the fields that `index` and `threads` read; or a
document."""

THE_QUERY = "the query"
"""The name of a query in messages; any other is that of a candidate."""

Candidates = Sequence[Text] | Mapping[str, Text]
"""Candidates in the order of the engine, or by key."""


def candidate_documents(candidates: Candidates) -> list[Document]:
    """Return the candidates as documents; one without a key of its own has its index as the key.

    Raises UsageError for a candidate of another type or with invalid fields.
    """
    if isinstance(candidates, Mapping):
        return [replace(as_document(one, f"text {key}", key), key=key) for key, one in candidates.items()]
    return [as_document(one, f"text {i}", str(i)) for i, one in enumerate(candidates)]


def as_document(text: Text, name: str, key: str = "") -> Document:
    """Return a text or record as a document, whose key is `key` unless it has one; `name` is for messages."""
    if isinstance(text, str):
        return Document(key, parts=(Part(text),))
    if isinstance(text, Mapping):
        return _from_record(text, name, key)
    if not isinstance(text, Document):
        raise UsageError(f"{name} must be a string, a record or a Document, not {text!r}")
    check_ranks(text)
    return text if text.key else replace(text, key=key)


def _from_record(record: Mapping[str, Any], name: str, key: str) -> Document:
    from moverank.indexer.readers.bad_record import BadRecord  # here: texts alone need no reader
    from moverank.indexer.readers.queries import QUERY_FIELDS, query_of
    from moverank.indexer.readers.records import LABEL_FIELDS, choose_field, label_of

    try:
        document = query_of(dict(record), key, "a query" if name == THE_QUERY else "a candidate")
        label = choose_field(record, None, LABEL_FIELDS)
        others = {field: value for field, value in record.items() if field not in {*QUERY_FIELDS, label}}
        return replace(document, label=label_of(record, label), metadata=others)
    except BadRecord as bad:
        raise UsageError(f"{name}: {bad.reason}") from bad
