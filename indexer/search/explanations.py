"""Explains why a document is a hit, or why it is not."""

import numpy as np

from moverank.indexer.errors import UsageError
from moverank.indexer.search.by_distance import search_by_distance
from moverank.indexer.search.candidates import is_candidate
from moverank.indexer.search.query import Query, QueryWords
from moverank.indexer.search.query_parser import QueryParser
from moverank.indexer.search.view import View
from moverank.rerank.bags.bag import Bag
from moverank.rerank.distance.explain import Explanation, explain
from moverank.rerank.distance.why_not import WhyNot, bounds_of


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


def why_not(view: View, parser: QueryParser, query: Query, key: str) -> WhyNot:
    """Return the stage at which the document `key` of `view` is excluded from the hits of `query`, if it is.

    `parser` resolves the key. Raises UsageError for a query by a scorer or a blend, UnknownKey and NoKnownWords.
    """
    if query.scorer or query.blend:
        raise UsageError("only a distance has bounds: leave the scorer out")
    id_ = parser.document(key)
    part, row = parser.row(id_)
    outcome = search_by_distance(view, query)
    kth = float(outcome.distances[-1]) if len(outcome.distances) == query.k else np.inf
    bag = part.bags(np.array([row]), query.gamma)[0]
    bounds = bounds_of(query.words.over(part.segment), bag, part.segment.vectors)
    distance = explain_words(query.words, parser.stored(id_, query.gamma)).distance
    candidate = is_candidate(view, query, id_)
    return WhyNot.of(query.k, kth, distance, bounds, candidate=candidate, hit=id_ in outcome.ids)
