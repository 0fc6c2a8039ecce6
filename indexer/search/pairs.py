"""The nearest pairs of documents of a collection, and the graph of the k nearest neighbours of each."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.files.arrays import Arrays, Kinds, is_within, read_arrays, write_arrays
from moverank.indexer.files.checksums import checksum, joined_checksum
from moverank.indexer.options import Progress
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.search.differences import Facts, FactsIn, Stated
from moverank.indexer.search.document_words import row_words
from moverank.indexer.search.encoded_documents import whole_documents
from moverank.indexer.search.ordering import smallest_first
from moverank.indexer.search.phases import Search, answer_many
from moverank.indexer.search.query import Query
from moverank.indexer.search.view import View
from moverank.indexer.store import Reader
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import inverse_document_frequency, with_factors
from moverank.rerank.distance.near_pairs import Limit, NearPairs
from moverank.rerank.distance.near_words import NearWords
from moverank.rerank.ranking import StageCounts

_KEPT = 7 * 24 * 3600.0  # seconds for which an unfinished run can be continued
_MOST_FILES, _MOST_BYTES = 8, 256 * 2**20  # of a collection's unfinished runs; older files are removed
_SAVE_SECONDS = 20.0
_SOME = 10  # hits of each document by which the largest total of the nearest pairs is estimated


@dataclass(frozen=True, slots=True, eq=False)
class FoundPairs:
    """Ids of the documents of each pair, `first` (p,) and `second` (p,), and distances (p,), increasing.

    `first` < `second`, except in the pairs of `deduplicated` and `find_pairs_of`. `ids` (n,), increasing, are those of
    all documents that were compared; `counts` are the cascade's, over the `compared` pairs.
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


@dataclass(frozen=True, slots=True)
class Pair:
    """Two documents, by their `keys` and `titles`, and their distance.

    `unknown_words` are, of each document, the words without a vector that the other lacks. `differences` are, of each,
    the negations, numbers, quantities, dates and limiting words that the other lacks; see `differences.stated`.
    `beginnings` are those of the texts of documents without a title, and the titles of others.
    """

    keys: tuple[str, str]
    titles: tuple[str, str]
    distance: float
    unknown_words: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    differences: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    beginnings: tuple[str, str] = ("", "")

    @property
    def differ(self) -> bool:
        """Return whether the documents differ in words without a vector."""
        return any(self.unknown_words)

    @classmethod
    def of(cls, one: "PairedDocument", other: "PairedDocument", distance: float) -> "Pair":
        """Return a pair of documents."""
        return cls(
            (one.key, other.key),
            (one.title, other.title),
            distance,
            _apart(one.unknown_words, other.unknown_words),
            _unshared(one.stated, other.stated),
            (one.title or one.beginning, other.title or other.beginning),
        )


class PairedDocument(NamedTuple):
    """A document of a pair: its words without a vector, what it states, and the beginning of its text."""

    key: str
    title: str
    unknown_words: Sequence[str]
    stated: Stated
    beginning: str


def _unshared(one: Stated, other: Stated) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what each of two documents states and the other does not, as it is written."""
    first, second = _apart(one, other)
    return tuple(one[name] for name in first), tuple(other[name] for name in second)


def _apart(one: Iterable[str], other: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what each of two sets has and the other lacks."""
    first, second = set(one), set(other)
    return tuple(sorted(first - second)), tuple(sorted(second - first))


@dataclass(frozen=True, slots=True)
class Pairs:
    """The `pairs` that were found, nearest first; of `Collection.pairs`, all others are proven to be farther.

    `compared` is the number of all pairs, `counts` are the cascade's, `ranked_by` names the distance. `why_empty` says
    why no document passes the filter, if none does.
    """

    pairs: tuple[Pair, ...]
    compared: int
    counts: StageCounts
    ranked_by: str
    why_empty: str | None = None

    @classmethod
    def of(
        cls, found: FoundPairs, documents: Mapping[int, PairedDocument], ranked_by: str, why_empty: str | None = None
    ) -> "Pairs":
        """Return the pairs that were found, of `documents` by id."""
        ids = zip(found.first.tolist(), found.second.tolist(), found.distances.tolist(), strict=True)
        pairs = tuple(Pair.of(documents[one], documents[other], distance) for one, other, distance in ids)
        return cls(pairs, found.compared, found.counts, ranked_by, why_empty)

    @property
    def clusters(self) -> tuple[tuple[str, ...], ...]:
        """Return the keys of each group that the pairs connect, the largest group first."""
        return tuple(tuple(group) for group in _connected([pair.keys for pair in self.pairs]))

    @property
    def unknown_words(self) -> dict[str, tuple[str, ...]]:
        """Return, by key, a document's words without a vector that another document of one of its pairs lacks."""
        words: dict[str, set[str]] = {}
        for pair in self.pairs:
            for key, own in zip(pair.keys, pair.unknown_words, strict=True):
                words.setdefault(key, set()).update(own)
        return {key: tuple(sorted(own)) for key, own in words.items()}


