"""Read queries to the vectors that were given with documents."""

from collections.abc import Sequence

from sqlalchemy import select

from moverank.indexer.store.queries import Queries
from moverank.indexer.store.schema import VECTORS


class VectorReader(Queries):
    """Reads given vectors as bytes: float32, little-endian."""

    def vectors(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return the vectors of documents by id; documents without one are omitted."""
        columns = select(VECTORS.c.document_id, VECTORS.c.vector)
        return dict(map(tuple, self._within(columns, VECTORS.c.document_id, ids)))
