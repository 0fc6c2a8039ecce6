"""Explains why a document is a hit, or why it is not."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.search.batch import answer
from moverank.indexer.search.by_distance import search_by_distance
from moverank.indexer.search.candidates import is_candidate
from moverank.indexer.search.document_words import DocumentWords
from moverank.indexer.search.known_parts import known_parts
from moverank.indexer.search.live_segment import LiveSegment
from moverank.indexer.search.query import Outcome, Query, QueryWords
from moverank.indexer.search.sum_weights import SumWeights
from moverank.indexer.search.view import View
from moverank.rerank.bags.bag import Bag
from moverank.rerank.distance.explain import Explanation, explain
from moverank.rerank.distance.weighted_sum import Sides, exact_sides
from moverank.rerank.distance.why_not import WhyNot, bounds_of
from moverank.rerank.errors import NoKnownWords


def explain_words(source: QueryWords, target: QueryWords) -> Explanation:
    """Return the exact distance of the bags of two sets of words, and its flows."""
    number = {word: i for i, word in enumerate(sorted({*source.texts, *target.texts}))}
    sides = []
    for words in (source, target):
        ids = np.array([number[word] for word in words.texts], np.int32)
        order = np.argsort(ids)
        sides.append((Bag(ids[order], words.weights[order]), words.vectors[order], [words.texts[i] for i in order]))
    (one, one_vectors, one_texts), (other, other_vectors, other_texts) = sides
    return explain(one, other, (one_vectors, other_vectors), (one_texts, other_texts))


@dataclass(frozen=True, slots=True, eq=False)
class StoredBag:
    """A document to explain: its id, its segment and row there, and the words of its bag."""

    id: int
    part: LiveSegment
    row: int
    words: QueryWords

    @classmethod
    def of(cls, documents: DocumentWords, query: Query, key: str) -> "StoredBag":
        """Read the document `key`, weighted as by `query`; UnknownKey, and NoKnownWords if no word has a vector."""
        id_ = documents.id(key)
        return cls(id_, *documents.row(id_), documents.bag(id_, query.ranking))


def explain_document(view: View, query: Query, document: StoredBag) -> Explanation:
    """Return the exact WMD of `query` from a `document` of `view`, its flows, and the terms of a sum.

    Raises NoKnownWords if the query has no word with a vector.
    """
    _check_words(query)
    explanation = explain_words(query.words, document.words)
    if _is_simple(query.ranking):
        return explanation
    outcome = _total_of(view, query, np.array([document.id]))
    if outcome.totals is None or not len(outcome.totals):
        return explanation
    parts, costs = outcome.terms_of(0)
    return replace(explanation, total=float(outcome.totals[0]), parts=parts, costs=costs, terms=outcome.terms)


def _check_words(query: Query) -> None:
    """Raise NoKnownWords for a query without a bag: some sums rank its other words, but nothing moves."""
    if not len(query.words.weights):
        raise NoKnownWords("the query has no word that the collection has a vector for: there are no flows")


def explain_elsewhere(view: View, query: Query) -> None:
    """Take part in the explanation of a document of another shard: it is compared with those of this view."""
    if not _is_simple(query.ranking):
        _total_of(view, query, np.empty(0, np.int64))


def _is_simple(ranking: RankingSpec) -> bool:
    """Return whether a ranking has no total beside its distance or score."""
    return ranking.plain is not None or ranking.single_scorer is not None


def _total_of(view: View, query: Query, ids: NDArray[np.int64]) -> Outcome:
    return answer(view, replace(query, k=1, depth=None, allowed=ids))


def why_not(view: View, query: Query, document: StoredBag) -> WhyNot:
    """Return the stage at which a `document` of `view` is excluded from the hits of `query`, if it is.

    For a sum, bounds and distance are those of its total. Raises UsageError for a ranking without transport.
    """
    check_bounded(query.ranking)
    _check_words(query)
    outcome = search_by_distance(view, query)
    kth = float(outcome.values[-1]) if len(outcome.ids) == query.k else np.inf
    return why_not_below(view, query, document, kth, hit=document.id in outcome.ids)


def check_bounded(ranking: RankingSpec) -> None:
    """Raise UsageError for a ranking without bounds."""
    if not ranking.distances:
        raise UsageError("only a distance has bounds: choose a ranking with wmd or pwmd")


def why_not_elsewhere(view: View, query: Query) -> None:
    """Take part in `why_not_below` for a document of another shard."""
    if not query.ranking.plain:
        SumWeights.of(view, query, known_parts(view, query))


def why_not_below(view: View, query: Query, document: StoredBag, kth: float, *, hit: bool) -> WhyNot:
    """Return the stage at which a `document` is excluded if what ranks the k-th hit is `kth`; `hit`: it is one."""
    _check_words(query)
    ranking, part, row = query.ranking, document.part, document.row
    bag = part.bags(np.array([row]), ranking.gamma, ranking.weights)[0]
    own = query.words.over(part.segment.word_ids)
    bounds = bounds_of(own, bag, part.segment.vectors)
    distance = explain_words(query.words, document.words).distance
    if not ranking.plain:
        total = SumWeights.of(view, query, known_parts(view, query)).of_rows(part, np.array([row]), own)
        sides = Sides(np.array([bounds["rwmd_document"]]), np.array([bounds["rwmd_query"]]))
        exact = Sides(*(np.array([side]) for side in exact_sides(own, part.segment.vectors[bag.words], bag.weights)))
        first = np.zeros(1, np.int64)
        bounds = {name: float(total.total(first, np.array([bound]), sides)[0]) for name, bound in bounds.items()}
        distance = float(total.total(first, np.array([distance]), exact)[0])
    candidate = is_candidate(view, query, document.id)
    return WhyNot.of(query.k, kth, distance, bounds, candidate=candidate, hit=hit)
