"""Matches documents with the watches of a collection, in the transaction that adds or changes the documents.

A bound of all documents and watches, by the words that they do not share, leaves few documents for each watch; the
search among these is the same as any exact search.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.documents import Event
from moverank.indexer.errors import UsageError
from moverank.indexer.filters import alternatives, matching_ids
from moverank.indexer.options import Where
from moverank.indexer.ranked_texts import QueryText
from moverank.indexer.ranking_spec import RankingSpec, Weights
from moverank.indexer.search.counted_query import TextCounter, part_counts
from moverank.indexer.search.query import QueryWords
from moverank.indexer.search.query_parser import without_words
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.encoder_fit import KnownWords, known_words, stored_frequencies
from moverank.indexer.snapshot.segment import Terms, keep_words
from moverank.indexer.store import Reader, StoredWatch, Writer
from moverank.indexer.watching.watches import Watch, checked_watch
from moverank.indexer.word_factors import WordFactors, check_weights
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import Frequencies, PartCounts, weigh
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.unshared_words import SHARES, NearestOthers, unshared_cost
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Distance
from moverank.rerank.runtime.parallel import batches, map_ahead
from moverank.rerank.runtime.thread_pool import single_threaded_blas
from moverank.rerank.words.embedding import Embedding

_DOCUMENTS, _WATCHES = 2000, 256  # whose distances are bounded together
_FEW = 0.01  # share of the watches whose distances from a document take less time than more costs of its words
_BOUNDED = ("wmd", "pwmd", "rwmd", "chamfer")  # distances that are at least the documents' side of RWMD

_Floats = NDArray[np.float64]
_Rows = NDArray[np.int64]


class Counted(NamedTuple):
    """Documents or watches by their words with a vector; words of `counts` (n,) are positions among these `words`."""

    counts: PartCounts
    words: KnownWords


class _Found(NamedTuple):
    """A document `id` within the distance of a watch."""

    id: int
    watch: Watch
    distance: float


@dataclass(frozen=True, slots=True, eq=False)
class WatchPool:
    """The watches (w,) that have a word with a vector, ordered by their distances, and their words.

    `made_for` are the stored watches, the vectors and the rules of words that they were counted for. `has_words`: any
    of them has a word, with a vector or without.
    """

    watches: tuple[Watch, ...]
    counted: Counted  # words have no ids of the store
    others: NearestOthers
    made_for: tuple[object, ...]
    has_words: bool

    @classmethod
    def current(
        cls, before: "WatchPool | None", stored: Sequence[StoredWatch], settings: Settings, embedding: Embedding
    ) -> "WatchPool":
        """Return the pool `before` if it still fits, else a new one; `settings` and `embedding` are the collection's.

        Raises UsageError for a watch whose weights the vectors no longer determine.
        """
        made_for = (list(stored), settings.tokens_digest(), embedding.fingerprint)
        if before is not None and before.made_for == made_for:
            return before
        watches = sorted(map(Watch.of, stored), key=_comparison)
        for watch in watches:
            try:
                check_weights(watch.spec.weights, embedding)
            except UsageError as error:
                raise UsageError(f"the watch {watch.name!r} has to be removed or added again: {error}") from error
        return cls._counted(watches, settings, embedding, made_for)

    @classmethod
    def _counted(
        cls, watches: Sequence[Watch], settings: Settings, embedding: Embedding, made_for: tuple[object, ...]
    ) -> Self:
        counter = TextCounter(settings.tokenizer)
        counted = counter.count([watch.query for watch in watches])
        texts = sorted(counter.words)
        vectors, known = embedding.spread(texts)
        kept = np.flatnonzero(known)
        all_counts = part_counts(counted, counter.places(texts))
        rows, counts = keep_words(np.arange(len(watches)), all_counts, np.arange(len(texts)), kept)
        words = KnownWords(np.zeros(len(kept), np.int64), vectors[kept], [texts[i] for i in kept.tolist()])
        kept_watches, others = tuple(watches[row] for row in rows.tolist()), NearestOthers(words.texts, words.vectors)
        return cls(kept_watches, Counted(counts, words), others, made_for, bool(texts))

    def with_ids(self, ids: Sequence[int]) -> "WatchPool":
        """Return the pool with the ids (v,) of its words in the store, 0 for words that it lacks."""
        words = self.counted.words._replace(ids=np.array(ids, np.int64))
        return replace(self, counted=self.counted._replace(words=words))


def _comparison(watch: Watch) -> tuple[Distance, float, Weights]:
    """Return the distance of a watch, and what its bags are weighted by."""
    return watch.spec.distances[0].distance, watch.spec.gamma, watch.spec.weights


def add_watch(
    writer: Writer,
    settings: Settings,
    embedding: Embedding,
    name: str,
    query: QueryText,
    within: float,
    ranking: RankingSpec,
    where: Where | None,
) -> Watch:
    """Store a watch, or replace the one of its name, and return it; `settings` and `embedding` are the collection's.

    Raises UsageError for an invalid argument, and NoKnownWords for a query without a word that has a vector.
    """
    watch = checked_watch(name, query, within, ranking, where, writer, embedding)
    pool = WatchPool.current(None, [watch], settings, embedding)
    if not pool.watches:
        raise NoKnownWords(without_words(query, has_words=pool.has_words))
    writer.store_watch(watch)
    return Watch.of(watch)


class Matcher:
    """Writes the events of the watches `pool` in the transactions that follow revision `since`.

    `settings` and `embedding` are the collection's. `events` is the number of events so far.
    """

    def __init__(self, pool: WatchPool, settings: Settings, embedding: Embedding, since: int) -> None:
        self._pool, self._settings, self._embedding, self._since = pool, settings, embedding, since
        self.events = 0

    def follow(self, writer: Writer) -> None:
        """Write the events of the documents that the transaction of `writer` has added or changed."""
        run = _Run(writer, self._settings, self._embedding, self._pool)
        for ids in batches(writer.changed_ids(self._since), _DOCUMENTS):
            events = run.events(ids)
            writer.add_events(events)
            self.events += len(events)
        self._since = writer.revision()


class _Run:
    """The matching of one transaction."""

    def __init__(self, reader: Reader, settings: Settings, embedding: Embedding, pool: WatchPool) -> None:
        self._reader, self._embedding = reader, embedding
        self._title_weight = float(settings.title_weight)
        stored = {word.word: word.id for word in reader.words(pool.counted.words.texts)}
        self._pool = pool.with_ids([stored.get(word, 0) for word in pool.counted.words.texts])
        frequencies: Callable[[], Frequencies] = cache(lambda: stored_frequencies(reader))
        # The words of documents and watches are given with their texts.
        self._factors = WordFactors.by(embedding, lambda ids, _: frequencies().idf(ids), lambda _: ())
        self._passing: dict[Any, _Rows] = {}

    def events(self, ids: Sequence[int]) -> list[Event]:
        """Return the events of documents `ids`, increasing, in their order, and by the names of watches."""
        found = [one for one in self._near(ids) if self._passes(one)]
        found.sort(key=lambda one: (one.id, one.watch.name))
        stored = self._reader.keys_and_revisions(sorted({one.id for one in found}))
        return [Event(0, one.watch.name, stored[one.id][0], one.distance, stored[one.id][1]) for one in found]

    def _near(self, ids: Sequence[int]) -> Iterator[_Found]:
        """Yield the documents that are within the distances of watches, filters aside."""
        own = Terms.stored(self._reader.counted_parts_of(ids))
        words = known_words(self._reader.words_of(own.word_ids.tolist()), self._embedding)
        with_bag, counts = keep_words(own.ids, own.counts, own.word_ids, words.ids)
        if not len(with_bag):
            return
        documents, first = _Documents(Counted(counts, words), self._pool), 0
        for (distance, gamma, weights), group in groupby(self._pool.watches, _comparison):
            bags = self._bags(documents.counted, gamma, weights)
            chosen = first + np.arange(len(list(group)))
            first += len(chosen)
            for some in np.array_split(chosen, range(_WATCHES, len(chosen), _WATCHES)):
                own_counts = Counted(self._pool.counted.counts.take(some), self._pool.counted.words)
                queries = self._bags(own_counts, gamma, weights)
                watches = [self._pool.watches[i] for i in some.tolist()]
                for watch, rows, distances in documents.matches(bags, watches, queries, distance):
                    pairs = zip(with_bag[rows].tolist(), distances.tolist(), strict=True)
                    yield from (_Found(id_, watch, value) for id_, value in pairs)

    def _bags(self, counted: Counted, gamma: float, weights: Weights) -> Bags:
        """Return the bags (n,) of documents or watches."""
        words = counted.words
        factors = self._factors.of(weights, words.ids, words.texts)
        return weigh(counted.counts, gamma, factors, self._title_weight)

    def _passes(self, found: _Found) -> bool:
        """Return whether a document passes the filter of a watch."""
        groups = alternatives(found.watch.where)
        if not groups:
            return True
        if groups not in self._passing:
            fields = {condition.field for group in groups for condition in group}
            self._passing[groups] = matching_ids(self._reader, found.watch.where, fields)
        passing = self._passing[groups]
        place = np.searchsorted(passing, found.id)
        return bool(place < len(passing) and passing[place] == found.id)


class _Documents:
    """Documents (n,) that are compared with the watches of a `pool`, which has the ids of its words."""

    def __init__(self, counted: Counted, pool: WatchPool) -> None:
        self.counted, self._pool = counted, pool
        words = counted.words
        self._norms, of_pool = vector_norms(words.vectors), len(pool.counted.words.texts)
        place = {text: place for place, text in enumerate(pool.counted.words.texts)}
        # One numbering for the words of both: those of the pool, then the other words of the documents.
        joint = [place.get(text, of_pool + i) for i, text in enumerate(words.texts)]
        self._joint = np.array(joint, np.int32)

    def matches(
        self, bags: Bags, watches: Sequence[Watch], queries: Bags, distance: Distance
    ) -> Iterator[tuple[Watch, _Rows, _Floats]]:
        """Yield each of the `watches` (w,) with the rows of documents within its distance (m,), and distances (m,).

        `bags` (n,) are the documents', `queries` (w,) the watches'.
        """
        words, of_pool = self.counted.words, self._pool.counted.words
        within = np.array([watch.within for watch in watches])
        near = self._near(bags, queries, distance, within)

        def search(row: int) -> tuple[_Rows, _Floats]:
            rows, bag, most = np.flatnonzero(near[row]), queries[row], float(within[row])
            query = QueryWords((), of_pool.ids[bag.words], bag.weights, of_pool.vectors[bag.words], 0.0)
            own = query.over(words.ids), bags.take(rows), words.vectors
            found = nearest(*own, len(rows), distance, most, self._norms)
            kept = found.distances <= most
            return rows[found.rows[kept]], found.distances[kept]

        with single_threaded_blas():
            for row, (rows, distances) in map_ahead(search, np.flatnonzero(near.any(axis=1)).tolist()):
                yield watches[row], rows, distances

    def _near(self, bags: Bags, queries: Bags, distance: Distance, within: _Floats) -> NDArray[np.bool_]:
        """Return which documents (w, n) may be within the distances `within` (w,)."""
        if distance not in _BOUNDED:
            return np.ones((len(queries), len(bags)), bool)
        bounds, rows = np.zeros((len(bags), len(queries))), np.arange(len(bags))
        for share in SHARES:
            bounds[rows] = self._unshared(bags.take(rows), queries, share)
            rows = rows[np.count_nonzero(bounds[rows] <= within, axis=1) > _FEW * len(queries)]
        return np.ascontiguousarray((bounds <= within).T)

    def _unshared(self, bags: Bags, queries: Bags, share: float) -> _Floats:
        """Return lower bounds (n, w) by the words that have a `share` of the documents' mass, see `NearestOthers`."""
        words = self.counted.words
        least = np.zeros(len(self._pool.counted.words.texts) + len(words.texts))
        least[self._joint] = self._pool.others.costs(bags, words.texts, words.vectors, share)
        return unshared_cost(Bags(bags.starts, self._joint[bags.words], bags.weights), queries, least)
