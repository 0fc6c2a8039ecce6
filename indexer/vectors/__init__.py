"""Word vectors on disk: imported from files, trained on the corpus, opened in milliseconds.

Every way ends in one directory (see `indexer.vectors.layout`) that `open_vectors` maps into memory.
"""

from moverank.indexer.vectors.importing import import_vectors, same_source
from moverank.indexer.vectors.layout import check_vectors, open_vectors
from moverank.indexer.vectors.lsi_training import train_lsi
from moverank.indexer.vectors.training_options import Method, training_options
from moverank.indexer.vectors.word2vec_training import train_vectors

__all__ = [
    "Method",
    "check_vectors",
    "import_vectors",
    "open_vectors",
    "same_source",
    "train_lsi",
    "train_vectors",
    "training_options",
]
