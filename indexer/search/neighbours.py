"""The k-nearest-neighbour graph of a collection, for classification and clustering."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.progress import Progress
from moverank.indexer.search.batch import answer_many
from moverank.indexer.search.document_words import row_words
from moverank.indexer.search.query import Query
from moverank.indexer.search.view import View
from moverank.indexer.store import Reader


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Keys of the n documents that have a bag, and for each the k nearest others, nearest first.

    `places` (n, k) int64 are the neighbours' positions in `keys`, `distances` (n, k) float64 their distances; with
    fewer than k others, the rest are -1 and infinity.
    """

    keys: tuple[str, ...]
    places: NDArray[np.int64]
    distances: NDArray[np.float64]


def find_neighbours(reader: Reader, view: View, query: Query, progress: Progress) -> Neighbours:
    """Search with every document of `view` that has a bag; `query` has the options, `reader` sees the same state.

    `progress` is called after each search.
    """
    documents = [
        (part, row, id_)
        for part in view.segments
        for row, id_ in zip(np.flatnonzero(part.live).tolist(), part.segment.ids[part.live].tolist(), strict=True)
    ]
    queries = (replace(query, words=row_words(part, row, query.ranking), without=id_) for part, row, id_ in documents)
    ids = np.array([id_ for _, _, id_ in documents], np.int64)
    order = np.argsort(ids)
    increasing = ids[order]
    places, distances = np.full((len(ids), query.k), -1), np.full((len(ids), query.k), np.inf)
    for position, (_, outcome) in enumerate(answer_many(view, queries)):
        if outcome is not None:
            found = len(outcome.ids)
            places[position, :found] = order[np.searchsorted(increasing, outcome.ids)]
            distances[position, :found] = outcome.distances
        progress("Finding neighbours", position + 1, len(ids), "documents")
    shown = reader.shown(ids.tolist())
    return Neighbours(tuple(shown[id_].key for id_ in ids.tolist()), places, distances)
