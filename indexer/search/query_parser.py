"""Resolves options, and a text, a record or a key, to a query; words without effect on its ranking are named."""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import QueryVectorError, UsageError
from moverank.indexer.filters import alternatives, matching_ids, why_none_passes
from moverank.indexer.search.candidates import NO_CANDIDATES, NO_VECTOR, allowed_rows, needs_candidates
from moverank.indexer.search.counted_query import CountedQuery, TextCounter, part_counts, respelled_counts
from moverank.indexer.search.document_words import DocumentWords
from moverank.indexer.search.phases import Search
from moverank.indexer.search.priors import prior_fields, prior_of
from moverank.indexer.search.query import Prior, Query, QueryWords
from moverank.indexer.search.sized_cache import SizedCache
from moverank.indexer.search.spellings import LONGEST_TYPED, Respelled, Spellings
from moverank.indexer.search.sum_terms import without_numbers
from moverank.indexer.search.term_scores import TermScores
from moverank.indexer.search.view import View
from moverank.indexer.snapshot.document_vectors import stored_vectors
from moverank.indexer.store import Reader, StoredWord
from moverank.indexer.values.documents import Document
from moverank.indexer.values.queries import QueryText, query_document
from moverank.indexer.values.ranked_texts import ranked_texts
from moverank.indexer.values.ranking_spec import VECTOR, RankingSpec, ScorerChoice
from moverank.indexer.values.search_options import (
    DEFAULT_DEPTH,
    EXACT_UP_TO,
    OtherGroups,
    SearchOptions,
    TheseKeys,
    Where,
)
from moverank.indexer.values.settings import Settings
from moverank.indexer.values.word_factors import check_weights
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.scorers import WordVectors
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.term_rules import is_ngrams


def ignored_words(
    texts: Sequence[str],
    known: AbstractSet[str],
    ranking: RankingSpec,
    occurring: AbstractSet[str],
    scores: TermScores,
) -> tuple[str, ...]:
    """Return the words `texts` that `ranking` compares neither by vectors nor by counts.

    `known` words have a vector, `occurring` ones are in a document, and `scores` counts the same documents.
    """
    counted = {*occurring} if any(not term.rule for term in ranking.counted) else set[str]()
    for term in ranking.counted:
        counted |= scores.derived(term.rule).known(texts) if term.rule else set()
    compared = known if ranking.compares_vectors else set[str]()
    return tuple(word for word in texts if word not in counted and word not in compared)


