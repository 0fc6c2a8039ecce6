"""Finds the nearest pairs of documents: of bags by WMD, in a run that can be continued, or by a search with each."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.arrays import Arrays, Kinds, is_within, read_arrays, write_arrays
from moverank.indexer.files.checksums import joined_checksum
from moverank.indexer.search.differences import Facts
from moverank.indexer.search.ordering import smallest_first
from moverank.indexer.search.phases import Search, answer_many
from moverank.indexer.values.pair_options import PairSearch
from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance.near_pairs import Limit, NearPairs, PairsOfRow
from moverank.rerank.distance.near_words import NearWords
from moverank.rerank.ranking import StageCounts

_KEPT = 7 * 24 * 3600.0  # seconds for which an unfinished run can be continued
_MOST_FILES, _MOST_BYTES = 8, 256 * 2**20  # of a collection's unfinished runs; older files are removed
_SAVE_SECONDS = 20.0
_SOME = 10  # hits of each document by which the largest total of the nearest pairs is estimated


@dataclass(frozen=True, slots=True, eq=False)
class FoundPairs:
    """Ids of the documents of each pair, `first` (p,) and `second` (p,), and distances (p,), increasing.

    `first` < `second`, except in the pairs of `deduplicated` and `PairSource.find_of`. `ids` (n,), increasing,
    are the ids of all compared documents; `counts` are the cascade's, over the `compared` pairs.
    """

    ids: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    distances: NDArray[np.float64]
    compared: int
    counts: StageCounts

    @property
    def documents(self) -> list[int]:
        """Return the ids of the documents of all pairs, increasing."""
        return [int(id_) for id_ in np.union1d(self.first, self.second)]

    def take(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "FoundPairs":
        """Return only the `chosen` pairs, a mask (p,) or places."""
        first, second, distances = self.first[chosen], self.second[chosen], self.distances[chosen]
        return replace(self, first=first, second=second, distances=distances)

    def differing(self, facts: Mapping[int, Facts]) -> NDArray[np.bool_]:
        """Return whether the documents of each pair (p,) state different things."""
        pairs = zip(self.first.tolist(), self.second.tolist(), strict=True)
        return np.array([facts[one].stated.keys() != facts[other].stated.keys() for one, other in pairs], bool)


class ComparedBags(NamedTuple):
    """The `bags` (n,) of documents `ids` (n,) over word `vectors` (v, d); not `known` (v,) ones are far, None: none."""

    ids: NDArray[np.int64]
    bags: Bags
    vectors: NDArray[np.float32]
    known: NDArray[np.bool_] | None = None

    def take(self, rows: NDArray[np.int64]) -> "ComparedBags":
        """Return only the documents at `rows` (m,), in that order."""
        return self._replace(ids=self.ids[rows], bags=self.bags.take(rows))


SearchOf = Callable[[int, int, float], Search | str]
"""Returns a search with a document by its id, a number of hits and a largest total, or why there is none."""


def pairs_by_searches(ids: NDArray[np.int64], search_of: SearchOf, search: PairSearch) -> FoundPairs:
    """Find the pairs of documents `ids` (n,), increasing, by the larger of their totals with either as the query.

    A pair is within a limit if each document is a hit of the other within the limit, so certified searches find all
    pairs.
    """
    k = search.k
    if k is not None:
        some = _mutual(ids, search_of, min(len(ids), _SOME + 2 * k // max(1, len(ids))), search)
        if len(some.distances) >= k:
            last = float(some.distances[k - 1])
            search = replace(search, within=min(search.within, last + 1e-9 * abs(last) + 1e-12))
    found = _mutual(ids, search_of, len(ids), search)
    return found.take(np.arange(len(found.distances))[:k])


def _mutual(ids: NDArray[np.int64], search_of: SearchOf, most: int, search: PairSearch) -> FoundPairs:
    """Return the pairs whose documents are among the `most` hits of each other within a total, nearest first."""
    columns = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    counts, searched, within = StageCounts(), 0, search.within
    searches = (search_of(id_, most, within) for id_ in ids.tolist())
    for number, (_, outcome) in enumerate(answer_many(searches)):
        if outcome is not None:
            hits = outcome.ids[outcome.values <= within]
            columns.append((np.full(len(hits), ids[number]), hits, outcome.values[outcome.values <= within]))
            counts, searched = counts + outcome.counts, searched + 1
        search.progress("Comparing", number + 1, len(ids), "documents")
    one, other, values = map(np.concatenate, zip(*columns, strict=True))
    low, high = np.minimum(one, other), np.maximum(one, other)
    order = np.lexsort((values, high, low))
    low, high, values = low[order], high[order], values[order]
    larger = 1 + np.flatnonzero((low[1:] == low[:-1]) & (high[1:] == high[:-1]))
    order, best = smallest_first(values[larger], np.arange(len(larger)), len(larger))
    return FoundPairs(ids, low[larger[order]], high[larger[order]], best, searched * (searched - 1) // 2, counts)


def pairs_of_bags(
    documents: ComparedBags,
    search: PairSearch,
    directory: Path | None = None,
    near_words: Callable[..., NearWords] = NearWords.of,
    count: int | None = None,
) -> FoundPairs:
    """Find the nearest pairs of `documents`; `near_words` and `count` as of `NearPairs`.

    An interrupted run continues after the last row of a file in `directory`, None: it begins again. Words are compared
    again; the work of a run with `k` before the first row is not saved.
    """
    ids, (within, k) = documents.ids, (search.within, search.k)
    path = directory / f"pairs-{_checksum_of_run(documents, search)}" if directory else None
    state, rows = _State.read(path, len(ids)), len(ids) if count is None else count
    near, limit = NearPairs(*documents[1:], near_words, count), Limit(within, k)
    if k is not None and not state.done:
        limit.value = min(within, near.smallest_distance_of(k))
    elif k is not None:
        limit.value = state.limit
        limit.add(state.distances)
    saved = time.monotonic()
    try:
        for found in near.run(state.done, limit):
            state.add(found, limit.value)
            search.progress("Comparing", state.done, rows, "documents")
            if time.monotonic() - saved > _SAVE_SECONDS:
                _write(state, path)
                saved = time.monotonic()
    except BaseException:
        _write(state, path)
        raise
    if path:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        _drop_old(path.parent)
    return state.result(ids, k, rows)


def _checksum_of_run(documents: ComparedBags, search: PairSearch) -> str:
    """Return a checksum of all that determines the pairs; words count by their vectors, not by their numbers."""
    _, bags, vectors, known = documents
    used, words = np.unique(bags.words, return_inverse=True)
    has_vector = np.empty(0, bool) if known is None else known[used]
    about = repr((search.within, search.k, len(bags), vectors.shape[1], known is None)).encode()
    arrays = (bags.starts, words, bags.weights, vectors[used], has_vector)
    return joined_checksum([about, *map(np.ascontiguousarray, arrays)])


def _write(state: "_State", path: Path | None) -> None:
    """Write the file from which a run continues, and remove the oldest files beyond the limits."""
    state.write(path)
    if path:
        _drop_old(path.parent)


def _drop_old(directory: Path) -> None:
    """Remove the files of unfinished runs that are too old, or too many, or too large together."""
    with suppress(OSError):  # another process removes the same files
        found = [(path.stat().st_mtime, path.stat().st_size, path) for path in directory.glob("pairs-*")]
        total = 0
        for number, (written, size, path) in enumerate(sorted(found, reverse=True)):
            total += size
            if written < time.time() - _KEPT or number >= _MOST_FILES or total > _MOST_BYTES:
                path.unlink(missing_ok=True)


_KINDS: Kinds = {"rows": ("<i8", 2), "distances": ("<f8", 1), "numbers": ("<f8", 1)}


class _State:
    """The pairs found so far, of the first `done` documents, and the limit that they set."""

    def __init__(self, rows: NDArray[np.int64], distances: NDArray[np.float64], numbers: NDArray[np.float64]) -> None:
        self._rows, self._distances = [rows], [distances]
        self.done, self.limit = int(numbers[0]), float(numbers[1])
        self._counts = StageCounts(*(int(count) for count in numbers[2:]))

    @classmethod
    def read(cls, path: Path | None, documents: int) -> "_State":
        """Return the state in a file; the initial state if the file is missing, damaged or forged."""
        stored = read_arrays(path, kinds=_KINDS)
        if stored is not None and _is_valid(stored, documents):
            return cls(stored["rows"], stored["distances"], stored["numbers"])
        return cls(np.empty((0, 2), np.int64), np.empty(0), np.array([0, np.inf, 0, 0, 0, 0, 0]))

    @property
    def distances(self) -> NDArray[np.float64]:
        """Return the distances (p,) of all pairs."""
        return np.concatenate(self._distances)

    def add(self, found: PairsOfRow, limit: float) -> None:
        """Add the pairs of a row."""
        if len(found.others):
            self._rows.append(np.column_stack([np.full(len(found.others), found.row), found.others]))
            self._distances.append(found.distances)
        self.done, self.limit, self._counts = found.row + 1, limit, self._counts + found.counts

    def write(self, path: Path | None) -> None:
        """Write the state to a file once a document is done; see `write_arrays`."""
        if not self.done:
            return
        numbers = np.array([self.done, self.limit, *self._counts.to_dict().values()], np.float64)
        write_arrays(path, {"rows": np.concatenate(self._rows), "distances": self.distances, "numbers": numbers})

    def result(self, ids: NDArray[np.int64], k: int | None, count: int) -> FoundPairs:
        """Return the pairs, at most `k`, by distance, equal ones (see `smallest_first`) in the order of the documents.

        The first `count` documents were compared with all later ones.
        """
        rows = np.concatenate(self._rows)
        of_documents = rows[:, 0] * len(ids) + rows[:, 1]  # increase in the order of the pairs' documents
        order, distances = smallest_first(self.distances, of_documents, len(rows) if k is None else k)
        compared = count * (2 * len(ids) - count - 1) // 2
        return FoundPairs(ids, ids[rows[order, 0]], ids[rows[order, 1]], distances, compared, self._counts)


def _is_valid(stored: Arrays, documents: int) -> bool:
    """Return whether arrays are a state of so many `documents`: each pair has a row that is done and a later one."""
    rows, distances, numbers = stored["rows"], stored["distances"], stored["numbers"]
    return bool(
        rows.shape == (len(distances), 2)
        and len(numbers) == 7
        and is_within(numbers[:1], 0, documents + 1)
        and numbers[0] % 1 == 0
        and is_within(numbers[2:], 0, 2.0**63)
        and numbers[1] >= 0
        and is_within(distances, 0, np.inf)
        and is_within(rows[:, 0], 0, numbers[0])
        and is_within(rows[:, 1], 0, documents)
        and np.all(rows[:, 0] < rows[:, 1])
        and len(np.unique(rows, axis=0)) == len(rows)
    )
