"""The vectors of a first stage as they are written into a snapshot: computed by an encoder, or given."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import CollectionError
from moverank.indexer.files.arrays import save_arrays
from moverank.indexer.snapshot.snapshot_layout import ENCODER
from moverank.indexer.values.given_vectors import Space, unpacked
from moverank.rerank.bags.bag import Bags, lookup
from moverank.rerank.bags.weights import with_factors
from moverank.rerank.encoders.encoder import Documents, Encoder, encode

if TYPE_CHECKING:  # it would load SQLAlchemy
    from moverank.indexer.store import Reader

_CHUNK = 4096  # documents whose vectors are read together

_Rows = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Ids of documents (m,), increasing, and their vectors (m, dim)."""


class DocumentVectors(Protocol):
    """The vectors of documents for the first stage."""

    @property
    def dim(self) -> int:
        """Return the number of dimensions."""
        ...

    @property
    def products(self) -> bool:
        """Return whether the index compares inner products; see `faiss_index.build`."""
        ...

    @property
    def kept(self) -> bool:
        """Return whether the vectors stay beside the index: they cannot be computed from bags."""
        ...

    def of(self, ids: NDArray[np.int64], bags: Bags, lengths: NDArray[np.float64]) -> _Rows:
        """Return the vectors of the documents among `ids` (n,) that have one; for `bags`, `lengths` see `Documents`."""
        ...

    def save(self, directory: Path) -> None:
        """Write the data from which the vectors of other documents are computed."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class EncodedVectors:
    """Vectors by an `encoder`; `word_ids` (v,), `vectors` (v, d) and `factors` (v,) or None belong to the words."""

    encoder: Encoder
    word_ids: NDArray[np.int64]
    vectors: NDArray[np.float32]
    factors: NDArray[np.float64] | None
    products: bool = False
    kept: bool = False

    @property
    def dim(self) -> int:
        """See `DocumentVectors.dim`."""
        return self.encoder.dim

    def of(self, ids: NDArray[np.int64], bags: Bags, lengths: NDArray[np.float64]) -> _Rows:
        """See `DocumentVectors.of`."""
        weighed = bags if self.factors is None else with_factors(bags, self.factors)
        return ids, encode(self.encoder, Documents(weighed, lengths, self.word_ids, self.vectors))

    def save(self, directory: Path) -> None:
        """See `DocumentVectors.save`."""
        save_arrays(directory / ENCODER, self.encoder.state())


@dataclass(frozen=True, slots=True, eq=False)
class GivenVectors:
    """Vectors that `reader` reads from the database; `space` has their metric and dimension."""

    reader: "Reader"
    space: Space
    kept: bool = True

    @property
    def dim(self) -> int:
        """See `DocumentVectors.dim`; FAISS makes no index of 0 dimensions."""
        return max(1, self.space.dim)

    @property
    def products(self) -> bool:
        """See `DocumentVectors.products`."""
        return self.space.products

    def of(self, ids: NDArray[np.int64], _bags: Bags, _lengths: NDArray[np.float64]) -> _Rows:
        """See `DocumentVectors.of`."""
        return stored_vectors(self.reader, ids, self.space)

    def save(self, directory: Path) -> None:
        """See `DocumentVectors.save`."""


def stored_vectors(reader: "Reader", ids: NDArray[np.int64], space: Space) -> _Rows:
    """Read the vectors of the documents among `ids` (n,), increasing, that have one, as `space` compares them.

    Raises CollectionError if the database is damaged.
    """
    kept, vectors = [np.empty(0, np.int64)], [np.empty((0, max(1, space.dim)), np.float32)]
    for start in range(0, len(ids), _CHUNK):
        found = reader.vectors(ids[start : start + _CHUNK].tolist())
        own = sorted(found)
        if any(len(found[id_]) != 4 * space.dim for id_ in own):
            raise CollectionError("the database is damaged: it has vectors of several dimensions (`moverank check`)")
        usable, compared = space.comparable(unpacked([found[id_] for id_ in own], space.dim))
        kept.append(np.array(own, np.int64)[usable])
        vectors.append(compared)
    return np.concatenate(kept), np.concatenate(vectors)


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """The given vectors of a segment, and its rows that have one; both are loaded on first use.

    A search of the index does not read the vectors, which may be large.
    """

    load_rows: Callable[[], NDArray[np.int64]]
    load_vectors: Callable[[], NDArray[np.float32]]

    @classmethod
    def of(cls, rows: NDArray[np.int64], vectors: NDArray[np.float32]) -> "GivenRows":
        """Return rows (m,), increasing, and vectors (m, d) that are in memory."""
        return cls(lambda: rows, lambda: vectors)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Return the rows (m,), increasing, that have a vector; DamagedFile if their file is damaged."""
        return self.load_rows()

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Return the vectors (m, d), as they are compared; DamagedFile if their file is damaged."""
        return self.load_vectors()

    def costs(
        self, rows: NDArray[np.int64], query: NDArray[np.float32], space: Space
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows among `rows` (n,) with a vector, and their costs for a query's vector; see `Space.costs`."""
        positions, present = lookup(rows, self.rows)
        return rows[present], space.costs(self.vectors, positions[present], query)
