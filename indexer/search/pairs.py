"""The nearest pairs of documents of a collection, and clusters of them."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.arguments import finite_number, limit, text, whole_number
from moverank.indexer.errors import UsageError
from moverank.indexer.files.cached_arrays import read_arrays, write_arrays
from moverank.indexer.files.checksums import checksum
from moverank.indexer.options import SearchOptions, Where
from moverank.indexer.progress import Progress
from moverank.indexer.ranking_spec import RankingSpec, resolve
from moverank.indexer.search.batch import answer_many
from moverank.indexer.search.encoded_documents import whole_documents
from moverank.indexer.search.query import Query
from moverank.indexer.search.view import View
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import inverse_document_frequency, with_idf
from moverank.rerank.distance.near_pairs import Limit, NearPairs
from moverank.rerank.ranking import StageCounts

_KEPT = 7 * 24 * 3600.0  # seconds for which an unfinished run can be continued
_SAVE_SECONDS = 20.0
_SOME = 10  # hits of each document by which the largest total of the nearest pairs is estimated


@dataclass(frozen=True, slots=True, eq=False)
class FoundPairs:
    """Ids of the documents of each pair, `first` (p,) < `second` (p,), and distances (p,), increasing.

    `counts` are those of the cascade, over the `compared` pairs.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    distances: NDArray[np.float64]
    compared: int
    counts: StageCounts


@dataclass(frozen=True, slots=True)
class Pair:
    """Two documents, by their `keys` and `titles`, and their distance.

    `unknown_words` are, of each document, the words without a vector that the other lacks: the distance ignores them.
    """

    keys: tuple[str, str]
    titles: tuple[str, str]
    distance: float
    unknown_words: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def differ(self) -> bool:
        """Return whether the documents differ in words without a vector."""
        return any(self.unknown_words)

    @classmethod
    def of(
        cls,
        keys: tuple[str, str],
        titles: tuple[str, str],
        distance: float,
        one: Sequence[str],
        other: Sequence[str],
    ) -> "Pair":
        """Return a pair of documents whose words without a vector are `one` and `other`."""
        first, second = set(one), set(other)
        return cls(keys, titles, distance, (tuple(sorted(first - second)), tuple(sorted(second - first))))


@dataclass(frozen=True, slots=True)
class Pairs:
    """The nearest `pairs` of a collection, nearest first; all others are proven to be farther.

    `compared` is the number of all pairs, `counts` are those of the cascade, `ranked_by` is the distance. `why_empty`:
    why no document passes the filter, if none does.
    """

    pairs: tuple[Pair, ...]
    compared: int
    counts: StageCounts
    ranked_by: str
    why_empty: str | None = None

    @property
    def clusters(self) -> tuple[tuple[str, ...], ...]:
        """Return the keys of each group that the pairs connect, the largest group first."""
        return tuple(tuple(group) for group in _connected([pair.keys for pair in self.pairs]))

    @property
    def unknown_words(self) -> dict[str, tuple[str, ...]]:
        """Return by key the words without a vector that a document has, and another of one of its pairs lacks."""
        words: dict[str, set[str]] = {}
        for pair in self.pairs:
            for key, own in zip(pair.keys, pair.unknown_words, strict=True):
                words.setdefault(key, set()).update(own)
        return {key: tuple(sorted(own)) for key, own in words.items()}


def pair_options(
    within: float | None,
    k: int | None,
    rank: str | None,
    gamma: float | None,
    where: Where | None,
    own: RankingSpec,
) -> tuple[SearchOptions, float]:
    """Return the options of a search for pairs, and their largest distance; see `Collection.pairs`.

    `own` is the collection's ranking. Raises UsageError for invalid arguments.
    """
    if within is None and k is None:
        raise UsageError("give the largest distance of a pair, the number of pairs, or both")
    most = inf if within is None else limit("the largest distance of a pair", within)
    if k is not None:
        whole_number("k", k)
    gamma = None if gamma is None else finite_number("gamma", gamma)
    if rank is None:
        used = own.gamma if gamma is None else gamma
        rank = f"{'pwmd' if used else 'wmd'}:weights={resolve(None, None, own).weights}"
        gamma = used or None
    return SearchOptions(rank=rank, gamma=gamma, where=where), most


def far_words(unknown: str) -> bool:
    """Return whether words without a vector are far from all others; UsageError for an unknown choice."""
    if text("unknown", unknown) not in ("ignored", "far"):
        raise UsageError(f"words without a vector are ignored or far, not {unknown!r}")
    return unknown == "far"


def check_pair_ranking(ranking: RankingSpec) -> None:
    """Raise UsageError for a ranking that is not the same from both sides, or not exact."""
    if not is_wmd(ranking):
        raise UsageError(f"such pairs are compared by wmd or pwmd, not by {ranking}: both sides count alike there")


