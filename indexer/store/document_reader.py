"""Read queries to whole documents."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, select

from moverank.indexer.documents import NamedSource, Origin
from moverank.indexer.store.schema import DOCUMENTS, PARTS, SOURCES
from moverank.indexer.store.vector_reader import VectorReader
from moverank.rerank.bags.weights import TITLE

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


class Entry(NamedTuple):
    """A document without its texts; `parts` is their number. A `wordless` one has no known word: it is never a hit.

    `origin` is None if its source is unknown.
    """

    key: str
    title: str
    label: str | None
    metadata: dict[str, Any]
    parts: int
    wordless: bool
    origin: Origin | None


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
        return [found[id_] for id_ in ids if id_ in found]

    def entries(self, ids: Sequence[int]) -> list[Entry]:
        """Return the documents with some ids, in the same order and without their texts."""
        counted = select(PARTS.c.document_id, func.count()).where(PARTS.c.rank != TITLE).group_by(PARTS.c.document_id)
        parts = dict(map(tuple, self._within(counted, PARTS.c.document_id, ids)))
        origins = self.origins(ids)
        names = ("id", "key", "title", "label", "metadata", "wordless")
        columns = select(*(DOCUMENTS.c[name] for name in names))
        found = {row.id: row for row in self._within(columns, DOCUMENTS.c.id, ids)}
        return [
            Entry(row.key, row.title, row.label, row.metadata, parts.get(row.id, 0), row.wordless, origins.get(row.id))
            for row in (found[id_] for id_ in ids if id_ in found)
        ]

    def origins(self, ids: Sequence[int]) -> dict[int, Origin]:
        """Return where documents were read last, by id; those whose source is unknown are omitted."""
        columns = (DOCUMENTS.c.id, DOCUMENTS.c.file, SOURCES.c.place, SOURCES.c.name, SOURCES.c.prefix)
        rows = select(*columns).join(SOURCES, SOURCES.c.id == DOCUMENTS.c.source)
        found = self._within(rows, DOCUMENTS.c.id, ids)
        return {id_: Origin(NamedSource(*source), file or "") for id_, file, *source in found}

    def keys(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the keys of documents by id."""
        return dict(map(tuple, self._within(select(DOCUMENTS.c.id, DOCUMENTS.c.key), DOCUMENTS.c.id, ids)))

    def metadata(self, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Return the metadata of documents by id."""
        return dict(map(tuple, self._within(select(DOCUMENTS.c.id, DOCUMENTS.c.metadata), DOCUMENTS.c.id, ids)))
