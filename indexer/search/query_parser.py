"""Resolves options, and a text or a key, to a query."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UnknownKey, UsageError
from moverank.indexer.options import DEFAULT_DEPTH, EXACT_UP_TO, SearchOptions
from moverank.indexer.ranking_spec import ScorerChoice, blend_named, resolve
from moverank.indexer.search.query import Query, QueryTerms, QueryWords
from moverank.indexer.search.view import LiveSegment, View
from moverank.indexer.settings import Settings
from moverank.indexer.store import Reader
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.scorers import WordVectors
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.vocabulary import UNKNOWN


class QueryParser:
    """Resolves queries for `view`; `reader` sees the same state, `settings` and `embedding` are the collection's."""

    def __init__(self, reader: Reader, view: View, settings: Settings, embedding: Embedding) -> None:
        self._reader, self._view, self._settings, self._embedding = reader, view, settings, embedding
        self._tokenizer = Tokenizer(frozenset(settings.stop_words))

    def resolve(self, options: SearchOptions) -> Query:
        """Return a query without words; UsageError for options that are invalid or contradict each other."""
        _check(options)
        method, gamma = resolve(options.distance, options.gamma, self._settings.gamma)
        scorer = method if isinstance(method, ScorerChoice) else None
        blend = blend_named(options.blend) if options.blend is not None else None
        if scorer and (blend or options.budget is not None):
            raise UsageError(f"{scorer.name} ranks by itself, at once: --blend and --budget go with a distance")
        return Query(
            QueryWords.none(self._embedding.dim),
            k=options.k,
            depth=self._depth(options, scorer),
            distance="wmd" if isinstance(method, ScorerChoice) else method,
            gamma=gamma,
            bounded=self._settings.weights == "tf" and gamma == self._settings.gamma,
            prove=options.exact,
            allowed=self._matching(options.where) if options.where else None,
            budget=options.budget,
            scorer=scorer,
            joined=self._settings.joined_scorer(),
            blend=blend,
        )

    def _depth(self, options: SearchOptions, scorer: ScorerChoice | None) -> int | None:
        """Return the number of candidates; None for all documents."""
        if scorer:
            return None if options.exact else options.depth
        small = sum(len(part.segment.ids) for part in self._view.segments) <= EXACT_UP_TO
        return options.depth or (None if options.exact or small else max(DEFAULT_DEPTH, options.k))

    def text(self, text: str, query: Query) -> Query:
        """Return the query with the words of a text; NoKnownWords if it has none that the query needs."""
        return replace(query, words=self.words_of(text, needs_bag=query.needs_bag))

    def similar(self, key: str, query: Query) -> Query:
        """Return the query with the words of a stored document, which is excluded from the hits.

        Raises UnknownKey, and NoKnownWords if the document has no word that the query needs.
        """
        id_ = self.document(key)
        if query.needs_terms:
            words = self._all_words(id_, query.gamma, needs_bag=query.needs_bag)
        else:
            words = self.stored(id_, query.gamma)
        return replace(query, words=words, without=id_)

    def words_of(self, text: str, *, needs_bag: bool = True) -> QueryWords:
        """Return the words of a text; NoKnownWords if it has none, or none with a vector although a bag is needed."""
        counts = self._tokenizer.count(text)
        texts = sorted(counts)
        rows = self._embedding.find(texts)
        known = np.flatnonzero(rows != UNKNOWN)
        if not len(texts) or (needs_bag and not len(known)):
            shown = " ".join(text.split())
            raise NoKnownWords(
                f"the query {shown[:60]!r} has no word that the collection has a vector for"
                + ("" if counts else ": all of its words are stop words" if shown else ": it is empty")
            )
        stored = {word.word: word.id for word in self._reader.words(texts)}
        all_ids = np.array([stored.get(name, 0) for name in texts], np.int64)
        amounts = np.array([counts[name] for name in texts], np.float64)
        names, ids, weights = [texts[i] for i in known.tolist()], all_ids[known], amounts[known]
        vectors = self._embedding.gather(names, rows[known])
        terms = QueryTerms(all_ids, amounts, _word_vectors(vectors, known, len(texts)))
        length = float(weights.sum())
        if self._view.frequencies:
            weights = weights * self._view.frequencies.idf(ids)
        return QueryWords(tuple(names), ids, weights / (weights.sum() or 1.0), vectors, length, tuple(texts), terms)

    def stored(self, id_: int, gamma: float) -> QueryWords:
        """Return the words of a stored document's bag; NoKnownWords if none has a vector."""
        words = row_words(*self.row(id_), gamma)
        return replace(words, texts=self._texts(words.ids))

    def _all_words(self, id_: int, gamma: float, *, needs_bag: bool) -> QueryWords:
        """Return all words of a stored document; NoKnownWords if it has none, or no bag although one is needed."""
        terms = self._view.scores.document(id_, gamma)
        if terms is None:
            raise NoKnownWords("that document has no word: it cannot be compared")
        has_bag = needs_bag or terms.word_vectors.known.any()
        words = self.stored(id_, gamma) if has_bag else QueryWords.none(self._embedding.dim)
        return replace(words, all_texts=self._texts(terms.ids), terms=terms)

    def _texts(self, ids: NDArray[np.int64]) -> tuple[str, ...]:
        texts = self._reader.word_texts(ids.tolist())
        return tuple(texts[id_] for id_ in ids.tolist())

    def document(self, key: str) -> int:
        """Return the id of the document with a key; UnknownKey if there is none."""
        known = self._reader.known([key])
        if key not in known:
            raise UnknownKey(f"the collection has no document with the key {key!r}")
        return known[key].id

    def row(self, id_: int) -> tuple[LiveSegment, int]:
        """Return the segment and the row of a document's bag; NoKnownWords if it has none."""
        for part in self._view.segments:
            row = int(np.searchsorted(part.segment.ids, id_))
            if row < len(part.segment.ids) and part.segment.ids[row] == id_ and part.live[row]:
                return part, row
        raise NoKnownWords("that document has no word with a vector: it cannot be compared")

    def _matching(self, where: Mapping[str, Sequence[str]]) -> NDArray[np.int64]:
        """Return the ids of the documents that have, in every field of `where`, one of its values."""
        names = set(self._reader.field_names())
        ids: set[int] | None = None
        for name, values in where.items():
            if name not in names:
                known = f"the fields are {', '.join(sorted(names))}" if names else "no document has any field"
                raise UsageError(f"no document has a field {name!r}: {known}")
            matching = set(self._reader.matching(name, [values] if isinstance(values, str) else list(values)))
            ids = matching if ids is None else ids & matching
        return np.array(sorted(ids or ()), np.int64)


