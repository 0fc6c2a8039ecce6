"""gensim's own files: pickles, which can run any code when they are loaded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.files.arrays import map_array
from moverank.indexer.values.search_options import silent
from moverank.indexer.vectors.formats.matrix_copy import copy_matrix, step_of
from moverank.indexer.vectors.formats.word2vec import Chunk, VectorTable, word_label
from moverank.rerank.runtime.gensim_log import gensim_imports
from moverank.rerank.words.subwords import NGrams, Subwords

_CHUNK_ROWS = 4096


def read_pickled(path: Path, directory: Path) -> VectorTable:
    """Load a model or its vectors with gensim, and return the rows; fastText's buckets are written to `directory`.

    Only for files from trusted authors: loading can run any code. Raises VectorsError, MissingExtra without gensim.
    """
    with gensim_imports(f"{path}, a pickle,", "save the vectors there in the format of word2vec"):
        from gensim.utils import SaveLoad

    try:
        model = SaveLoad.load(str(path))
    except Exception as error:  # a pickle can raise any exception
        raise VectorsError(f"gensim cannot load {path}: {type(error).__name__}: {error}") from error
    vectors = getattr(model, "wv", model)
    words, matrix = getattr(vectors, "index_to_key", None), getattr(vectors, "vectors", None)
    if not isinstance(words, list) or not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or not matrix.size:
        raise VectorsError(f"{path} holds a {type(model).__name__}, not word vectors of gensim")
    if len(words) != len(matrix) or not all(isinstance(word, str) for word in words):
        raise VectorsError(f"{path} has {len(matrix)} vectors for {len(words)} words, or words that are not text")
    subwords, digest = _subwords(vectors, path, directory)
    dim = int(matrix.shape[1])
    return VectorTable("gensim", dim, len(words), word_label, chunks_of(words, matrix), subwords, digest)


def chunks_of(words: list[str], matrix: NDArray[Any]) -> Iterator[Chunk]:
    """Yield words (v) and vectors (v, d), both in memory, chunk by chunk."""
    for start in range(0, len(words), _CHUNK_ROWS):
        encoded = [word.encode("utf-8", "surrogatepass") for word in words[start : start + _CHUNK_ROWS]]
        with np.errstate(over="ignore"):  # `write_vectors` rejects infinite numbers
            yield encoded, np.asarray(matrix[start : start + _CHUNK_ROWS], np.float32)


def _subwords(vectors: Any, source: Path, directory: Path) -> tuple[Subwords | None, bytes]:
    """Write the n-gram buckets of fastText's vectors; return them mapped, with their SHA-256."""
    buckets = getattr(vectors, "vectors_ngrams", None)
    if not isinstance(buckets, np.ndarray) or buckets.ndim != 2 or not buckets.size:
        return None, b""
    path, step = directory / "subwords", step_of(buckets.shape[1])
    blocks = (np.asarray(buckets[start : start + step], np.float32) for start in range(0, len(buckets), step))
    digest = copy_matrix(blocks, path, buckets.shape, source, lambda i: f"n-gram bucket {i}", silent)
    mapped = map_array(path, "<f4", buckets.shape, mode="r")
    return Subwords(mapped, NGrams(int(vectors.min_n), int(vectors.max_n))), digest
