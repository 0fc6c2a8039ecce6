"""Exact distances of all documents of a view from a sample of them: the statistics of mutual proximity.

They are computed once, on all cores, and kept in the collection's directory; later only distances of new and changed
documents are added. The sample is chosen again after a large change of the number of documents, or new word vectors.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.checksums import short_checksum
from moverank.indexer.search.query import Query, QueryWords
from moverank.indexer.search.segments import LiveSegment
from moverank.indexer.search.view import View
from moverank.indexer.snapshot.content_sample import StoredSample, read_sample, write_sample
from moverank.indexer.values.ranking_spec import Weights
from moverank.indexer.values.search_options import Progress, silent
from moverank.rerank.bags.bag import Bag, Bags, lookup
from moverank.rerank.distance.mutual_proximity import MutualProximity, ProximityKind, mutual_proximity
from moverank.rerank.distance.nearest import all_distances
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.runtime.parallel import map_ahead
from moverank.rerank.runtime.thread_pool import is_single_threaded

_CHANGE = 1.5  # factor of the number of documents at which the sample is chosen again
_SAVE_SECONDS = 20.0
_ZERO = 1e-12  # distances up to this one are rounding errors

_Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Documents:
    """The documents of a segment, `part`: ids (v,) of its words, and digests (n,) of its bags, 0 if not live."""

    part: LiveSegment
    word_ids: _Ids
    digests: _Ids

    @classmethod
    def of(cls, part: LiveSegment, gamma: float, weights: Weights) -> "_Documents":
        """Identify words and documents independently of the segment; digests leave idf out, which changes often."""
        word_ids, digests = _word_ids(part.segment.vectors), np.zeros(len(part.live), np.int64)
        bags = part.bags(np.arange(len(part.live)), gamma, "tf" if weights == "tfidf" else weights)
        for row in np.flatnonzero(part.live).tolist():
            entries = slice(bags.starts[row], bags.starts[row + 1])
            words = word_ids[bags.words[entries]]
            order = np.argsort(words, kind="stable")
            # Sums over words in another order differ in the last digits, so the weights are rounded.
            rounded = np.rint(bags.weights[entries][order] * 2.0**44).astype("<i8")
            digests[row] = np.uint64(short_checksum(words[order].tobytes() + rounded.tobytes())).astype(np.int64)
        return cls(part, word_ids, digests)

    def rows_of(self, digests: _Ids) -> tuple[_Ids, _Ids]:
        """Return the positions (m,) in `digests` of live documents, and one row (m,) for each, increasing."""
        positions, present = lookup(self.digests, digests)
        rows = np.flatnonzero(present & self.part.live)
        _, first = np.unique(positions[rows], return_index=True)
        rows = rows[np.sort(first)]
        return positions[rows], rows

    def bag_of(self, sampled: int, sample: StoredSample) -> QueryBag:
        """Return the bag of a document of the sample over the words of the segment."""
        bag, order = sample.bags[sampled], np.argsort(self.word_ids, kind="stable")
        found, present = lookup(sample.word_ids[bag.words], self.word_ids[order])
        words = len(order) + np.arange(len(bag))  # words that the segment lacks get positions beyond its own
        words[present] = order[found[present]]
        return _sorted_bag(words, bag.weights, sample.vectors[bag.words])


@dataclass(frozen=True, slots=True, eq=False)
class SampledDistances:
    """A `sample`, and the `documents` of each segment of a view, all of which have distances from it."""

    sample: StoredSample
    documents: tuple[_Documents, ...]

    def of_query(self, words: QueryWords) -> NDArray[np.float64]:
        """Return the distances (s,) of a query from the sample."""
        found, present = lookup(_word_ids(words.vectors), self.sample.word_ids)
        positions = np.where(present, found, len(self.sample.word_ids) + np.arange(len(found)))
        bag = _sorted_bag(positions, words.weights, words.vectors)
        return all_distances(bag, self.sample.bags, self.sample.vectors)

    def of_rows(self, part: LiveSegment, rows: _Ids) -> NDArray[np.float64]:
        """Return the distances (m, s) of the documents `rows` (m,) of the segment `part` from the sample."""
        digests = next(each.digests for each in self.documents if each.part is part)[rows]
        return np.asarray(self.sample.distances[np.searchsorted(self.sample.digests, digests)])


@dataclass(frozen=True, slots=True, eq=False)
class QueryProximity:
    """Mutual proximity of a `kind` of one query, whose distances from the sample are `own` (s,)."""

    kind: ProximityKind
    sampled: SampledDistances
    own: NDArray[np.float64]

    @classmethod
    def of(cls, view: View, query: Query) -> "QueryProximity | None":
        """Return the mutual proximity of a query; None if its ranking has none."""
        ranking = query.ranking
        if ranking.proximity is None:
            return None
        sampled = sampled_distances(view, ranking.gamma, ranking.weights)
        return cls(ranking.proximity, sampled, sampled.of_query(query.words))

    def of_rows(self, part: LiveSegment, rows: _Ids) -> MutualProximity:
        """Return the mutual proximity of the query and the documents `rows` (m,) of the segment `part`.

        A document in the sample does not count for itself, nor do its duplicates: their distance is 0 up to rounding.
        """
        sides = self.own, self.sampled.of_rows(part, rows)
        return mutual_proximity(self.kind, *(np.where(side > _ZERO, side, np.nan) for side in sides))


def sampled_distances(view: View, gamma: float, weights: Weights, progress: Progress = silent) -> SampledDistances:
    """Return the distances of the documents of `view` with bags of these weights; they are computed only once."""
    key = "distances from the sample", gamma, weights
    return view.computed.get(key, lambda: _sampled(view, gamma, weights, progress))


def _sampled(view: View, gamma: float, weights: Weights, progress: Progress) -> SampledDistances:
    documents = tuple(_Documents.of(part, gamma, weights) for part in view.segments)
    live = view.documents_with_bag
    path = view.directory / f"sample-{weights}-{gamma:g}" if view.directory else None
    stored = read_sample(path)
    fits = stored is not None and live / _CHANGE <= stored.documents <= live * _CHANGE
    if stored is None or not (fits and _same_vectors(stored, documents)):
        stored = _choose(view, gamma, weights)
    digests = np.unique(np.concatenate([each.digests[each.part.live] for each in documents]))
    rows, present = lookup(digests, stored.digests)
    distances = np.full((len(digests), len(stored.bags)), np.nan)
    distances[present] = stored.distances[rows[present]]
    sample = replace(stored, digests=digests, distances=distances)
    if np.isnan(distances).any():
        _compute(sample, [(each, gamma, weights) for each in documents], path, progress)
    return SampledDistances(sample, documents)


def _same_vectors(sample: StoredSample, documents: tuple[_Documents, ...]) -> bool:
    """Return whether a sample has the documents' word vectors, which may all have been replaced.

    Up to half of the sample's words may be missing from the documents, which may have changed.
    """
    current = np.concatenate([np.empty(0, np.int64), *(each.word_ids for each in documents)])
    return bool(2 * np.isin(sample.word_ids, current).sum() >= len(sample.word_ids))


def _compute(
    sample: StoredSample, documents: list[tuple[_Documents, float, Weights]], path: Path | None, progress: Progress
) -> None:
    """Compute the missing distances of `sample` in place, and save them, also when interrupted."""
    total, done, saved = int(np.isnan(sample.distances).sum()), 0, time.monotonic()
    try:
        for positions, column, distances in chain.from_iterable(_columns(sample, *each) for each in documents):
            sample.distances[positions, column] = distances
            done += len(positions)
            progress("Computing mutual proximity", min(done, total), total, "distances")
            if time.monotonic() - saved > _SAVE_SECONDS:
                write_sample(path, sample)
                saved = time.monotonic()
    finally:
        write_sample(path, sample)


def _columns(
    sample: StoredSample, documents: _Documents, gamma: float, weights: Weights
) -> Iterator[tuple[_Ids, int, NDArray[np.float64]]]:
    """Yield the positions (m,) of documents that lack distances, a column, and the distances (m,)."""
    lacking = np.flatnonzero(np.isnan(sample.distances).any(axis=1))
    found, rows = documents.rows_of(sample.digests[lacking])
    if not len(rows):
        return
    positions, bags = lacking[found], documents.part.bags(rows, gamma, weights)
    columns = np.flatnonzero(np.isnan(sample.distances[positions]).any(axis=0)).tolist()

    def solve(column: int) -> NDArray[np.float64]:
        return all_distances(documents.bag_of(column, sample), bags, documents.part.segment.vectors)

    alone = is_single_threaded()
    solved = ((column, solve(column)) for column in columns) if alone else map_ahead(solve, columns)
    yield from ((positions, column, distances) for column, distances in solved)


def _choose(view: View, gamma: float, weights: Weights) -> StoredSample:
    """Take the sample of the view; no document has a distance from it yet."""
    sampled = view.sampled_bags(gamma, weights)
    word_ids, first, words = np.unique(_word_ids(sampled.vectors), return_index=True, return_inverse=True)
    packed = Bags.of([_sorted_bag(words[bag.words], bag.weights).bag for bag in sampled.bags])
    nothing = np.empty(0, np.int64), np.empty((0, len(packed)))
    return StoredSample(packed, word_ids, sampled.vectors[first], view.documents_with_bag, *nothing)


def _sorted_bag(
    words: NDArray[np.int64], weights: NDArray[np.float64], vectors: NDArray[np.float32] | None = None
) -> QueryBag:
    """Return the bag of `words` (m,) in any order, with their `vectors` (m, d), if given.

    Words with the same vector are the same word here.
    """
    distinct, first, positions = np.unique(words, return_index=True, return_inverse=True)
    own = np.empty((len(words), 0), np.float32) if vectors is None else vectors
    amounts = np.bincount(positions, weights).astype(np.float64, copy=False)
    return QueryBag(Bag(distinct.astype(np.int32), amounts), own[first])


def _word_ids(vectors: NDArray[np.float32]) -> _Ids:
    """Return an id (v,) of each word vector (v, d), the same in every segment and process."""
    stored = np.ascontiguousarray(vectors, "<f4")
    return np.array([short_checksum(row) for row in stored], np.uint64).astype(np.int64)
