"""Exact reranking by Word Mover's Distance: numerics without state.

Heavy libraries (scipy, numba, POT) are imported by the functions that need them.
"""

from rerank.bag import Bag, Bags
from rerank.embedding import Embedding
from rerank.errors import (
    BagError,
    EmbeddingError,
    EncoderError,
    NoKnownWords,
    OptionError,
    RerankError,
    ScorerError,
    TransportError,
)
from rerank.explain import Explanation
from rerank.ranking import DISTANCES, Distance, Flow, Hit, Ranking, StageCounts
from rerank.reranker import Reranker
from rerank.why_not import WhyNot

__all__ = [
    "DISTANCES",
    "Bag",
    "BagError",
    "Bags",
    "Distance",
    "Embedding",
    "EmbeddingError",
    "EncoderError",
    "Explanation",
    "Flow",
    "Hit",
    "NoKnownWords",
    "OptionError",
    "Ranking",
    "RerankError",
    "Reranker",
    "ScorerError",
    "StageCounts",
    "TransportError",
    "WhyNot",
]
