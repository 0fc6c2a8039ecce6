"""Matches documents with the watches of a collection, in the transaction that adds or changes the documents.

A bound of all documents and watches, by near words, leaves few documents for each watch; the search among these is the
same as any exact search.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.filters import document_test, field_tests, filtered_documents
from moverank.indexer.plugins.watching.watches import watch_spec
from moverank.indexer.search.counted_query import TextCounter, part_counts
from moverank.indexer.search.query import QueryWords
from moverank.indexer.search.query_parser import without_words
from moverank.indexer.snapshot.encoder_fit import KnownWords, known_words, stored_frequencies
from moverank.indexer.snapshot.segment import Terms, keep_words
from moverank.indexer.store import Reader, Writer
from moverank.indexer.values.documents import Event, Watch
from moverank.indexer.values.ranking_spec import Weights
from moverank.indexer.values.settings import Settings
from moverank.indexer.values.word_factors import WordFactors, check_weights
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import Frequencies, PartCounts, weigh
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.distance.near_words import NearWordsOf, PairBounds, common_words
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.errors import NoKnownWords, OutOfTime, TooLarge
from moverank.rerank.ranking import Distance
from moverank.rerank.runtime.parallel import batches, map_ahead
from moverank.rerank.runtime.thread_pool import parallel_for, single_threaded_blas
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.languages import AUTO_LANGUAGE

_MOST = 10_000  # watches
_MOST_CHARACTERS = 20_000_000  # of their names, queries and filters as JSON, which each change of the collection reads
_MOST_WORDS = 1000  # different words of a watch that have a vector
_DOCUMENTS, _WATCHES = 2000, 256  # whose distances are bounded together
_PAIRS = 2_000_000  # of documents and watches whose events are held together
_SHARES = (0.6, 0.75, 1.0)  # of the mass of documents, whose words are bounded one after another: few need all
_BOUNDED = ("wmd", "pwmd", "rwmd", "chamfer")  # distances that are at least the documents' side of RWMD

_Floats = NDArray[np.float64]
_Rows = NDArray[np.int64]


class KnownCounts(NamedTuple):
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
    counted: KnownCounts  # words have no ids of the store
    near_words: NearWordsOf
    made_for: tuple[object, ...]
    has_words: bool

    @classmethod
    def current(
        cls, before: "WatchPool | None", stored: Sequence[Watch], settings: Settings, embedding: Embedding
    ) -> "WatchPool":
        """Return the pool `before` if it still fits, else a new one; `settings` and `embedding` are the collection's.

        Raises UsageError for a watch whose weights the vectors no longer determine.
        """
        made_for = (list(stored), settings.tokens_digest(), embedding.fingerprint)
        if before is not None and before.made_for == made_for:
            return before
        watches = sorted(stored, key=_comparison)
        for watch in watches:
            try:
                check_weights(watch_spec(watch.ranking).weights, embedding)
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
        kept_watches = tuple(watches[row] for row in rows.tolist())
        return cls(kept_watches, KnownCounts(counts, words), NearWordsOf(words.vectors), made_for, bool(texts))

    @property
    def longest(self) -> Watch:
        """Return the watch with the most words."""
        return self.watches[int(np.argmax(np.diff(self.counted.counts.starts)))]

    def with_ids(self, ids: Sequence[int]) -> "WatchPool":
        """Return the pool with the ids (v,) of its words in the store, 0 for words that it lacks."""
        words = self.counted.words._replace(ids=np.array(ids, np.int64))
        return replace(self, counted=self.counted._replace(words=words))


def _comparison(watch: Watch) -> tuple[Distance, float, Weights]:
    """Return the distance of a watch, and what its bags are weighted by."""
    spec = watch_spec(watch.ranking)
    return spec.distances[0].distance, spec.gamma, spec.weights


def add_watch(writer: Writer, settings: Settings, embedding: Embedding, watch: Watch) -> Watch:
    """Store a watch, or replace the one of its name, and return it; `settings` and `embedding` are the collection's.

    Raises UsageError for a field that no document has, weights that the vectors lack, more than 10,000 watches, or
    20,000,000 characters of all, and a language that is still to be found, and NoKnownWords for a query without a word
    that has a vector.
    """
    if settings.language == AUTO_LANGUAGE:
        raise UsageError(
            "the language of the collection is found in its first documents: index them before a watch is added"
        )
    check_weights(watch_spec(watch.ranking).weights, embedding)
    field_tests(writer, watch.where)
    watch = replace(watch, revision=writer.revision())
    if writer.watch_count(watch.name) >= _MOST:
        raise UsageError(f"a collection has at most {_MOST:,} watches: remove one")
    pool = WatchPool.current(None, [watch], settings, embedding)
    if not pool.watches:
        raise NoKnownWords(without_words(watch.query, has_words=pool.has_words))
    if (words := len(pool.counted.words.texts)) > _MOST_WORDS:
        raise UsageError(
            f"the watch {watch.name!r} has {words:,} different words: at most {_MOST_WORDS:,} are allowed, since each "
            "later document is compared with it; shorten its query"
        )
    writer.store_watch(watch)
    if (size := writer.watch_size()) > _MOST_CHARACTERS:  # the transaction is not committed
        most = f"at most {_MOST_CHARACTERS:,} characters together, as JSON: with this one they would have {size:,}"
        raise UsageError(f"the watches of a collection have {most}; shorten its query or filter, or remove others")
    return watch


class WatchFollower:
    """Begins the matching of documents with watches in indexing runs; the words of watches are counted once."""

    NAME = "watches"

    def __init__(self) -> None:
        self._pool: WatchPool | None = None

    def begin(self, reader: Reader, settings: Settings, embedding: Embedding) -> "WatchMatcher":
        """Return the matcher of a run, for the changes after the state of `reader`."""
        self._pool = WatchPool.current(self._pool, reader.watches(), settings, embedding)
        return WatchMatcher(self._pool, settings, embedding, reader.revision())


class WatchMatcher:
    """Writes the events of the watches `pool` in the transactions that follow revision `since`.

    `settings` and `embedding` are the collection's. `events` is the number of events so far.
    """

    def __init__(self, pool: WatchPool, settings: Settings, embedding: Embedding, since: int) -> None:
        self._pool, self._settings, self._embedding, self._since = pool, settings, embedding, since
        self.events = 0

    def follow(self, writer: Writer) -> None:
        """Write the events of the documents that the transaction of `writer` has added or changed."""
        ids = writer.changed_ids(self._since)
        run = _Run(writer, self._settings, self._embedding, self._pool)
        try:
            self._write_events(writer, run, ids)
        except (OutOfTime, TooLarge) as error:
            what = "take too long" if isinstance(error, OutOfTime) else "are too long"
            raise type(error)(
                f"the {len(self._pool.watches):,} watches {what} for these documents: nothing was changed; send fewer "
                f"or shorter documents, or remove watches: the longest is {self._pool.longest.name!r}"
            ) from error
        self._since = writer.revision()

    def _write_events(self, writer: Writer, run: "_Run", ids: Sequence[int]) -> None:
        for some in batches(ids, max(1, min(_DOCUMENTS, _PAIRS // max(1, len(self._pool.watches))))):
            events = run.events(some)
            writer.add_events(events)
            self.events += len(events)


class _Run:
    """The matching of one transaction."""

    def __init__(self, reader: Reader, settings: Settings, embedding: Embedding, pool: WatchPool) -> None:
        self._reader, self._embedding = reader, embedding
        self._title_weight = float(settings.title_weight)
        self._pool = pool
        if any(watch_spec(watch.ranking).weights == "tfidf" for watch in pool.watches):
            stored = {word.word: word.id for word in reader.words(pool.counted.words.texts)}
            self._pool = pool.with_ids([stored.get(word, 0) for word in pool.counted.words.texts])
        frequencies: Callable[[], Frequencies] = cache(lambda: stored_frequencies(reader))
        # The words of documents and watches are given with their texts.
        self._factors = WordFactors.by(embedding, lambda ids, _: frequencies().idf(ids), lambda _: ())

    def events(self, ids: Sequence[int]) -> list[Event]:
        """Return the events of documents `ids`, increasing, in their order, and by the names of watches."""
        found = sorted(self._filtered(list(self._near(ids))), key=lambda one: (one.id, one.watch.name))
        stored = self._reader.keys_and_revisions(sorted({one.id for one in found}))
        return [Event(0, one.watch.name, stored[one.id][0], one.distance, stored[one.id][1]) for one in found]

    def _near(self, ids: Sequence[int]) -> Iterator[_Found]:
        """Yield the documents that are within the distances of watches, filters aside."""
        own = Terms.stored(self._reader.counted_parts_of(ids))
        words = known_words(self._reader.words_of(own.word_ids.tolist()), self._embedding)
        with_bag, counts = keep_words(own.ids, own.counts, own.word_ids, words.ids)
        if not len(with_bag):
            return
        documents, first = _WatchedDocuments(KnownCounts(counts, words), self._pool), 0
        for (distance, gamma, weights), group in groupby(self._pool.watches, _comparison):
            bags = self._bags(documents.counted, gamma, weights)
            watches = list(group)
            own_counts = self._pool.counted.counts.take(first + np.arange(len(watches)))
            first += len(watches)
            queries = self._bags(KnownCounts(own_counts, self._pool.counted.words), gamma, weights)
            for watch, rows, distances in documents.matches(bags, watches, queries, distance):
                pairs = zip(with_bag[rows].tolist(), distances.tolist(), strict=True)
                yield from (_Found(id_, watch, value) for id_, value in pairs)

    def _bags(self, counted: KnownCounts, gamma: float, weights: Weights) -> Bags:
        """Return the bags (n,) of documents or watches."""
        words = counted.words
        factors = self._factors.of(weights, words.ids, words.texts)
        return weigh(counted.counts, gamma, factors, self._title_weight)

    def _filtered(self, found: Sequence[_Found]) -> Iterator[_Found]:
        """Yield the items of `found`, one watch after another, that pass the filters of their watches."""
        documents = filtered_documents(self._reader, {one.id for one in found if one.watch.where})
        for where, group in groupby(found, lambda one: one.watch.where):
            passes = document_test(where)
            yield from (one for one in group if not where or passes(documents[one.id]))


class _WatchedDocuments:
    """Documents (n,) that are compared with the watches of a `pool`."""

    def __init__(self, counted: KnownCounts, pool: WatchPool) -> None:
        self.counted, self._pool = counted, pool
        self._norms = vector_norms(counted.words.vectors)
        place = {text: place for place, text in enumerate(counted.words.texts)}
        self._places = np.array([place.get(text, -1) for text in pool.counted.words.texts], np.int64)

    def matches(
        self, bags: Bags, watches: Sequence[Watch], queries: Bags, distance: Distance
    ) -> Iterator[tuple[Watch, _Rows, _Floats]]:
        """Yield `watches` (w,) with the rows of documents within the distance of each (m,), and distances (m,).

        `bags` (n,) are the documents', `queries` (w,) the watches'.
        """
        words, of_pool = self.counted.words, self._pool.counted.words

        def search(near: tuple[int, _Rows]) -> tuple[_Rows, _Floats]:
            (row, rows), most = near, watches[near[0]].within
            bag = queries[row]
            query = QueryWords((), self._places[bag.words], bag.weights, of_pool.vectors[bag.words], 0.0)
            own = query.over(np.arange(len(words.texts))), bags.take(rows), words.vectors
            found = nearest(*own, len(rows), distance, within=most, norms=self._norms)
            kept = found.distances <= most
            return rows[found.rows[kept]], found.distances[kept]

        within = np.array([watch.within for watch in watches])
        with single_threaded_blas():
            for (row, _), (rows, distances) in map_ahead(search, self._near(bags, queries, distance, within)):
                yield watches[row], rows, distances

    def _near(self, bags: Bags, queries: Bags, distance: Distance, within: _Floats) -> Iterator[tuple[int, _Rows]]:
        """Yield queries (w,) with the rows of documents that may be within the distance of each, of `within` (w,)."""
        if distance not in _BOUNDED:
            yield from ((row, np.arange(len(bags))) for row in range(len(queries)))
            return
        rows, near = np.arange(len(bags)), np.ones((len(queries), len(bags)), bool)
        for share in _SHARES:
            near[:, rows] = self._bounded(bags.take(rows), queries, within, share)
            rows = np.flatnonzero(near.any(axis=0))
        yield from ((row, np.flatnonzero(near[row])) for row in np.flatnonzero(near.any(axis=1)).tolist())

    def _bounded(self, bags: Bags, queries: Bags, within: _Floats, share: float) -> NDArray[np.bool_]:
        """Return which documents (w, n) are not excluded by the words that have a `share` of their mass."""
        words = self.counted.words
        wanted = common_words(bags, len(words.texts), share)
        bounds = PairBounds(bags, self._pool.near_words.near(words.texts, words.vectors, wanted), queries)
        near = np.empty((len(queries), len(bags)), bool)

        def fill(first: int, last: int) -> None:
            near[first:last] = bounds.of_rows(first, last, np.inf) <= within[first:last, None]

        parallel_for(fill, len(queries), most=_WATCHES)
        return near
