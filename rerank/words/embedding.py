"""Word vectors: which words have one, and how a word without a row is put together from its subwords."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moverank.rerank.errors import EmbeddingError
from moverank.rerank.words.vocabulary import UNKNOWN, Vocabulary, encoded

LONGEST = 1e15
"""No number of a vector may be larger: its square and those of others have to fit into float32."""

COMPOSED = -2
"""The row of a word without a row of its own, whose vector is composed of its subwords."""


@dataclass(frozen=True, slots=True, eq=False)
class Subwords:
    """Vectors of character n-grams, hashed into `buckets` (b, d) float32, as fastText learns them.

    A word stands for the n-grams of `min_n` to `max_n` characters of `<word>` (Bojanowski et al. 2017, section 3.2).
    `before` is called with the rows that are about to be read: see `Embedding`.
    """

    buckets: NDArray[np.float32]
    min_n: int
    max_n: int
    before: Callable[[NDArray[np.integer[Any]]], None] | None = None

    def __post_init__(self) -> None:
        if self.buckets.ndim != 2 or self.buckets.dtype != np.float32:
            raise EmbeddingError(f"subword buckets must be a float32 matrix, not {_kind(self.buckets)}")

    def hashes(self, word: str) -> list[int]:
        """Return the bucket of every n-gram of `word`, by 32-bit FNV-1a over its UTF-8.

        fastText takes each byte as a signed char before the exclusive or, so one of 128 or more also flips the upper
        24 bits. An n-gram of one character that is only the word's boundary does not count.
        """
        if not len(self.buckets):
            return []
        found = []
        # Signed bytes of each character, as the exclusive or sees them.
        characters = [[b | 0xFFFFFF00 if b > 127 else b for b in encoded(c)] for c in f"<{word}>"]
        last = len(characters)
        for start in range(last):
            value = 2166136261
            for end in range(start + 1, min(start + self.max_n, last) + 1):
                for byte in characters[end - 1]:
                    value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
                length = end - start
                if length >= self.min_n and not (length == 1 and (start == 0 or end == last)):
                    found.append(value % len(self.buckets))
        return found

    def compose(self, word: str) -> NDArray[np.float32] | None:
        """Return the mean (d,) of the vectors of the word's n-grams, or None where it has none."""
        hashes = self.hashes(word)
        if hashes and self.before:
            self.before(np.array(hashes))
        return self.buckets[hashes].mean(axis=0, dtype=np.float32) if hashes else None


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """Words and their vectors (v, d) float32, memory-mapped or not; row i belongs to `words[i]`.

    `words` may be any sequence of strings. `fingerprint` names the content, computed where it is not given; equal
    fingerprints mean equal distances. `unit` says that the vectors were brought to unit length, so that composed ones
    must be, too. Values are not looked at, for there may be gigabytes; `Embedding.of` does. `before` is called with
    the rows (n,) that `gather` is about to read: who maps a file can look at them first. Raises EmbeddingError.
    """

    words: Sequence[str]
    vectors: NDArray[np.float32]
    fingerprint: str = ""
    subwords: Subwords | None = None
    unit: bool = False
    before: Callable[[NDArray[np.integer[Any]]], None] | None = None
    _vocabulary: Vocabulary = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or self.vectors.dtype != np.float32:
            raise EmbeddingError(f"vectors must be a float32 matrix, not {_kind(self.vectors)}")
        if len(self.words) != len(self.vectors):
            raise EmbeddingError(f"there are {len(self.words)} words but {len(self.vectors)} vectors")
        if not self.vectors.size:
            raise EmbeddingError("an embedding needs at least one word and one dimension")
        if self.subwords and self.subwords.buckets.shape[1] != self.dim:
            raise EmbeddingError(f"subwords have {self.subwords.buckets.shape[1]} dimensions, words {self.dim}")
        vocabulary = self.words if isinstance(self.words, Vocabulary) else Vocabulary.of(self.words)
        object.__setattr__(self, "_vocabulary", vocabulary)
        object.__setattr__(self, "words", vocabulary)
        if not self.fingerprint:
            matrices = [self.vectors, self.subwords.buckets] if self.subwords else [self.vectors]
            digests = [hashlib.sha256(_contiguous(matrix)).digest() for matrix in matrices]
            object.__setattr__(self, "fingerprint", fingerprint(vocabulary, digests, self.subwords, unit=self.unit))

    @classmethod
    def of(cls, words: Iterable[str], vectors: ArrayLike) -> "Embedding":
        """Make an embedding of distinct words and finite vectors (v, d) in memory, float64 or float32.

        gensim's vectors come in by `Embedding.of(kv.index_to_key, kv.vectors)`. Raises EmbeddingError.
        """
        vocabulary = Vocabulary.of(words)
        try:
            with np.errstate(over="ignore"):
                matrix = np.ascontiguousarray(vectors, np.float32)
        except (TypeError, ValueError) as error:
            raise EmbeddingError(f"vectors must be a matrix of numbers: {error}") from error
        embedding = cls(vocabulary, matrix)
        pair = vocabulary.repeated()
        if pair:
            raise EmbeddingError(f"the word {vocabulary[pair[0]]!r} is there twice: in rows {pair[0]} and {pair[1]}")
        bad = unusable_rows(matrix)
        if len(bad):
            raise EmbeddingError(
                f"the vector of {vocabulary[bad[0]]!r} (row {bad[0]}) has a number that is not finite, or beyond 1e15"
            )
        return embedding

    @property
    def dim(self) -> int:
        """Return the number of dimensions d."""
        return int(self.vectors.shape[1])

    def find(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the rows (n,) of `words`; COMPOSED where only subwords are known, UNKNOWN where nothing is."""
        rows = self._vocabulary.find(words)
        if self.subwords:
            for i in np.flatnonzero(rows == UNKNOWN).tolist():
                if self.subwords.hashes(words[i]):
                    rows[i] = COMPOSED
        return rows

    def gather(self, words: Sequence[str], rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Return the vectors (n, d) of `words` whose `rows` (n,) `find` has told.

        Raises EmbeddingError for a row that the embedding has not, UNKNOWN above all.
        """
        wrong = np.flatnonzero(((rows < 0) & (rows != COMPOSED)) | (rows >= len(self.vectors))).tolist()
        if wrong:
            raise EmbeddingError(f"the word {words[wrong[0]]!r} has no vector (row {rows[wrong[0]]})")
        if self.before:
            self.before(rows[rows >= 0])
        gathered: NDArray[np.float32] = np.asarray(self.vectors[np.maximum(rows, 0)])
        for i in np.flatnonzero(rows == COMPOSED).tolist():
            vector = self.subwords.compose(words[i]) if self.subwords else None
            if vector is None:
                raise EmbeddingError(f"the word {words[i]!r} has no subwords to be composed of")
            gathered[i] = unit_rows(vector[None])[0] if self.unit else vector
        return gathered


def unusable_rows(vectors: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return the rows of vectors (n, d) with a number that is not finite or beyond `LONGEST`."""
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(~(np.abs(vectors) <= LONGEST).all(axis=1))


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows (n, d) brought to Euclidean length 1; zero stays zero."""
    # Squares of float32 overflow float32, not float64.
    wide = vectors.astype(np.float64)
    lengths = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    return (wide / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def fingerprint(words: Vocabulary, digests: Sequence[bytes], subwords: Subwords | None, *, unit: bool) -> str:
    """Return the name of an embedding's content: a SHA-256 of its words, its matrices' `digests` and its rules."""
    lengths = (subwords.min_n, subwords.max_n) if subwords else ()
    total = hashlib.sha256(repr((len(words), lengths, unit)).encode())
    for part in (words.blob, words.ends):
        total.update(hashlib.sha256(_contiguous(part)).digest())
    for digest in digests:
        total.update(digest)
    return total.hexdigest()


def _contiguous(array: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).data.cast("B") if array.size else memoryview(b"")


def _kind(array: NDArray[Any]) -> str:
    return f"{array.ndim}-dimensional {array.dtype}"
