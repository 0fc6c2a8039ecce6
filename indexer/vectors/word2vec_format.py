"""word2vec's binary format: a header `words dim`, then each word, a space and its float32 numbers."""

from collections.abc import Iterator

import numpy as np

from moverank.indexer.errors import VectorsError
from moverank.indexer.vectors.vector_file import Source
from moverank.indexer.vectors.vector_rows import MAX_WORD, Chunk, Table, word_number

_BLOCK = 1 << 22


def read_binary(source: Source, count: int, dim: int) -> Table:
    """Read what follows the header, with or without a newline after each vector. Raises VectorsError."""
    return Table("word2vec binary", dim, count, word_number, _chunks(source, count, dim))


def _chunks(source: Source, count: int, dim: int) -> Iterator[Chunk]:
    stride, done, buffer = 4 * dim, 0, b""
    while done < count:
        words, vectors, used = _whole(buffer, stride, count - done)
        if words:
            yield words, np.frombuffer(b"".join(vectors), "<f4").reshape(-1, dim)
            done += len(words)
        elif len(buffer) > MAX_WORD + stride:
            raise VectorsError(
                f"{source.path}, {word_number(done)} has no end: the header is wrong or the file damaged"
            )
        if done < count:
            more = source.read(max(_BLOCK, stride))
            if not more:
                raise VectorsError(
                    f"{source.path} ends after {done} words, but its header promises {count}: "
                    "it is cut short or its header is wrong"
                )
            buffer = buffer[used:] + more
    if (buffer[used:] + source.read(2)).strip(b"\n"):
        raise VectorsError(f"{source.path} goes on after the {count} words of {dim} numbers that its header promises")


def _whole(buffer: bytes, stride: int, limit: int) -> tuple[list[bytes], list[memoryview], int]:
    """Return the words and vectors that are complete in `buffer`, and the number of bytes they take."""
    words: list[bytes] = []
    vectors: list[memoryview] = []
    view, at = memoryview(buffer), 0
    while len(words) < limit:
        space = buffer.find(b" ", at, at + MAX_WORD + 2)
        end = space + 1 + stride
        if space < 0 or end > len(buffer):
            break
        words.append(buffer[at:space].removeprefix(b"\n"))
        vectors.append(view[space + 1 : end])
        at = end
    return words, vectors, at
