"""Semantic text search by exact Word Mover's Distance, with a proof that no nearer text was missed.

The public names are imported on first use (PEP 562): `import moverank` itself loads neither numpy nor SQLAlchemy.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moverank.indexer.collection import Collection
    from moverank.indexer.documents import Changes, Document, Part, Rejection
    from moverank.indexer.errors import (
        CollectionError,
        IndexerError,
        LockedError,
        PruneRefused,
        QueryVectorError,
        ReadError,
        RecordError,
        SettingsError,
        UnknownKey,
        UsageError,
        VectorsError,
    )
    from moverank.indexer.options import SearchOptions
    from moverank.indexer.reranking.reranker import Reranker
    from moverank.indexer.search.document_frequencies import DocumentFrequencies
    from moverank.indexer.settings import Settings
    from moverank.rerank.bags.bag import Bag, Bags
    from moverank.rerank.distance.explain import Explanation
    from moverank.rerank.distance.rank_vectors import VectorWeights, rank_vectors
    from moverank.rerank.distance.why_not import WhyNot
    from moverank.rerank.errors import (
        BagError,
        EmbeddingError,
        EncoderError,
        NoKnownWords,
        OptionError,
        RerankError,
        ScorerError,
        TransportError,
    )
    from moverank.rerank.ranking import DISTANCES, Distance, Flow, Hit, Ranking, StageCounts, TermScale
    from moverank.rerank.words.embedding import Embedding
    from moverank.rerank.words.stop_words import stop_words

__all__ = [
    "DISTANCES",
    "Bag",
    "BagError",
    "Bags",
    "Changes",
    "Collection",
    "CollectionError",
    "Distance",
    "Document",
    "DocumentFrequencies",
    "Embedding",
    "EmbeddingError",
    "EncoderError",
    "Explanation",
    "Flow",
    "Hit",
    "IndexerError",
    "LockedError",
    "NoKnownWords",
    "OptionError",
    "Part",
    "PruneRefused",
    "QueryVectorError",
    "Ranking",
    "ReadError",
    "RecordError",
    "Rejection",
    "RerankError",
    "Reranker",
    "ScorerError",
    "SearchOptions",
    "Settings",
    "SettingsError",
    "StageCounts",
    "TermScale",
    "TransportError",
    "UnknownKey",
    "UsageError",
    "VectorWeights",
    "VectorsError",
    "WhyNot",
    "rank_vectors",
    "stop_words",
]

_HOMES = {
    "moverank.indexer.collection": ("Collection",),
    "moverank.indexer.documents": (
        "Changes",
        "Document",
        "Part",
        "Rejection",
    ),
    "moverank.indexer.errors": (
        "CollectionError",
        "IndexerError",
        "LockedError",
        "PruneRefused",
        "QueryVectorError",
        "ReadError",
        "RecordError",
        "SettingsError",
        "UnknownKey",
        "UsageError",
        "VectorsError",
    ),
    "moverank.indexer.options": ("SearchOptions",),
    "moverank.indexer.reranking.reranker": ("Reranker",),
    "moverank.indexer.search.document_frequencies": ("DocumentFrequencies",),
    "moverank.indexer.settings": ("Settings",),
    "moverank.rerank.bags.bag": (
        "Bag",
        "Bags",
    ),
    "moverank.rerank.distance.explain": ("Explanation",),
    "moverank.rerank.distance.rank_vectors": (
        "VectorWeights",
        "rank_vectors",
    ),
    "moverank.rerank.distance.why_not": ("WhyNot",),
    "moverank.rerank.errors": (
        "BagError",
        "EmbeddingError",
        "EncoderError",
        "NoKnownWords",
        "OptionError",
        "RerankError",
        "ScorerError",
        "TransportError",
    ),
    "moverank.rerank.ranking": (
        "DISTANCES",
        "Distance",
        "Flow",
        "Hit",
        "Ranking",
        "StageCounts",
        "TermScale",
    ),
    "moverank.rerank.words.embedding": ("Embedding",),
    "moverank.rerank.words.stop_words": ("stop_words",),
}
"""The public names, by the module that defines them."""

if not TYPE_CHECKING:  # type checkers would accept any name
    from moverank.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(globals(), _HOMES)
    del lazy_names  # no public name