def row_words(part: LiveSegment, row: int, gamma: float) -> QueryWords:
    """Return the words of the document at a `row` of the segment `part`, weighted by `gamma`, without their texts."""
    rows = np.array([row])
    bag = part.bags(rows, gamma)[0]
    length = float(part.segment.counts.take(rows).lengths(part.title_weight)[0])
    return QueryWords((), part.segment.word_ids[bag.words], bag.weights, part.segment.vectors[bag.words], length)


def _check(options: SearchOptions) -> None:
    """Raise UsageError for a number out of its range."""
    if options.k < 1:
        raise UsageError(f"k must be 1 or more, not {options.k}")
    if options.budget is not None and not options.budget > 0:
        raise UsageError(f"the budget must be a number of seconds above 0, not {options.budget}")
    if options.depth is not None and options.depth < options.k:
        raise UsageError(
            f"depth must be at least k, which is {options.k}, not {options.depth}: hits are chosen from the candidates"
        )


def _word_vectors(vectors: NDArray[np.float32], known: NDArray[np.intp], size: int) -> WordVectors:
    """Return the vectors of `size` words; those at `known` (v,) have one, in `vectors` (v, d)."""
    spread, has_vector = np.zeros((size, vectors.shape[1]), np.float32), np.zeros(size, bool)
    spread[known] = vectors
    has_vector[known] = True
    return WordVectors(spread, has_vector)
