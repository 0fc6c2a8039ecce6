"""Texts, word vectors, and the order of the texts by brute force."""

import os
from collections.abc import Sequence
from typing import Any

# Before any host is imported: none of them may report its use.
os.environ |= {"HAYSTACK_TELEMETRY_ENABLED": "False", "LANGSMITH_TRACING": "false", "LANCEDB_DISABLE_TELEMETRY": "1"}

import numpy as np
import pytest

from moverank import Bag, Embedding
from moverank.rerank.plugins.adapters.ranker import EngineScores, Ranker
from moverank.rerank.ranking import Ranking
from tests import naive

WORDS = ["mains", "plug", "socket", "gets", "hot", "warm", "cable", "melts", "cat", "dog", "sleeps", "roof"]
TEXTS = {
    "far": "cat dog sleeps roof",
    "wordless": "zzz qqq",
    "near": "socket warm cable melts",
    "same": "mains plug gets hot",
    "close": "plug hot hot",
    "pets": "dog cat",
    "half": "warm cat plug roof",
    "roofs": "roof roof sleeps",
}
"""Texts without stop words, by key."""
QUERY = "mains plug gets hot"
UNKNOWN = "xyzzy frobnicate"
"""A query without known words."""


def embedding() -> Embedding:
    """Return the words with random vectors."""
    return Embedding.of(WORDS, np.random.default_rng(3).normal(size=(len(WORDS), 6)).round(4))


def distance(query: str, text: str) -> float:
    """Return the distance of two texts: split at spaces, count, and solve the whole transport problem."""
    bags = []
    for words in (query.split(), text.split()):
        known = [word for word in words if word in WORDS]
        weights = naive.weights([(WORDS.index(word), 0, known.count(word)) for word in dict.fromkeys(known)])
        bags.append(Bag.of(list(weights), list(weights.values())))
    vectors = embedding().vectors
    return naive.wmd(bags[0], vectors[bags[0].words], bags[1], vectors)


def nearest(query: str = QUERY) -> dict[str, float]:
    """Return the distances of the texts with known words, by key, nearest first."""
    known = {key: distance(query, text) for key, text in TEXTS.items() if key != "wordless"}
    return dict(sorted(known.items(), key=lambda item: item[1]))


def order(query: str = QUERY) -> list[str]:
    """Return the keys of all texts, nearest first; the one without known words last."""
    return [*nearest(query), "wordless"]


def order_by_words(query: str = QUERY) -> list[str]:
    """Return the keys of all texts, best first, by the BM25 of bm25s over their words, none of which has a stem."""
    bm25s = pytest.importorskip("bm25s")
    index = bm25s.BM25(k1=1.6, b=0.75, method="atire", idf_method="lucene", dtype="float64")
    index.index([text.split() for text in TEXTS.values()], show_progress=False)
    scores = dict(zip(TEXTS, index.get_scores(query.split()).tolist(), strict=True))
    return sorted(TEXTS, key=lambda key: -scores[key])


class CountingRanker:
    """A ranker that adds up the transport problems which another one solves."""

    def __init__(self, ranker: Ranker) -> None:
        self.ranker, self.solved, self.depths = ranker, 0, list[int | None]()

    def rank_many(
        self,
        queries: Sequence[Any],
        candidates: Sequence[Any],
        k: int | None = None,
        scores: Sequence[EngineScores | None] | None = None,
        rank: str | None = None,
        *,
        highlight: bool = False,
        passage: int | None = None,
    ) -> list[Ranking]:
        """See `Reranker.rank_many`."""
        rankings = self.ranker.rank_many(queries, candidates, k, scores, rank, highlight=highlight, passage=passage)
        self.solved += sum(ranking.counts.solved for ranking in rankings)
        self.depths += [k] * len(queries)
        return rankings
