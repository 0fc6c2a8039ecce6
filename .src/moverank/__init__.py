"""Semantic text search by exact Word Mover's Distance, with a proof that no nearer text was missed.

The public names are imported on first use (PEP 562): `import moverank` itself loads neither numpy nor SQLAlchemy.
"""

from typing import TYPE_CHECKING

from moverank.lazy_names import lazy_names as _lazy_names

if TYPE_CHECKING:
    from moverank.indexer.collection import Collection as Collection
    from moverank.indexer.errors import CollectionError as CollectionError
    from moverank.indexer.errors import IndexerError as IndexerError
    from moverank.indexer.errors import LockedError as LockedError
    from moverank.indexer.errors import PlugInError as PlugInError
    from moverank.indexer.errors import PruneRefused as PruneRefused
    from moverank.indexer.errors import QueryVectorError as QueryVectorError
    from moverank.indexer.errors import ReadError as ReadError
    from moverank.indexer.errors import RecordError as RecordError
    from moverank.indexer.errors import SettingsError as SettingsError
    from moverank.indexer.errors import UnknownKey as UnknownKey
    from moverank.indexer.errors import UsageError as UsageError
    from moverank.indexer.errors import VectorsError as VectorsError
    from moverank.indexer.operations.operation import UNLIMITED as UNLIMITED
    from moverank.indexer.operations.operation import OperatedState as OperatedState
    from moverank.indexer.operations.operation import Operation as Operation
    from moverank.indexer.operations.operation import Work as Work
    from moverank.indexer.plugins.evidence.compare import compare as compare
    from moverank.indexer.plugins.proofs.verify import ProofRejected as ProofRejected
    from moverank.indexer.plugins.proofs.verify import Verified as Verified
    from moverank.indexer.plugins.proofs.verify import verify as verify
    from moverank.indexer.reranking.reranker import Reranker as Reranker
    from moverank.indexer.search.document_frequencies import DocumentFrequencies as DocumentFrequencies
    from moverank.indexer.values.documents import Changes as Changes
    from moverank.indexer.values.documents import Document as Document
    from moverank.indexer.values.documents import Event as Event
    from moverank.indexer.values.documents import Part as Part
    from moverank.indexer.values.documents import Rejection as Rejection
    from moverank.indexer.values.documents import Watch as Watch
    from moverank.indexer.values.option import Option as Option
    from moverank.indexer.values.queries import QueryText as QueryText
    from moverank.indexer.values.queries import StoredKey as StoredKey
    from moverank.indexer.values.search_options import SearchOptions as SearchOptions
    from moverank.indexer.values.settings import Settings as Settings
    from moverank.rerank.answer import Answer as Answer
    from moverank.rerank.bags.bag import Bag as Bag
    from moverank.rerank.bags.bag import Bags as Bags
    from moverank.rerank.distance.cell_limit import limit_cells as limit_cells
    from moverank.rerank.distance.explain import Explanation as Explanation
    from moverank.rerank.distance.explain import WhyNot as WhyNot
    from moverank.rerank.distance.rank_vectors import VectorWeights as VectorWeights
    from moverank.rerank.distance.rank_vectors import rank_vectors as rank_vectors
    from moverank.rerank.errors import BagError as BagError
    from moverank.rerank.errors import EmbeddingError as EmbeddingError
    from moverank.rerank.errors import EncoderError as EncoderError
    from moverank.rerank.errors import NoKnownWords as NoKnownWords
    from moverank.rerank.errors import OptionError as OptionError
    from moverank.rerank.errors import OutOfTime as OutOfTime
    from moverank.rerank.errors import RerankError as RerankError
    from moverank.rerank.errors import ScorerError as ScorerError
    from moverank.rerank.errors import TooLarge as TooLarge
    from moverank.rerank.errors import TransportError as TransportError
    from moverank.rerank.plugins.evidence.evidence import Carried as Carried
    from moverank.rerank.plugins.evidence.evidence import Evidence as Evidence
    from moverank.rerank.plugins.evidence.evidence import SentenceEvidence as SentenceEvidence
    from moverank.rerank.plugins.evidence.evidence import Uncovered as Uncovered
    from moverank.rerank.plugins.evidence.text_changes import TextChange as TextChange
    from moverank.rerank.plugins.evidence.text_changes import TextChanges as TextChanges
    from moverank.rerank.ranking import DISTANCES as DISTANCES
    from moverank.rerank.ranking import Distance as Distance
    from moverank.rerank.ranking import Flow as Flow
    from moverank.rerank.ranking import Highlight as Highlight
    from moverank.rerank.ranking import Hit as Hit
    from moverank.rerank.ranking import Passage as Passage
    from moverank.rerank.ranking import Percentile as Percentile
    from moverank.rerank.ranking import Ranking as Ranking
    from moverank.rerank.ranking import Span as Span
    from moverank.rerank.ranking import StageCounts as StageCounts
    from moverank.rerank.ranking import TermScale as TermScale
    from moverank.rerank.words.detection import detect_language as detect_language
    from moverank.rerank.words.embedding import Embedding as Embedding
    from moverank.rerank.words.tokenizer import stop_words as stop_words

if not TYPE_CHECKING:  # type checkers would accept any name, and do not compute `__all__`
    __all__, __getattr__, __dir__ = _lazy_names(globals())
