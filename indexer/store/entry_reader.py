"""Read queries to documents without their texts, in SQL; see `state_reader`."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from moverank.indexer.documents import NamedSource, Origin
from moverank.indexer.store.state_reader import StateReader
from moverank.indexer.store.stored_metadata import stored_metadata
from moverank.rerank.bags.title_rank import TITLE

_CHUNK = 5000  # ids in one statement


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


class EntryReader(StateReader):
    """Reads documents without their texts."""

    def ids(self) -> Iterator[int]:
        """Iterate over all document ids, increasing."""
        return (id_ for (id_,) in self._streamed("SELECT id FROM documents ORDER BY id"))

    def entries(self, ids: Sequence[int]) -> list[Entry]:
        """Return the documents with some ids, in the same order and without their texts."""
        counted = f"SELECT document_id, count(*) FROM parts WHERE rank != {TITLE} AND document_id IN ({{}}) "  # noqa: S608
        parts = dict(map(tuple, self._having(counted + "GROUP BY document_id", ids)))
        columns = "id, key, title, label, CAST(metadata AS TEXT), wordless"
        found = {id_: rest for id_, *rest in self._having(f"SELECT {columns} FROM documents WHERE id IN ({{}})", ids)}  # noqa: S608
        origins = self.origins(ids)
        return [
            Entry(key, title, label, _metadata(metadata, key), parts.get(id_, 0), bool(wordless), origins.get(id_))
            for id_, (key, title, label, metadata, wordless) in ((id_, found[id_]) for id_ in ids if id_ in found)
        ]

    def origins(self, ids: Sequence[int]) -> dict[int, Origin]:
        """Return where documents were read last, by id; those whose source is unknown are omitted."""
        found = self._having(
            "SELECT d.id, d.file, s.place, s.name, s.prefix FROM documents d JOIN sources s ON s.id = d.source "
            "WHERE d.id IN ({})",
            ids,
        )
        return {id_: Origin(NamedSource(*source), file or "") for id_, file, *source in found}

    def _having(self, statement: str, ids: Sequence[int]) -> Iterator[Any]:
        """Iterate over the rows that a SELECT finds for some ids, which take the place of `{}`."""
        for start in range(0, len(ids), _CHUNK):
            yield from self._selected(statement.format(",".join(map(str, ids[start : start + _CHUNK]))))


def _metadata(text: str | None, key: str) -> dict[str, Any]:
    return stored_metadata(None if text is None else json.loads(text), key)