class QueryParser:
    """Resolves queries for `view`; `reader` sees the same state, `settings` and `embedding` are the collection's.

    `fields` are the names of fields in other shards; `documents` reads the words of stored documents.
    """

    def __init__(
        self, reader: Reader, view: View, settings: Settings, embedding: Embedding, fields: Collection[str] = ()
    ) -> None:
        self._fields = fields
        self._reader, self.view, self._settings, self._embedding = reader, view, settings, embedding
        self.documents = DocumentWords(reader, view, embedding.dim)
        self._tokenizer = settings.tokenizer
        self._priors: dict[str, Prior] = {}
        self._filtered = SizedCache()

    def resolve(self, options: SearchOptions, ranking: RankingSpec) -> Query:
        """Return a query without words; UsageError for a ranking that contradicts other options."""
        scorer = ranking.single_scorer
        if scorer and isinstance(options.max_distance, float) and not scorer.kind.ascending:
            raise UsageError(f"{scorer.name} ranks by a score: --max-distance goes with a distance or a sum")
        if scorer and options.budget is not None:
            raise UsageError(f"{scorer.name} ranks at once: --budget goes with a distance")
        if options.has_percentiles and options.budget is not None:
            raise UsageError("percentiles go without --budget: a sample of documents is compared after the search")
        for term in ranking.scorers:
            if term.scorer and term.scorer.rule:
                self.view.scores.derived(term.scorer.rule)
        check_weights(ranking.weights, self._embedding)
        own, allowed = self._settings, self._matching(options.where) if options.where else None
        return Query(
            QueryWords.none(self._embedding.dim),
            k=options.k,
            depth=self._depth(options, scorer),
            ranking=ranking,
            bounded=ranking.weights == own.weights != "tfidf" and ranking.gamma == own.gamma,
            prove=options.exact,
            allowed=allowed,
            within=options.within,
            budget=options.budget,
            stop=options.stop,
            joined=joined_scorer(options, ranking, own),
            priors={field: self._prior(field) for field in prior_fields([ranking])},
            why_empty=None if allowed is None or len(allowed) else self.why_none_passes(options.where or ()),
            percentiles=options.has_percentiles,
            largest_share=options.largest_share,
            spelling=options.spelling,
        )

    def why_none_passes(self, where: Where) -> str:
        """Return why no document passes a filter."""
        return why_none_passes(self._reader, where, self._fields)

    def _prior(self, field: str) -> Prior:
        """Return the values of a numeric field, read once; UsageError if there are none, unless in other shards."""
        if field not in self._priors:
            self._priors[field] = prior_of(self._reader, field) or Prior.none()
        prior = self._priors[field]
        if not len(prior.ids) and field not in self._fields:
            raise without_numbers(field)
        return prior

    def _matching(self, where: Where) -> NDArray[np.int64]:
        """Return the ids of the documents that pass a filter; the ids of recent filters are cached."""

        def found() -> NDArray[np.int64]:
            return matching_ids(self._reader, where, self._fields)

        return found() if isinstance(where, OtherGroups | TheseKeys) else self._filtered.get(alternatives(where), found)

    def _depth(self, options: SearchOptions, scorer: ScorerChoice | None) -> int | None:
        """Return the number of candidates; None for all documents."""
        if scorer:
            return None if options.exact else options.depth
        small = sum(len(part.segment.ids) for part in self.view.segments) <= EXACT_UP_TO
        return options.depth or (None if options.exact or small else max(DEFAULT_DEPTH, options.k))

    def text(self, text: QueryText, query: Query) -> Query:
        """Return the query with the words of a text or a record, and its vector if vectors are compared.

        Raises NoKnownWords without a word that the ranking uses, QueryVectorError for a missing or unusable vector.
        """
        space = self.view.space
        given = text.vector if isinstance(text, Document) and space else None
        vector = space.of_query(tuple(given)) if space and given is not None else None
        return self._checked(replace(query, words=replace(self.words_of(text, query), vector=vector)))

    def similar(self, key: str, query: Query) -> Query:
        """Return the query with the words of a stored document, which is excluded from the hits.

        Raises UnknownKey, NoKnownWords if the document has no word that the ranking uses, and QueryVectorError if it
        has no vector although one is needed.
        """
        id_, space = self.documents.id(key), self.view.space
        words = self.documents.all_words(id_, query) if query.needs_terms else self.documents.bag(id_, query.ranking)
        vectors = stored_vectors(self._reader, np.array([id_]), space)[1] if space else None
        vector = vectors[0] if vectors is not None and len(vectors) else None
        return self._checked(replace(query, words=replace(words, vector=vector, key=key), without=id_))

    def portable(self, words: QueryWords, query: Query) -> Query:
        """Return the query with the words of a document, which may be stored in another collection.

        Where it is stored in this one, it is excluded from the hits.
        """
        own = self._reader.known([words.key or ""])
        texts = sorted({*words.texts, *(text for terms in words.terms.values() for text in terms.texts)})
        ids = {word.word: word.id for word in self._reader.words(texts)}

        def local(names: Sequence[str]) -> NDArray[np.int64]:
            return np.array([ids.get(name, 0) for name in names], np.int64)

        terms = {gamma: replace(each, ids=local(each.texts)) for gamma, each in words.terms.items()}
        words = replace(words, ids=local(words.texts), terms=terms)
        return self._checked(replace(query, words=words, without=next((one.id for one in own.values()), None)))

    def search(self, query: Query, _options: SearchOptions) -> Search:
        """Return the search for a query with words among the documents of the view."""
        return Search(self.view, query)

    def _checked(self, query: Query) -> Query:
        """Return the query; QueryVectorError if it lacks a vector that is compared."""
        space, key = self.view.space, query.words.key
        if space is None or query.words.vector is not None:
            return query
        by_vectors = any(term.name == VECTOR for term in query.ranking.terms)
        if by_vectors or needs_candidates(query, allowed_rows(self.view, query)):
            raise QueryVectorError(NO_VECTOR if key is None else f"document {key!r} has no vector: {NO_CANDIDATES}")
        return query

    def words_of(self, text: QueryText, query: Query) -> QueryWords:
        """Return the words of a text or a record for a `query`, weighted as in a stored document.

        Raises NoKnownWords if it has none, or no bag although one is needed.
        """
        counter = TextCounter(self._tokenizer)
        counted = counter.count([text])
        found = self._reader.words(sorted(counter.words))
        respelled = self._respelled(counter.words, found, query)
        texts = sorted({*counter.words}.union(*respelled.values()))
        vectors = WordVectors(*self._embedding.spread(texts))
        found += self._reader.words(sorted({*texts}.difference(counter.words))) if respelled else []
        stored = {word.word: word.id for word in found}
        needs_vector = query.needs_bag or (query.ranking.distances and not self._occur(texts, stored, query))
        if not len(texts) or (needs_vector and not vectors.known.any()):
            raise NoKnownWords(without_words(text, has_words=bool(texts)))
        ids = np.array([stored.get(name, 0) for name in texts], np.int64)
        counts = respelled_counts(part_counts(counted, counter.places(texts)), texts, respelled)
        words = CountedQuery(tuple(texts), ids, vectors, counts, float(self._settings.title_weight))
        weighted = words.weighted(query, self.view.factors)
        has_vector = {word for word, known in zip(texts, vectors.known.tolist(), strict=True) if known}
        own = [word for word in texts if word not in respelled]
        unknown = tuple(word for word in own if word not in has_vector)
        occurring = {word.word for word in found if word.frequency}
        ignored = ignored_words(own, has_vector, query.ranking, occurring, self.view.scores)
        return replace(weighted, unknown=unknown, ignored=ignored, respelled=respelled)

    def _respelled(self, words: Sequence[str], found: Sequence[StoredWord], query: Query) -> Respelled:
        """Return stored words to replace the words that no document has and that have neither vector nor stem.

        In a language whose letters have marks, they replace each word of a query that is typed without any. `found` are
        the stored ones among the words. Words stay as they are unless the ranking counts them.
        """
        if not query.spelling or not query.ranking.counted or len(words) > LONGEST_TYPED:
            return {}
        typed_plainly = self._settings.marks and all(map(str.isascii, words))
        missing = words if typed_plainly else self._missing(words, found, query)
        if not missing:
            return {}
        spellings = self.view.computed.get("spellings", self._spellings)
        near = spellings.unmarked if typed_plainly else spellings.near
        return {word: own for word in missing if (own := near(word)) and list(own) != [word]}

    def _missing(self, words: Sequence[str], found: Sequence[StoredWord], query: Query) -> list[str]:
        occurring = {word.word for word in found if word.frequency}
        missing = [word for word in words if word not in occurring]
        missing = [word for word, row in zip(missing, self._embedding.find(missing), strict=True) if row < 0]
        for term in query.ranking.scorers if missing else ():
            if term.scorer and term.scorer.rule and not is_ngrams(term.scorer.rule):
                known = self.view.scores.known(missing, term.scorer.rule, term.gamma or 0.0)
                missing = [word for word in missing if word not in known]
        return missing

    def _spellings(self) -> Spellings:
        larger = self.view.scores.larger_words
        if larger:
            return Spellings(*larger)
        stored = [(word.word, word.frequency) for word in self._reader.all_words()]
        return Spellings([word for word, _ in stored], np.array([number for _, number in stored], np.int64))

    def _occur(self, texts: Sequence[str], stored: Mapping[str, int], query: Query) -> bool:
        """Return whether any of the words, or any term of theirs that the ranking compares, is in a document."""
        rules = query.ranking.rules
        return bool(stored) or any(self.view.scores.derived(rule).has(texts) for rule in rules)


def joined_scorer(options: SearchOptions, ranking: RankingSpec, settings: Settings) -> ScorerChoice | None:
    """Return the scorer whose best documents are candidates, too: the collection's, or a sum's."""
    own = settings.joined_scorer()
    if own is None and options.depth is not None and ranking.single_scorer is None and ranking.scorers:
        return ranking.scorers[0].scorer
    return own


def without_words(text: QueryText, *, has_words: bool) -> str:
    """Return why a query has no answer; `has_words`: it has only unknown words."""
    shown = " ".join(" ".join(part for _, part in ranked_texts(query_document(text))).split())
    reason = "" if has_words else ": all of its words are stop words" if shown else ": it is empty"
    return f"the query {shown[:60]!r} has no word that the collection has a vector for{reason}"
