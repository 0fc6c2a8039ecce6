"""gensim's own files: pickles, which run whatever code they hold when they are read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.vectors.arrays import ArrayFile, map_array
from moverank.indexer.vectors.vector_rows import Chunk, Table, word_number
from moverank.rerank.words.embedding import Subwords

_AT_ONCE = 4096


def read_pickled(path: Path, folder: Path) -> Table:
    """Let gensim load a model or its vectors, and hand over its rows; fastText's buckets go into `folder`.

    Only for files whose author is trusted as a program's would be. Raises VectorsError.
    """
    from gensim.utils import SaveLoad

    try:
        model = SaveLoad.load(str(path))
    except Exception as error:  # a pickle can raise anything at all
        raise VectorsError(f"gensim cannot load {path}: {type(error).__name__}: {error}") from error
    vectors = getattr(model, "wv", model)
    words, matrix = getattr(vectors, "index_to_key", None), getattr(vectors, "vectors", None)
    if not isinstance(words, list) or not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or not matrix.size:
        raise VectorsError(f"{path} holds a {type(model).__name__}, not word vectors of gensim")
    if len(words) != len(matrix) or not all(isinstance(word, str) for word in words):
        raise VectorsError(f"{path} has {len(matrix)} vectors for {len(words)} words, or words that are not text")
    subwords, digest = _subwords(vectors, folder)
    dim = int(matrix.shape[1])
    return Table("gensim", dim, len(words), word_number, rows_of(words, matrix), subwords, digest)


def rows_of(words: list[str], matrix: NDArray[Any]) -> Iterator[Chunk]:
    """Yield words and vectors in memory a chunk at a time."""
    for start in range(0, len(words), _AT_ONCE):
        some = [word.encode("utf-8", "surrogatepass") for word in words[start : start + _AT_ONCE]]
        with np.errstate(over="ignore"):  # told later, as a number that is not finite
            yield some, np.asarray(matrix[start : start + _AT_ONCE], np.float32)


def _subwords(vectors: Any, folder: Path) -> tuple[Subwords | None, bytes]:
    buckets = getattr(vectors, "vectors_ngrams", None)
    if not isinstance(buckets, np.ndarray) or not len(buckets):
        return None, b""
    path = folder / "subwords.npy"
    with ArrayFile(path, "<f4", buckets.shape[1:]) as file:
        for start in range(0, len(buckets), _AT_ONCE):
            file.write(buckets[start : start + _AT_ONCE])
    return Subwords(map_array(path, "<f4", buckets.shape), int(vectors.min_n), int(vectors.max_n)), file.digest
