"""Resolves options, and a text, a record or a key, to a query."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.documents import Document
from moverank.indexer.errors import QueryVectorError, UnknownKey, UsageError
from moverank.indexer.filters import Alternatives, alternatives, matching_ids, why_none_passes
from moverank.indexer.options import DEFAULT_DEPTH, EXACT_UP_TO, OtherGroups, SearchOptions, Where
from moverank.indexer.ranked_texts import QueryText, as_document, ranked_texts
from moverank.indexer.ranking_spec import RankingSpec, resolve
from moverank.indexer.ranking_term import VECTOR, ScorerChoice
from moverank.indexer.search.candidates import allowed_rows, needs_candidates
from moverank.indexer.search.counted_query import CountedQuery, part_counts, ranked_words
from moverank.indexer.search.document_words import DocumentWords
from moverank.indexer.search.ignored_words import ignored_words
from moverank.indexer.search.known_parts import without_numbers
from moverank.indexer.search.priors import prior_fields, prior_of
from moverank.indexer.search.query import PortableQuery, Prior, Query, QueryWords
from moverank.indexer.search.stage_search import NO_CANDIDATES, NO_VECTOR
from moverank.indexer.search.view import View
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.stage_vectors import stored_vectors
from moverank.indexer.store import Reader
from moverank.rerank.distance.best_first import never_stop
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.scorers import WordVectors
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.unknown import UNKNOWN

_Item = TypeVar("_Item")
_Parsed = TypeVar("_Parsed")
_RECENT = 8
"""Number of filters whose documents are kept in memory: 8 bytes for each document."""


class QueryParser:
    """Resolves queries for `view`; `reader` sees the same state, `settings` and `embedding` are the collection's.

    Documents in other shards have the `fields`; `documents` are the words of stored ones.
    """

    def __init__(
        self, reader: Reader, view: View, settings: Settings, embedding: Embedding, fields: Collection[str] = ()
    ) -> None:
        self._fields = fields
        self._reader, self._view, self._settings, self._embedding = reader, view, settings, embedding
        self.documents = DocumentWords(reader, view, embedding.dim)
        self._tokenizer = Tokenizer(frozenset(settings.stop_words))
        self._priors: dict[str, Prior] = {}
        self._filtered: dict[tuple[Alternatives, ...], NDArray[np.int64]] = {}

    def resolve(self, options: SearchOptions, *, sharded: bool = False) -> Query:
        """Return a query without words; UsageError for a ranking that does not exist or contradicts other options.

        `sharded`: numbers of a field that no document has here may be in another shard.
        """
        ranking = resolve(options.ranking, options.gamma, self._settings.ranking)
        scorer = ranking.single_scorer
        if scorer and options.max_distance is not None and not scorer.kind.ascending:
            raise UsageError(f"{scorer.name} ranks by a score: --max-distance goes with a distance or a sum")
        if scorer and options.budget is not None:
            raise UsageError(f"{scorer.name} ranks at once: --budget goes with a distance")
        for term in ranking.scorers:
            if term.scorer and term.scorer.stem:
                self._view.scores.stems(term.scorer.stem)
        own, allowed = self._settings, self._matching(options.where) if options.where else None
        return Query(
            QueryWords.none(self._embedding.dim),
            k=options.k,
            depth=self._depth(options, scorer),
            ranking=ranking,
            bounded=ranking.weights == own.weights == "tf" and ranking.gamma == own.gamma,
            prove=options.exact,
            allowed=allowed,
            within=inf if options.max_distance is None else options.max_distance,
            budget=options.budget,
            stop=options.stop or never_stop,
            joined=joined_scorer(options, ranking, own),
            priors={field: self._prior(field, sharded=sharded) for field in prior_fields([ranking])},
            why_empty=None if allowed is None or len(allowed) else self.why_none_passes(options.where or ()),
        )

    def why_none_passes(self, where: Where) -> str:
        """Return why no document passes a filter."""
        return why_none_passes(self._reader, where, self._fields)

    def _prior(self, field: str, *, sharded: bool) -> Prior:
        """Return the values of a numeric field, read once; UsageError if there are none, unless in other shards."""
        if field not in self._priors:
            self._priors[field] = prior_of(self._reader, field) or Prior.none()
        prior = self._priors[field]
        if not len(prior.ids) and not sharded:
            raise without_numbers(field)
        return prior

    def _matching(self, where: Where) -> NDArray[np.int64]:
        """Return the ids of the documents that pass a filter; those of recent filters are kept, as long as the view."""
        if isinstance(where, OtherGroups):
            return matching_ids(self._reader, where, self._fields)
        groups = alternatives(where)
        if groups not in self._filtered:
            found = matching_ids(self._reader, where, self._fields)
            if len(self._filtered) == _RECENT:
                del self._filtered[next(iter(self._filtered))]
            self._filtered[groups] = found
        return self._filtered[groups]

    def _depth(self, options: SearchOptions, scorer: ScorerChoice | None) -> int | None:
        """Return the number of candidates; None for all documents."""
        if scorer:
            return None if options.exact else options.depth
        small = sum(len(part.segment.ids) for part in self._view.segments) <= EXACT_UP_TO
        return options.depth or (None if options.exact or small else max(DEFAULT_DEPTH, options.k))

    def text(self, text: QueryText, query: Query) -> Query:
        """Return the query with the words, and the vector if it is compared, of a text or a record.

        Raises NoKnownWords if it has no word that the query needs, QueryVectorError for a missing or unusable vector.
        """
        space = self._view.space
        given = text.vector if isinstance(text, Document) and space else None
        vector = space.of_query(tuple(given)) if space and given is not None else None
        return self._checked(replace(query, words=self.words_of(text, query), vector=vector))

    def similar(self, key: str, query: Query) -> Query:
        """Return the query with the words of a stored document, which is excluded from the hits.

        Raises UnknownKey, NoKnownWords if the document has no word that the query needs, and QueryVectorError if it
        has no vector although one is needed.
        """
        id_, space = self.documents.id(key), self._view.space
        words = self.documents.all_words(id_, query) if query.needs_terms else self.documents.bag(id_, query.ranking)
        vectors = stored_vectors(self._reader, np.array([id_]), space)[1] if space else None
        vector = vectors[0] if vectors is not None and len(vectors) else None
        return self._checked(replace(query, words=words, without=id_, vector=vector), key)

    def portable(self, request: PortableQuery, query: Query) -> Query:
        """Return the query with the words of a document, which may be stored in another collection.

        Where it is stored in this one, it is excluded from the hits.
        """
        words, own = request.words, self._reader.known([request.key])
        texts = sorted({*words.texts, *(text for terms in words.terms.values() for text in terms.texts)})
        ids = {word.word: word.id for word in self._reader.words(texts)}

        def local(names: Sequence[str]) -> NDArray[np.int64]:
            return np.array([ids.get(name, 0) for name in names], np.int64)

        terms = {gamma: replace(each, ids=local(each.texts)) for gamma, each in words.terms.items()}
        words = replace(words, ids=local(words.texts), terms=terms)
        without = own[request.key].id if own else None
        return self._checked(replace(query, words=words, without=without, vector=request.vector), request.key)

    def _checked(self, query: Query, key: str | None = None) -> Query:
        """Return the query; QueryVectorError if it has no vector although one is compared; `key`: it is stored."""
        space = self._view.space
        if space is None or query.vector is not None:
            return query
        by_vectors = any(term.name == VECTOR for term in query.ranking.terms)
        if by_vectors or needs_candidates(query, allowed_rows(self._view, query)):
            raise QueryVectorError(NO_VECTOR if key is None else f"document {key!r} has no vector: {NO_CANDIDATES}")
        return query

    def words_of(self, text: QueryText, query: Query) -> QueryWords:
        """Return the words of a text or a record for a `query`, weighted as those of a stored document.

        Raises NoKnownWords if it has none, or no bag although one is needed.
        """
        counted = ranked_words(self._tokenizer, text)
        texts = sorted({word for word, _ in counted})
        rows = self._embedding.find(texts)
        known = np.flatnonzero(rows != UNKNOWN)
        stored = {word.word: word.id for word in self._reader.words(texts)}
        needs_vector = query.needs_bag or (query.ranking.distances and not self._occur(texts, stored, query))
        if not len(texts) or (needs_vector and not len(known)):
            raise NoKnownWords(_without_words(text, has_words=bool(texts)))
        ids = np.array([stored.get(name, 0) for name in texts], np.int64)
        vectors = self._embedding.gather([texts[i] for i in known.tolist()], rows[known])
        counts = part_counts([counted], {word: i for i, word in enumerate(texts)})
        weight = float(self._settings.title_weight)
        words = CountedQuery(tuple(texts), ids, _word_vectors(vectors, known, len(texts)), counts, weight)
        weighted = words.weighted(query, self._view.frequencies.get() if query.ranking.weights == "tfidf" else None)
        has_vector = {texts[i] for i in known.tolist()}
        unknown = tuple(word for word in texts if word not in has_vector)
        ignored = ignored_words(texts, has_vector, query.ranking, self._reader.occurring, self._view.scores)
        return replace(weighted, unknown=unknown, ignored=ignored)

    def _occur(self, texts: Sequence[str], stored: Mapping[str, int], query: Query) -> bool:
        """Return whether any of the words, or any stem that the ranking compares, is in a document."""
        stems = {term.scorer.stem for term in query.ranking.scorers if term.scorer and term.scorer.stem}
        return bool(stored) or any(self._view.scores.stems(stem).has(texts) for stem in stems)


def joined_scorer(options: SearchOptions, ranking: RankingSpec, settings: Settings) -> ScorerChoice | None:
    """Return the scorer whose best documents are candidates, too: that of the collection, or that of a sum."""
    own = settings.joined_scorer()
    if own is None and options.depth is not None and ranking.single_scorer is None and ranking.scorers:
        return ranking.scorers[0].scorer
    return own


def parsed_or_error(parse: Callable[[_Item], _Parsed], item: _Item) -> _Parsed | str:
    """Return what `parse` returns for a text or key, or the message of its error."""
    try:
        return parse(item)
    except (NoKnownWords, QueryVectorError, UnknownKey) as error:
        return str(error)


def _without_words(text: QueryText, *, has_words: bool) -> str:
    """Return why a query has no answer; `has_words`: it has words, but none that is known."""
    shown = " ".join(" ".join(part for _, part in ranked_texts(as_document(text))).split())
    reason = "" if has_words else ": all of its words are stop words" if shown else ": it is empty"
    return f"the query {shown[:60]!r} has no word that the collection has a vector for{reason}"


def _word_vectors(vectors: NDArray[np.float32], known: NDArray[np.intp], size: int) -> WordVectors:
    """Return the vectors of `size` words; those at `known` (v,) have one, in `vectors` (v, d)."""
    spread, has_vector = np.zeros((size, vectors.shape[1]), np.float32), np.zeros(size, bool)
    spread[known] = vectors
    has_vector[known] = True
    return WordVectors(spread, has_vector)
