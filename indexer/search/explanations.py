"""Explains why a document is a hit, or why it is not."""

from dataclasses import dataclass, field, replace

import numpy as np

from moverank.indexer.errors import UsageError
from moverank.indexer.search.candidates import is_candidate
from moverank.indexer.search.document_words import DocumentWords
from moverank.indexer.search.occurrences import WordSpans, with_spans
from moverank.indexer.search.phases import Search
from moverank.indexer.search.query import Query, QueryWords
from moverank.indexer.search.segments import LiveSegment
from moverank.indexer.search.sum_terms import QueryStatistics
from moverank.indexer.values.ranking_spec import RankingSpec
from moverank.rerank.bags.bag import Bag
from moverank.rerank.distance.cell_limit import check_cells
from moverank.rerank.distance.explain import Explanation, WhyNot, bounds_of, explain_distance
from moverank.rerank.distance.weighted_sum import Sides, exact_sides
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Highlight


def explain_words(source: QueryWords, target: QueryWords) -> Explanation:
    """Return the exact distance of the bags of two sets of words, and its flows."""
    number = {word: i for i, word in enumerate(sorted({*source.texts, *target.texts}))}
    sides = []
    for words in (source, target):
        ids = np.array([number[word] for word in words.texts], np.int32)
        order = np.argsort(ids)
        sides.append((Bag(ids[order], words.weights[order]), words.vectors[order], [words.texts[i] for i in order]))
    (one, one_vectors, one_texts), (other, other_vectors, other_texts) = sides
    return explain_distance(one, other, (one_vectors, other_vectors), (one_texts, other_texts))


@dataclass(frozen=True, slots=True, eq=False)
class StoredBag:
    """A document to explain: its id, its segment and row there, the words of its bag.

    `query_spans` and `spans` are the places of the query's words and of its own, and `highlights` where its words match
    one of the query, if they are requested.
    """

    id: int
    part: LiveSegment
    row: int
    words: QueryWords
    query_spans: WordSpans = field(default_factory=dict)
    spans: WordSpans = field(default_factory=dict)
    highlights: tuple[Highlight, ...] = ()

    @classmethod
    def of(cls, documents: DocumentWords, query: Query, key: str) -> "StoredBag":
        """Read the document `key`, weighted as by `query`; UnknownKey, and NoKnownWords if no word has a vector."""
        id_ = documents.id(key)
        return cls(id_, *documents.row(id_), documents.bag(id_, query.ranking))


def explain_document(search: Search, document: StoredBag, statistics: QueryStatistics | None = None) -> Explanation:
    """Return the exact WMD of a `document` of its view for `search`, its flows and highlights, and the terms of a sum.

    `statistics` cover all documents that are searched together; None: the view's documents. Raises NoKnownWords if the
    query has no word with a vector.
    """
    query = search.query
    _check_words(query, document)
    explanation = explain_words(query.words, document.words)
    flows = with_spans(explanation.flows, document.query_spans, document.spans)
    explanation = replace(explanation, flows=flows, highlights=document.highlights)
    if query.ranking.plain is None and query.ranking.single_scorer is None:
        alone = Search(search.view, replace(query, k=1, depth=None, allowed=np.array([document.id])))
        own = alone.statistics()
        alone.bounds(statistics or own)
        outcome = alone.answer()
        if outcome.totals is not None and len(outcome.totals):
            total, (parts, costs) = float(outcome.totals[0]), outcome.terms_of(0)
            explanation = replace(explanation, total=total, parts=parts, costs=costs, terms=outcome.terms)
    words = query.words
    return replace(
        explanation,
        unknown_words=words.unknown or (),
        ignored_words=words.ignored or (),
        respelled_words={word: tuple(spellings) for word, spellings in words.respelled.items()},
    )


def _check_words(query: Query, document: StoredBag) -> None:
    """Raise NoKnownWords for a query without a bag: some sums rank its other words, but nothing moves.

    Raises TooLarge before any work if the distance from `document` is certainly beyond the limit of cells.
    """
    if not len(query.words.weights):
        raise NoKnownWords("the query has no word that the collection has a vector for: there are no flows")
    own, other = set(query.words.texts), set(document.words.texts)
    check_cells(len(own - other), len(other - own))


def explain_exclusion(search: Search, document: StoredBag) -> WhyNot:
    """Return the stage at which a `document` is excluded from the hits of `search`, if it is.

    For a sum, bounds and distance belong to its total. Raises UsageError for a ranking without transport.
    """
    check_bounded(search.query.ranking)
    _check_words(search.query, document)
    outcome = Search(search.view, replace(search.query, partial=False, percentiles=False)).run()
    kth = float(outcome.values[-1]) if len(outcome.ids) == search.query.k else np.inf
    return why_not_below(search, document, kth, hit=document.id in outcome.ids)


def check_bounded(ranking: RankingSpec) -> None:
    """Raise UsageError for a ranking without bounds."""
    if not ranking.distances:
        raise UsageError("only a distance has bounds: choose a ranking with wmd or pwmd")


def why_not_below(
    search: Search, document: StoredBag, kth: float, statistics: QueryStatistics | None = None, *, hit: bool
) -> WhyNot:
    """Return the stage that excludes a `document` if the k-th hit has the value `kth`; `hit`: it is a hit.

    `statistics`: as for `explain_document`.
    """
    query, view, part = search.query, search.view, document.part
    _check_words(query, document)
    bag = part.bags(np.array([document.row]), query.ranking.gamma, query.ranking.weights)[0]
    own = query.words.over(part.segment.word_ids)
    bounds = bounds_of(own, bag, part.segment.vectors)
    distance = explain_words(query.words, document.words).distance
    if not query.ranking.plain:
        total = search.weights(statistics or search.statistics()).of_rows(part, np.array([document.row]), own)
        sides = Sides(np.array([bounds["rwmd_document"]]), np.array([bounds["rwmd_query"]]))
        exact = Sides(*(np.array([side]) for side in exact_sides(own, part.segment.vectors[bag.words], bag.weights)))
        first = np.zeros(1, np.int64)
        bounds = {name: float(total.total(first, np.array([bound]), sides)[0]) for name, bound in bounds.items()}
        distance = float(total.total(first, np.array([distance]), exact)[0])
    candidate = is_candidate(view, query, document.id)
    return WhyNot.of(query.k, kth, distance, bounds, candidate=candidate, hit=hit)
