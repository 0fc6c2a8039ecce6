"""The common result of all readers of word vectors: rows in order, chunk by chunk."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.words.embedding import Subwords

Chunk = tuple[list[bytes], NDArray[np.float32]]
"""Words (n) as the bytes in the file, and their vectors (n, d)."""

MAX_DIM = 100_000
"""Maximum number of dimensions; more mean a broken header, and their buffers might not fit into memory."""

MAX_WORD = 65_536
"""Maximum length of a word in bytes: real files have up to some thousands; a longer one means a broken file."""


@dataclass(frozen=True, slots=True)
class VectorTable:
    """Word vectors being read: `dim` numbers for each word, `count` words (None: unknown until the end).

    `chunks` yields them in order. `row_label` names a row in error messages: by line, or by the number of its word.
    fastText's `subwords` are already on disk, and `subwords_digest` is the SHA-256 of their buckets.
    """

    format: str
    dim: int
    count: int | None
    row_label: Callable[[int], str]
    chunks: Iterator[Chunk]
    subwords: Subwords | None = None
    subwords_digest: bytes = b""


def line_label(header_lines: int) -> Callable[[int], str]:
    """Return a function that names a row by its line in a file with `header_lines` lines before the first row."""
    return lambda row: f"line {row + header_lines + 1}"


def word_label(row: int) -> str:
    """Return the name of a row by the number of its word, from 1."""
    return f"word {row + 1}"
