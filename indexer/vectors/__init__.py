"""Word vectors on disk: imported from files or trained on the corpus, and memory-mapped."""

from moverank.indexer.vectors.importing import import_vectors, same_source
from moverank.indexer.vectors.layout import check_vectors, open_vectors
from moverank.indexer.vectors.lsi_training import train_lsi
from moverank.indexer.vectors.training_options import TrainingMethod, training_options
from moverank.indexer.vectors.word2vec_training import train_vectors

__all__ = [
    "TrainingMethod",
    "check_vectors",
    "import_vectors",
    "open_vectors",
    "same_source",
    "train_lsi",
    "train_vectors",
    "training_options",
]