def check_pair_ranking(ranking: RankingSpec, *, far: bool) -> None:
    """Raise UsageError for a ranking that is not the same from both sides, or not exact.

    `far`: words without a vector are far from all others, so they need weights.
    """
    if not is_wmd(ranking):
        raise UsageError(f"such pairs are compared by wmd or pwmd, not by {ranking}: both sides count alike there")
    if far and not ranking.can_have_far_words:
        raise UsageError(
            f"words without a vector have no weight by weights={ranking.weights}: ignore them, or choose tf or tfidf"
        )


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
    resumed: bool = True,
) -> FoundPairs:
    """Find all pairs of documents whose distance is at most `within`, or the `k` nearest of them.

    The distance is WMD with the gamma and the weights of `ranking`. `allowed` are the ids of documents considered,
    None: all. `far`: words without a vector are far from all others. `progress` is called after each document. An
    interrupted run continues after the last document done, from a file in the collection's directory, unless it is not
    `resumed`.
    """
    ids, bags, vectors, known = _compared(view, ranking, far=far)
    if allowed is not None:
        rows = np.flatnonzero(np.isin(ids, allowed))
        ids, bags = ids[rows], bags.take(rows)
    weights = ranking.gamma, ranking.weights, {part.title_weight for part in view.segments}
    compared = checksum(repr((str(ranking), *weights, far)).encode() + ids.tobytes())

    def near_words(*of: Any) -> NearWords:
        return view.computed.get(("near words", compared), lambda: NearWords.of(*of))

    directory = view.directory if resumed else None
    return pairs_of_bags(ids, bags, vectors, within, k, directory, progress, known, near_words)


def find_pairs_of(
    new: NDArray[np.int64], view: View, ranking: RankingSpec, within: float, facts_in: FactsIn, progress: Progress
) -> tuple[FoundPairs, NDArray[np.int64]]:
    """Find the pairs of one of the documents `new` with any other one whose distance is at most `within`.

    `first` are new documents; words without a vector are far if the weights allow it; the rest is as in `find_pairs`. A
    new document whose bag another new one of a smaller id has, and that states the same, is in no pair: its distances
    are the same. The ids of these copies are returned, too.
    """
    ids, bags, vectors, known = _compared(view, ranking, far=ranking.can_have_far_words)
    rows, equal = np.flatnonzero(np.isin(ids, new)), dict[bytes, list[int]]()
    for row in rows.tolist():
        equal.setdefault(bags[row].words.tobytes() + bags[row].weights.tobytes(), []).append(row)
    several = [row for group in equal.values() if len(group) > 1 for row in group]
    facts = facts_in(ids[several].tolist())
    first_of = dict[tuple[bytes, frozenset[str]], int]()
    for bag, group in equal.items():
        for row in group:
            first_of.setdefault((bag, frozenset(facts[int(ids[row])].stated if len(group) > 1 else ())), row)
    once = np.array(sorted(first_of.values()), np.int64)
    order = np.append(once, np.setdiff1d(np.arange(len(ids)), rows))
    found = pairs_of_bags(ids[order], bags.take(order), vectors, within, None, None, progress, known, count=len(once))
    return replace(found, ids=np.sort(ids[order])), ids[np.setdiff1d(rows, once)]


