"""What every reader of word vectors hands over: rows in order, a chunk at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.words.embedding import Subwords

Chunk = tuple[list[bytes], NDArray[np.float32]]
"""Words (n) as the file spells them, and their vectors (n, d)."""

MAX_DIM = 100_000
"""More dimensions than this are a broken header: the buffers for them could not be had anyway."""

MAX_WORD = 65_536
"""Bytes. Real files hold words of some thousands; what is longer is a reader that lost its place."""


@dataclass(frozen=True, slots=True)
class Table:
    """Word vectors on their way in: `dim` numbers for each word, `count` words (None: not known before the end).

    `place` says where a row stands in the file: a line, or a word's number. fastText's `subwords` are already on disk,
    and `subwords_digest` is the SHA-256 of their buckets.
    """

    format: str
    dim: int
    count: int | None
    place: Callable[[int], str]
    chunks: Iterator[Chunk]
    subwords: Subwords | None = None
    subwords_digest: bytes = b""


def line_after(lines: int) -> Callable[[int], str]:
    """Name rows by their lines in a file that has so many `lines` before the first."""
    return lambda row: f"line {row + lines + 1}"


def word_number(row: int) -> str:
    """Name a row by its word's number, counted from 1."""
    return f"word {row + 1}"