def is_wmd(ranking: RankingSpec) -> bool:
    """Return whether a ranking is WMD itself; UsageError if it has no totals or distances."""
    if ranking.single_scorer:
        raise UsageError(f"pairs are compared by wmd or pwmd, or a sum, not by {ranking}: a score is no distance")
    return ranking.plain in ("wmd", "pwmd")


def find_pairs(
    view: View,
    ranking: RankingSpec,
    within: float,
    k: int | None,
    allowed: NDArray[np.int64] | None,
    progress: Progress,
    *,
    far: bool = False,
) -> FoundPairs:
    """Find all pairs of documents whose distance is at most `within`, or the `k` nearest of them.

    The distance is WMD with the gamma and the weights of `ranking`. `allowed` are the ids of documents considered,
    None: all. `far`: words without a vector are far from all others. `progress` is called after each document. An
    interrupted run continues where it stopped, from a file in the collection's directory.
    """
    ids, bags, vectors, known = _all_words(view, ranking) if far else (*_documents(view, ranking), None)
    if allowed is not None:
        rows = np.flatnonzero(np.isin(ids, allowed))
        ids, bags = ids[rows], bags.take(rows)
    name = checksum(
        repr((view.revision, str(ranking), ranking.gamma, ranking.weights, within, k, far)).encode() + ids.tobytes()
    )
    path = view.directory / f"pairs-{name}" if view.directory else None
    return pairs_of_bags(ids, bags, vectors, within, k, path, progress, known)


