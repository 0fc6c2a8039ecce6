"""word2vec's binary format: a header `words dim`, then each word, a space and its float32 numbers.

Every format is read as rows in order, chunk by chunk.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.vectors.vector_file import VectorFile
from moverank.rerank.words.subwords import Subwords

Chunk = tuple[list[bytes], NDArray[np.float32]]
"""Words (n) as the bytes in the file, and their vectors (n, d)."""

MAX_DIM = 100_000
"""Maximum number of dimensions; more mean a broken header, and their buffers might not fit into memory."""

MAX_WORD = 65_536
"""Maximum length of a word in bytes: real files have up to some thousands; a longer word means a broken file."""


@dataclass(frozen=True, slots=True)
class VectorTable:
    """Word vectors being read: `dim` numbers for each word, `count` words (None: unknown until the end).

    `chunks` yields them in order. `row_label` names a row in error messages: by line, or by the number of its word.
    The vectors of `subwords` are already on disk, and `subwords_digest` is their SHA-256. `unit`: they are
    compared by the cosine, and scaled to unit length unless the caller decides otherwise.
    """

    format: str
    dim: int
    count: int | None
    row_label: Callable[[int], str]
    chunks: Iterator[Chunk]
    subwords: Subwords | None = None
    subwords_digest: bytes = b""
    unit: bool = False


def line_label(header_lines: int) -> Callable[[int], str]:
    """Return a function that names a row by its line in a file with `header_lines` lines before the first row."""
    return lambda row: f"line {row + header_lines + 1}"


def word_label(row: int) -> str:
    """Return the name of a row by the number of its word, from 1."""
    return f"word {row + 1}"


_BLOCK = 1 << 22


def read_binary(source: VectorFile, count: int, dim: int) -> VectorTable:
    """Read `count` words of `dim` numbers from `source`, after its header. Raises VectorsError.

    A newline may follow each vector.
    """
    return VectorTable("word2vec binary", dim, count, word_label, _chunks(source, count, dim))


def _chunks(source: VectorFile, count: int, dim: int) -> Iterator[Chunk]:
    stride, done, buffer = 4 * dim, 0, b""
    while done < count:
        words, vectors, used = _complete_rows(buffer, stride, count - done)
        if words:
            yield words, np.frombuffer(b"".join(vectors), "<f4").reshape(-1, dim)
            done += len(words)
        elif len(buffer) > MAX_WORD + stride:
            raise VectorsError(f"{source.path}, {word_label(done)} has no end: the header is wrong or the file damaged")
        if done < count:
            more = source.read(max(_BLOCK, stride))
            if not more:
                raise VectorsError(
                    f"{source.path} ends after {done} words, but its header promises {count}: "
                    "it is cut short or its header is wrong"
                )
            buffer = buffer[used:] + more
    if (buffer[used:] + source.read(2)).strip(b"\n"):
        raise VectorsError(f"{source.path} continues after the {count} words of {dim} numbers that its header promises")


def _complete_rows(buffer: bytes, stride: int, limit: int) -> tuple[list[bytes], list[memoryview], int]:
    """Return the words and vectors of up to `limit` complete rows in `buffer`, and the number of bytes they take.

    `stride` is the length of a vector in bytes.
    """
    words: list[bytes] = []
    vectors: list[memoryview] = []
    view, start = memoryview(buffer), 0
    while len(words) < limit:
        space = buffer.find(b" ", start, start + MAX_WORD + 2)
        end = space + 1 + stride
        if space < 0 or end > len(buffer):
            break
        words.append(buffer[start:space].removeprefix(b"\n"))
        vectors.append(view[space + 1 : end])
        start = end
    return words, vectors, start
