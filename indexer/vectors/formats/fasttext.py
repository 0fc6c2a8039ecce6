"""fastText's binary models: a word's vector is the mean of its own row and its n-grams' bucket rows."""

import itertools
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.files.arrays import map_array
from moverank.indexer.values.search_options import Progress
from moverank.indexer.vectors.formats.matrix_copy import BLOCK, copy_matrix, step_of
from moverank.indexer.vectors.formats.word2vec import MAX_DIM, MAX_WORD, Chunk, VectorTable, word_label
from moverank.indexer.vectors.vector_file import VectorFile
from moverank.rerank.words.subwords import NGrams, Subwords

MAGIC = struct.pack("<i", 793712314)
"""The first four bytes of a model."""

_VERSIONS = (11, 12)
_SUPERVISED = 3
_END_OF_LINE = b"</s>"  # fastText gives it no n-grams
_CHUNK_WORDS = 256


@dataclass(frozen=True, slots=True)
class _Model:
    dim: int
    buckets: int
    min_n: int
    max_n: int
    words: list[bytes]


def read_fasttext(source: VectorFile, directory: Path, progress: Progress) -> VectorTable:
    """Read the model in `source`, supervised or not. Raises VectorsError.

    Its words' own rows and its buckets, which can be gigabytes, are first copied to `directory` and memory-mapped; the
    word vectors are composed from them. `progress` is called after each block of rows.
    """
    model = _read_model(source)
    own, count, dim = directory / "own", len(model.words), model.dim
    _copy_rows(source, own, count, dim, word_label, progress)
    subwords, digest = None, b""
    if model.max_n > 0 and model.buckets:
        path = directory / "subwords"
        digest = _copy_rows(source, path, model.buckets, dim, lambda i: f"n-gram bucket {i}", progress)
        buckets = map_array(path, "<f4", (model.buckets, dim), mode="r")
        subwords = Subwords(buckets, NGrams(model.min_n, model.max_n))
    chunks = _chunks(own, model, subwords)
    return VectorTable("fastText binary", dim, count, word_label, chunks, subwords, digest)


def _read_model(source: VectorFile) -> _Model:
    """Read everything before the values of the input matrix."""
    _, version = struct.unpack("<2i", source.take(8, "its first numbers"))
    if version not in _VERSIONS:
        raise VectorsError(f"{source.path} is a fastText model of version {version}: only 11 and 12 are known")
    arguments = struct.unpack("<12id", source.take(56, "its settings"))
    dim, kind, bucket, min_n, max_n = arguments[0], arguments[7], arguments[8], arguments[9], arguments[10]
    size, count, labels, _, pruned = struct.unpack("<3i2q", source.take(28, "its dictionary"))
    if pruned >= 0:
        raise _quantised(source)
    if not 0 < dim <= MAX_DIM or count < 1 or labels < 0 or size != count + labels or bucket < 0:
        raise VectorsError(f"{source.path} is a fastText model with a damaged header: get it again")
    words = _read_dictionary(source, size)[:count]
    if source.take(1, "its dictionary") != b"\0":
        raise _quantised(source)
    rows, columns = struct.unpack("<2q", source.take(16, "its input matrix"))
    if (rows, columns) != (count + bucket, dim) or (not source.zipped and rows * columns * 4 > source.size):
        raise VectorsError(
            f"{source.path} has an input matrix of {rows} x {columns}, but its header promises "
            f"{count + bucket} x {dim}: it is damaged, get it again"
        )
    if version < 12 and kind == _SUPERVISED:  # such models have no n-grams, despite their max_n
        max_n = 0
    return _Model(dim, bucket, min_n, max_n, words)


def _quantised(source: VectorFile) -> VectorsError:
    return VectorsError(
        f"{source.path} is a quantised fastText model, whose vectors are not stored: give the .bin it was made from"
    )


def _read_dictionary(source: VectorFile, size: int) -> list[bytes]:
    """Read the words of `size` entries: a word that ends in a zero byte, its count (8 bytes) and its type (1 byte)."""
    words: list[bytes] = []
    buffer, start = b"", 0
    while len(words) < size:
        end = buffer.find(b"\0", start)
        if end >= 0 and end + 10 <= len(buffer):
            words.append(buffer[start:end])
            start = end + 10
            continue
        if len(buffer) - start > MAX_WORD + 10:
            raise VectorsError(f"{source.path}, {word_label(len(words))} has no end: the file is damaged, get it again")
        more = source.read(BLOCK)
        if not more:
            raise VectorsError(f"{source.path} ends after {len(words)} of {size} words: it is cut short, get it again")
        buffer, start = buffer[start:] + more, 0
    source.unread(buffer[start:])
    return words


def _copy_rows(
    source: VectorFile, path: Path, count: int, dim: int, row_label: Callable[[int], str], progress: Progress
) -> bytes:
    """Copy `count` rows of `dim` numbers to an array file at `path`, and return their SHA-256; see `copy_matrix`."""

    def blocks() -> Iterator[NDArray[np.float32]]:
        for start in range(0, count, step_of(dim)):
            n = min(step_of(dim), count - start)
            yield np.frombuffer(source.take(4 * dim * n, row_label(start)), "<f4").reshape(n, dim)

    return copy_matrix(blocks(), path, (count, dim), source.path, row_label, progress)


def _chunks(own: Path, model: _Model, subwords: Subwords | None) -> Iterator[Chunk]:
    """Yield the words with their vectors, and remove the file of their own rows at the end."""
    for start in range(0, len(model.words), _CHUNK_WORDS):
        words = model.words[start : start + _CHUNK_WORDS]
        # A new mapping for each chunk releases the pages of the previous ones; none outlasts the file.
        mapped = map_array(own, "<f4", (len(model.words), model.dim), mode="r")
        rows = np.array(mapped[start : start + len(words)])
        del mapped
        yield words, _composed(words, rows, subwords) if subwords else rows
    own.unlink()


def _composed(words: list[bytes], own: NDArray[np.float32], subwords: Subwords) -> NDArray[np.float32]:
    """Return the mean (n, d) of each word's own row and its n-grams' rows."""
    hashes = [[] if word == _END_OF_LINE else subwords.rows(word.decode("utf-8", "backslashreplace")) for word in words]
    sums = own.astype(np.float64)
    counts = np.fromiter(map(len, hashes), np.int64, len(words))
    with_ngrams = np.flatnonzero(counts)
    if len(with_ngrams):
        rows = subwords.buckets[list(itertools.chain.from_iterable(hashes))]
        starts = (np.cumsum(counts) - counts)[with_ngrams]
        sums[with_ngrams] += np.add.reduceat(rows, starts, axis=0, dtype=np.float64)
    mean: NDArray[np.float32] = (sums / (counts + 1)[:, None]).astype(np.float32)
    return mean
