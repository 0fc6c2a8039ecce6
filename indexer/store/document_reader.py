"""Read queries to whole documents."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import select

from moverank.indexer.store.schema import DOCUMENTS, PARTS
from moverank.indexer.store.stored_metadata import stored_metadata
from moverank.indexer.store.vector_reader import VectorReader

DOCUMENT_COLUMNS = ("id", "key", "title", "label", "metadata", "digest", "wordless", "revision")
PART_COLUMNS = ("document_id", "id", "position", "rank", "text", "digest", "words", "counts")


class CountedPart(NamedTuple):
    """The counts of a part, or of a title (rank `TITLE`): `words` and `counts` are int32 arrays as bytes."""

    document_id: int
    rank: int
    words: bytes
    counts: bytes


class StoredDocument(NamedTuple):
    """A stored document; `parts` are rows (id, position, rank, text, digest, words, counts), the title first.

    `vector` is its vector as bytes, None if none was given.
    """

    id: int
    key: str
    title: str
    label: str | None
    metadata: dict[str, Any]
    digest: bytes
    wordless: bool
    revision: int
    parts: list[Any]
    vector: bytes | None


def stored_document(row: Any, parts: list[Any], vector: bytes | None) -> StoredDocument:
    """Return a document of a row of `DOCUMENT_COLUMNS`, its parts and its vector."""
    return StoredDocument(**row._mapping, parts=parts, vector=vector)  # noqa: SLF001 - it has no other name


class DocumentReader(VectorReader):
    """Reads documents by their ids."""

    def documents(self, ids: Sequence[int]) -> list[StoredDocument]:
        """Return the documents with some ids, in the same order; an unknown id is omitted."""
        parts: dict[int, list[Any]] = {}
        statement = select(*(PARTS.c[name] for name in PART_COLUMNS)).order_by(PARTS.c.document_id, PARTS.c.position)
        for row in self._within(statement, PARTS.c.document_id, ids):
            parts.setdefault(row.document_id, []).append(row)
        columns, vectors = select(*(DOCUMENTS.c[name] for name in DOCUMENT_COLUMNS)), self.vectors(ids)
        found = {
            row.id: stored_document(row, parts.get(row.id, []), vectors.get(row.id))
            for row in self._within(columns, DOCUMENTS.c.id, ids)
        }
        for document in found.values():
            stored_metadata(document.metadata, document.key)
        return [found[id_] for id_ in ids if id_ in found]

    def keys(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the keys of documents by id."""
        return dict(map(tuple, self._within(select(DOCUMENTS.c.id, DOCUMENTS.c.key), DOCUMENTS.c.id, ids)))

    def metadata(self, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Return the metadata of documents by id."""
        statement = select(DOCUMENTS.c.id, DOCUMENTS.c.key, DOCUMENTS.c.metadata)
        return {id_: stored_metadata(value, key) for id_, key, value in self._within(statement, DOCUMENTS.c.id, ids)}
