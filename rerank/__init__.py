"""Exact reranking by Word Mover's Distance: numerics without state.

Heavy libraries (scipy, numba, POT) are imported by the functions that need them.
"""

from rerank.bag import Bag, Bags
from rerank.embedding import Embedding
from rerank.errors import BagError, EmbeddingError, NoKnownWords, RerankError, TransportError
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
    "Explanation",
    "Flow",
    "Hit",
    "NoKnownWords",
    "Ranking",
    "RerankError",
    "Reranker",
    "StageCounts",
    "TransportError",
    "WhyNot",
]
