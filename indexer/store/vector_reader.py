"""Read queries to the vectors that were given with documents."""

from collections.abc import Sequence

from sqlalchemy import func, select

from moverank.indexer.store.queries import Queries
from moverank.indexer.store.schema import VECTORS


class VectorReader(Queries):
    """Reads given vectors as bytes: float32, little-endian."""

    def vectors(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return the vectors of documents by id; documents without one are omitted."""
        columns = select(VECTORS.c.document_id, VECTORS.c.vector)
        return dict(map(tuple, self._within(columns, VECTORS.c.document_id, ids)))

    def vector_count(self) -> int:
        """Return the number of documents with a vector."""
        return self._scalar(select(func.count()).select_from(VECTORS))

    def vector_dim(self) -> int:
        """Return the number of dimensions of the vectors; 0 if no document has one."""
        return self._scalar(select(func.length(VECTORS.c.vector)).limit(1)) // 4