def pairs_by_searches(
    ids: NDArray[np.int64],
    search_of: Callable[[int, int, float], Search | str],
    within: float,
    k: int | None,
    progress: Progress,
) -> FoundPairs:
    """Find the pairs of documents `ids` (n,), increasing, by the larger of their totals with either as the query.

    `search_of` takes an id, a number of hits and a largest total; it returns a search, or why there is none. A pair is
    within a limit if each document is a hit of the other within the limit, so certified searches find all pairs.
    """
    if k is not None:
        some = _mutual(ids, search_of, min(len(ids), _SOME + 2 * k // max(1, len(ids))), within, progress)
        if len(some.distances) >= k:
            last = float(some.distances[k - 1])
            within = min(within, last + 1e-9 * abs(last) + 1e-12)
    found = _mutual(ids, search_of, len(ids), within, progress)
    return replace(found, first=found.first[:k], second=found.second[:k], distances=found.distances[:k])


def _mutual(
    ids: NDArray[np.int64],
    search_of: Callable[[int, int, float], Search | str],
    most: int,
    within: float,
    progress: Progress,
) -> FoundPairs:
    """Return the pairs whose documents are among the `most` hits of each other within a total, nearest first."""
    columns = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    counts, searched, searches = StageCounts(), 0, (search_of(id_, most, within) for id_ in ids.tolist())
    for number, (_, outcome) in enumerate(answer_many(searches)):
        if outcome is not None:
            hits = outcome.ids[outcome.values <= within]
            columns.append((np.full(len(hits), ids[number]), hits, outcome.values[outcome.values <= within]))
            counts, searched = counts + outcome.counts, searched + 1
        progress("Comparing", number + 1, len(ids), "documents")
    one, other, values = map(np.concatenate, zip(*columns, strict=True))
    low, high = np.minimum(one, other), np.maximum(one, other)
    order = np.lexsort((values, high, low))
    low, high, values = low[order], high[order], values[order]
    larger = 1 + np.flatnonzero((low[1:] == low[:-1]) & (high[1:] == high[:-1]))
    order, best = smallest_first(values[larger], np.arange(len(larger)), len(larger))
    return FoundPairs(ids, low[larger[order]], high[larger[order]], best, searched * (searched - 1) // 2, counts)


def pairs_of_bags(
    ids: NDArray[np.int64],
    bags: Bags,
    vectors: NDArray[np.float32],
    within: float,
    k: int | None,
    directory: Path | None,
    progress: Progress,
    known: NDArray[np.bool_] | None = None,
    near_words: Callable[..., NearWords] = NearWords.of,
    count: int | None = None,
) -> FoundPairs:
    """Find the nearest pairs of `bags` (n,) of documents `ids` (n,), over word `vectors` (v, d); see `find_pairs`.

    Words that are not `known` (v,) are far; None: all are known. `near_words` and `count` as of `NearPairs`.

    An interrupted run continues after the last row of a file in `directory`. Words are compared again; what a run with
    `k` does before the first row is not saved.
    """
    path = directory / f"pairs-{_checksum_of_run(bags, vectors, known, within, k)}" if directory else None
    state, rows = _State.read(path, len(ids)), len(ids) if count is None else count
    search, limit = NearPairs(bags, vectors, known, near_words, count), Limit(within, k)
    if k is not None and not state.done:
        limit.value = min(within, search.smallest_distance_of(k))
    elif k is not None:
        limit.value = state.limit
        limit.add(state.distances)
    saved = time.monotonic()
    try:
        for found in search.run(state.done, limit):
            state.add(found.row, found.others, found.distances, found.counts, limit.value)
            progress("Comparing", state.done, rows, "documents")
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


def _checksum_of_run(
    bags: Bags, vectors: NDArray[np.float32], known: NDArray[np.bool_] | None, within: float, k: int | None
) -> str:
    """Return a checksum of all that determines the pairs; words count by their vectors, not by their numbers."""
    used, words = np.unique(bags.words, return_inverse=True)
    has_vector = np.empty(0, bool) if known is None else known[used]
    about = repr((within, k, len(bags), vectors.shape[1], known is None)).encode()
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


def _compared(
    view: View, ranking: RankingSpec, *, far: bool
) -> tuple[NDArray[np.int64], Bags, NDArray[np.float32], NDArray[np.bool_] | None]:
    """Return `_all_words` if words without a vector are `far`, else `_documents`, and None: all words have a vector."""
    return _all_words(view, ranking) if far else (*_documents(view, ranking), None)


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
    """Like `_documents`, but with words without a vector; also return whether each word has one."""
    counts, statistics = view.scores.every_document(ranking.gamma)
    if counts.word_vectors is None or not len(view.scores.ids):
        return np.empty(0, np.int64), Bags.of([]), np.empty((0, view.dim), np.float32), np.empty(0, bool)
    factors = np.ones(len(statistics.document_frequencies))
    if ranking.weights == "tfidf":
        factors = inverse_document_frequency(statistics.document_frequencies, statistics.documents)
    bags = with_factors(Bags(counts.starts, counts.terms, counts.counts.astype(np.float64)), factors)
    rows = np.argsort(view.scores.ids)
    return view.scores.ids[rows], bags.take(rows), counts.word_vectors.vectors, counts.word_vectors.known


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

    def add(
        self, row: int, others: NDArray[np.int64], distances: NDArray[np.float64], counts: StageCounts, limit: float
    ) -> None:
        """Add the pairs of a row."""
        if len(others):
            self._rows.append(np.column_stack([np.full(len(others), row), others]))
            self._distances.append(distances)
        self.done, self.limit, self._counts = row + 1, limit, self._counts + counts

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
    searches = (
        Search(view, replace(query, words=row_words(part, row, query.ranking), without=id_, partial=False))
        for part, row, id_ in documents
    )
    ids = np.array([id_ for _, _, id_ in documents], np.int64)
    order = np.argsort(ids)
    increasing = ids[order]
    places, distances = np.full((len(ids), query.k), -1), np.full((len(ids), query.k), np.inf)
    for position, (_, outcome) in enumerate(answer_many(searches)):
        if outcome is not None:
            found = len(outcome.ids)
            places[position, :found] = order[np.searchsorted(increasing, outcome.ids)]
            distances[position, :found] = outcome.distances
        progress("Finding neighbours", position + 1, len(ids), "documents")
    shown = reader.shown(ids.tolist())
    return Neighbours(tuple(shown[id_].key for id_ in ids.tolist()), places, distances)
