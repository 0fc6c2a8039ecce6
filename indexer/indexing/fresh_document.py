"""A document that is new or has changed, and its rows in the database."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from moverank.indexer.documents import Document
from moverank.indexer.indexing.ownership import Place
from moverank.indexer.indexing.stored_form import StoredPart, field_values
from moverank.indexer.store import StoredState


class Fresh(NamedTuple):
    """A new or changed document in its stored form; `known` is its previous state, None if it is new."""

    document: Document
    parts: tuple[StoredPart, ...]
    digest: bytes
    known: StoredState | None
    place: Place


def document_row(new: Fresh, revision: int, *, wordless: bool) -> dict[str, Any]:
    """Return the row of a document, without its id, as changed by a revision."""
    document = new.document
    return {
        "key": document.key,
        "title": document.title,
        "label": document.label,
        "metadata": dict(document.metadata),
        "digest": new.digest,
        "wordless": wordless,
        "revision": revision,
        "source": new.place.source,
        "file": new.place.file,
    }


def field_rows(id_: int, new: Fresh) -> Iterator[dict[str, Any]]:
    """Yield the rows of the filter fields of the document `id_`."""
    values = field_values(new.document.label, new.document.metadata)
    return ({"document_id": id_, "name": name, "value": value} for name, value in sorted(values))