def pairs_by_searches(
    view: View,
    ids: NDArray[np.int64],
    query_of: Callable[[int, int, float], Query | str],
    within: float,
    k: int | None,
    progress: Progress,
) -> FoundPairs:
    """Find the pairs of documents `ids` (n,), increasing, by the larger of both totals: with either as the query.

    `query_of` returns the query for a document, its number of hits and the largest total, or why there is none. A pair
    is within a limit if each document is a hit of the other within it, so that certified searches find all pairs.
    """
    if k is not None:
        some = _mutual(view, ids, query_of, min(len(ids), _SOME + 2 * k // max(1, len(ids))), within, progress)
        if len(some.distances) >= k:
            last = float(some.distances[k - 1])
            within = min(within, last + 1e-9 * abs(last) + 1e-12)
    found = _mutual(view, ids, query_of, len(ids), within, progress)
    return FoundPairs(found.first[:k], found.second[:k], found.distances[:k], found.compared, found.counts)


def _mutual(
    view: View,
    ids: NDArray[np.int64],
    query_of: Callable[[int, int, float], Query | str],
    most: int,
    within: float,
    progress: Progress,
) -> FoundPairs:
    """Return the pairs of which each is among the `most` hits of the other within a total, nearest first."""
    columns = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    counts, asked, queries = StageCounts(), 0, (query_of(id_, most, within) for id_ in ids.tolist())
    for number, (_, outcome) in enumerate(answer_many(view, queries)):
        if outcome is not None:
            hits = outcome.ids[outcome.values <= within]
            columns.append((np.full(len(hits), ids[number]), hits, outcome.values[outcome.values <= within]))
            counts, asked = counts + outcome.counts, asked + 1
        progress("Comparing", number + 1, len(ids), "documents")
    one, other, values = map(np.concatenate, zip(*columns, strict=True))
    low, high = np.minimum(one, other), np.maximum(one, other)
    order = np.lexsort((values, high, low))
    low, high, values = low[order], high[order], values[order]
    larger = 1 + np.flatnonzero((low[1:] == low[:-1]) & (high[1:] == high[:-1]))
    best = larger[np.argsort(values[larger], kind="stable")]
    return FoundPairs(low[best], high[best], values[best], asked * (asked - 1) // 2, counts)


def pairs_of_bags(
    ids: NDArray[np.int64],
    bags: Bags,
    vectors: NDArray[np.float32],
    within: float,
    k: int | None,
    path: Path | None,
    progress: Progress,
    known: NDArray[np.bool_] | None = None,
) -> FoundPairs:
    """Find the nearest pairs of `bags` (n,) of documents `ids` (n,), over word `vectors` (v, d); see `find_pairs`.

    Words that are not `known` (v,) are far; None: all are known.

    `path` is the file by which an interrupted run continues.
    """
    state = _State.read(path)
    search, limit = NearPairs(bags, vectors, known), Limit(within, k)
    if k is not None and not state.done:
        limit.value = min(within, search.smallest_distance_of(k))
    elif k is not None:
        limit.value = state.limit
        limit.add(state.distances)
    saved = time.monotonic()
    try:
        for found in search.run(state.done, limit):
            state.add(found.row, found.others, found.distances, found.counts, limit.value)
            progress("Comparing", state.done, len(ids), "documents")
            if time.monotonic() - saved > _SAVE_SECONDS:
                state.write(path)
                saved = time.monotonic()
    except BaseException:
        state.write(path)
        raise
    if path:
        _remove(path)
    return state.result(ids, k)


def _remove(path: Path) -> None:
    """Remove the file of a run that has ended, and those of others that were left unfinished long ago."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        for other in path.parent.glob("pairs-*"):
            if other.stat().st_mtime < time.time() - _KEPT:
                other.unlink(missing_ok=True)


def _connected(pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the keys of each group connected by `pairs`, the largest group first, then in the order of the pairs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = {key: i for i, key in enumerate(dict.fromkeys(key for pair in pairs for key in pair))}
    rows, columns = ([number[pair[side]] for pair in pairs] for side in (0, 1))
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(number), len(number)))
    _, labels = connected_components(links, directed=False)
    groups = dict[int, list[str]]()
    for key, label in zip(number, labels.tolist(), strict=True):
        groups.setdefault(label, []).append(key)
    return sorted(groups.values(), key=len, reverse=True)


def _documents(view: View, ranking: RankingSpec) -> tuple[NDArray[np.int64], Bags, NDArray[np.float32]]:
    """Return the ids (n,), increasing, of all documents, their bags, and the vectors of all words."""
    if not view.segments:
        return np.empty(0, np.int64), Bags.of([]), np.empty((0, view.dim), np.float32)
    documents = whole_documents(view, ranking.gamma, ranking.weights)
    ids = np.concatenate([part.segment.ids[part.live] for part in view.segments])
    rows = np.argsort(ids)
    return ids[rows], documents.bags.take(rows), documents.vectors


def _all_words(
    view: View, ranking: RankingSpec
) -> tuple[NDArray[np.int64], Bags, NDArray[np.float32], NDArray[np.bool_]]:
    """Return as `_documents`, with the words that have no vector, and whether each word has one."""
    counts, statistics = view.scores.every_document(ranking.gamma)
    if counts.word_vectors is None or not len(view.scores.ids):
        return np.empty(0, np.int64), Bags.of([]), np.empty((0, view.dim), np.float32), np.empty(0, bool)
    idf = np.ones(len(statistics.document_frequencies))
    if ranking.weights == "tfidf":
        idf = inverse_document_frequency(statistics.document_frequencies, statistics.documents)
    bags = with_idf(Bags(counts.starts, counts.terms, counts.counts.astype(np.float64)), idf)
    rows = np.argsort(view.scores.ids)
    return view.scores.ids[rows], bags.take(rows), counts.word_vectors.vectors, counts.word_vectors.known


class _State:
    """The pairs found so far, of the first `done` documents, and the limit that they set."""

    def __init__(self, rows: NDArray[np.int64], distances: NDArray[np.float64], numbers: NDArray[np.float64]) -> None:
        self._rows, self._distances = [rows], [distances]
        self.done, self.limit = int(numbers[0]), float(numbers[1])
        self._counts = StageCounts(*(int(count) for count in numbers[2:]))

    @classmethod
    def read(cls, path: Path | None) -> "_State":
        """Return the state in a file; that of the beginning if there is none, or if it is damaged."""
        stored = read_arrays(path)
        if stored is not None:
            return cls(stored["rows"], stored["distances"], stored["numbers"])
        return cls(np.empty((0, 2), np.int64), np.empty(0), np.array([0, np.inf, 0, 0, 0, 0, 0]))

    @property
    def distances(self) -> NDArray[np.float64]:
        """Return the distances (p,) of all pairs."""
        return np.concatenate(self._distances)

    def add(
        self, row: int, others: NDArray[np.int64], distances: NDArray[np.float64], counts: StageCounts, limit: float
    ) -> None:
        """Add the pairs of a row."""
        if len(others):
            self._rows.append(np.column_stack([np.full(len(others), row), others]))
            self._distances.append(distances)
        self.done, self.limit, self._counts = row + 1, limit, self._counts + counts

    def write(self, path: Path | None) -> None:
        """Write the state to a file, once it has anything; see `write_arrays`."""
        if not self.done:
            return
        numbers = np.array([self.done, self.limit, *self._counts.as_dict().values()], np.float64)
        write_arrays(path, {"rows": np.concatenate(self._rows), "distances": self.distances, "numbers": numbers})

    def result(self, ids: NDArray[np.int64], k: int | None) -> FoundPairs:
        """Return the pairs, at most `k`, by distance, equal ones in the order of the documents."""
        rows, distances = np.concatenate(self._rows), self.distances
        order = np.lexsort((rows[:, 1], rows[:, 0], distances))[:k]
        first, second = ids[rows[order, 0]], ids[rows[order, 1]]
        return FoundPairs(first, second, distances[order], len(ids) * (len(ids) - 1) // 2, self._counts)
