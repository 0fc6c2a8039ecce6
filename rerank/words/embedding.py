"""Word vectors, perhaps scaled to length 1; a word without a row may have another form, or parts to compose it of."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moverank.rerank.errors import EmbeddingError
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.forms import COMPOUND, EXACT, SUBWORDS, UNFOUND, Forms
from moverank.rerank.words.languages import language_of
from moverank.rerank.words.phrases import JOINT, phrases_of
from moverank.rerank.words.subwords import Subwords
from moverank.rerank.words.vocabulary import UNKNOWN, Vocabulary


def unit_rows(rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return rows (n, d) scaled to Euclidean length 1, float64; zero rows stay zero.

    The bits of a row do not depend on the other rows.
    """
    wide = np.ascontiguousarray(rows, np.float64)
    # Scaling by a power of two does not round, and prevents overflow and underflow of the squares.
    exponents = np.frexp(np.abs(wide).max(axis=1, keepdims=True, initial=0.0))[1]
    scaled = wide * np.ldexp(1.0, np.minimum(-exponents, 1000))
    # Not a matrix product: BLAS sums a row in an order that depends on the number of rows.
    lengths = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    unit: NDArray[np.float64] = scaled / np.where(lengths > 0, lengths, 1.0)
    return unit


def row_lengths(rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return the Euclidean lengths (n,) of rows (n, d) of numbers up to `LONGEST`; each depends on its row alone."""
    wide = np.ascontiguousarray(rows, np.float64)
    lengths: NDArray[np.float64] = np.sqrt((wide * wide).sum(axis=1))
    return lengths


LONGEST = 1e15
"""The largest magnitude of a vector component: sums of squares must fit into float32."""

_TOO_SMALL = "an embedding needs at least one word and one dimension"

COMPOSED = -2
"""The row number of a word that has no row of its own, but a vector composed of its parts or subwords."""


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """Words and their vectors (v, d) float32, memory-mapped or not; row i belongs to `words[i]`.

    `words` may be any sequence of strings. `fingerprint` identifies the content and is computed unless given: equal
    fingerprints mean equal distances. `subwords` compose vectors for words without a row. `unit` states that the
    vectors have length 1; composed ones are then scaled to length 1, too. `forms` find words that have a row in another
    form, and compounds, before subwords do. `before` is called with the rows (n,) that
    `gather` is about to read, so that the owner of a memory-mapped file can verify them. `lengths` (v,) float32 are
    the lengths of `unit` vectors before scaling; None: unknown. Raises EmbeddingError for inconsistent types and
    shapes; the values are checked by `Embedding.of` only, since they may be gigabytes.
    """

    words: Sequence[str]
    vectors: NDArray[np.float32]
    fingerprint: str = ""
    subwords: Subwords | None = None
    unit: bool = False
    before: Callable[[NDArray[np.integer[Any]]], None] | None = None
    forms: Forms | None = None
    lengths: NDArray[np.float32] | None = None
    _vocabulary: Vocabulary = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or self.vectors.dtype != np.float32:
            kind = f"{self.vectors.ndim}-dimensional {self.vectors.dtype}"
            raise EmbeddingError(f"vectors must be a float32 matrix, not {kind}")
        if len(self.words) != len(self.vectors):
            raise EmbeddingError(f"there are {len(self.words)} words but {len(self.vectors)} vectors")
        if not self.dim:
            raise EmbeddingError(_TOO_SMALL)
        if self.subwords and self.subwords.buckets.shape[1] != self.dim:
            raise EmbeddingError(f"subwords have {self.subwords.buckets.shape[1]} dimensions, words {self.dim}")
        if self.lengths is not None and not (self.unit and self.lengths.shape == (len(self.words),)):
            raise EmbeddingError("each vector of length 1, and no other, has a length from before it was scaled")
        vocabulary = self.words if isinstance(self.words, Vocabulary) else Vocabulary.of(self.words)
        object.__setattr__(self, "_vocabulary", vocabulary)
        object.__setattr__(self, "words", vocabulary)
        if not self.fingerprint:
            arrays = [self.vectors, self.subwords.buckets if self.subwords else None, self.lengths]
            digests = [hashlib.sha256(_contiguous(array)).digest() for array in arrays if array is not None]
            value = fingerprint(vocabulary, digests, self.subwords, self.forms, unit=self.unit)
            object.__setattr__(self, "fingerprint", value)

    @classmethod
    def of(
        cls, words: Iterable[str], vectors: ArrayLike, language: str | None = None, *, normalize: bool = False
    ) -> "Embedding":
        """Return an embedding of distinct `words` and `vectors` (v, d) in memory, which are converted to float32.

        For gensim's vectors: `Embedding.of(kv.index_to_key, kv.vectors)`. With a `language`, the code of the texts',
        words are also found in another case, without marks, or as compounds: see `forms`. `normalize` scales vectors
        to length 1, and keeps their lengths. Raises EmbeddingError for a repeated word, for a number that is not finite
        or beyond `LONGEST`, and for inconsistent shapes; OptionError for an unknown language.
        """
        vocabulary = Vocabulary.of(words)
        try:
            with np.errstate(over="ignore"):
                matrix = np.ascontiguousarray(vectors, np.float32)
        except (TypeError, ValueError) as error:
            raise EmbeddingError(f"vectors must be a matrix of numbers: {error}") from error
        forms = None if language is None else Forms.of(vocabulary, language_of(language).code)
        embedding = cls(vocabulary, matrix, forms=forms)
        if not vocabulary:
            raise EmbeddingError(_TOO_SMALL)
        pair = vocabulary.repeated()
        if pair:
            raise EmbeddingError(f"the word {vocabulary[pair[0]]!r} occurs twice: in rows {pair[0]} and {pair[1]}")
        bad = unusable_rows(matrix)
        if len(bad):
            raise EmbeddingError(
                f"the vector of {vocabulary[bad[0]]!r} (row {bad[0]}) has a number that is not finite, or beyond 1e15"
            )
        if normalize:
            unit, lengths = unit_rows(matrix).astype(np.float32), row_lengths(matrix).astype(np.float32)
            return cls(vocabulary, unit, unit=True, forms=forms, lengths=lengths)
        return embedding

    @classmethod
    def empty(cls) -> "Embedding":
        """Return an embedding of no words, for texts that are compared without vectors."""
        return cls((), np.empty((0, 1), np.float32))

    def in_memory(self) -> "Embedding":
        """Return a copy that needs no file; the owner of a memory-mapped file first verifies all of it."""
        if self.before:
            self.before(np.arange(len(self.vectors)))
        words = Vocabulary(*self._vocabulary.__reduce__()[1])
        subwords = self.subwords.in_memory() if self.subwords else None
        forms = Forms(*self.forms.__reduce__()[1]) if self.forms else None
        lengths = None if self.lengths is None else np.array(self.lengths)
        return Embedding(words, np.array(self.vectors), self.fingerprint, subwords, self.unit, None, forms, lengths)

    def __reduce__(self) -> tuple[type["Embedding"], tuple[Any, ...]]:
        """Pickle the arrays in memory, without the file."""
        one = self.in_memory()
        own = one.words, one.vectors, one.fingerprint, one.subwords, one.unit, None, one.forms, one.lengths
        return Embedding, own

    def __deepcopy__(self, _memo: dict[int, Any]) -> "Embedding":
        # Not copied with an estimator's parameters: it is immutable, and may have gigabytes.
        return self

    @property
    def dim(self) -> int:
        """Return the number of dimensions d."""
        return int(self.vectors.shape[1])

    def phrases(self, language: str) -> str:
        """Return the first 20,000 phrases among the words, for texts in a language, a code; see `phrases_of`.

        Without `forms`, they are those that have a vector as a text has them, in lower case.
        """
        found = phrases_of(self._vocabulary.containing(JOINT), language)
        if self.forms:
            return found
        phrases = found.split()
        return " ".join(phrases[i] for i in np.flatnonzero(self.find(phrases) != UNKNOWN).tolist())

    def find(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the rows (n,) of `words`, folded as a tokenizer does.

        The row is COMPOSED for a word of known parts or subwords alone, UNKNOWN for any other word without a row.
        """
        rows = self._vocabulary.find(words)
        if self.has_steps:
            for i in np.flatnonzero(rows == UNKNOWN).tolist():
                rows[i] = self._find_otherwise(words[i])
        return rows

    def _find_otherwise(self, word: str) -> int:
        if self.forms:
            row = self.forms.find(word, self._vocabulary)
            if row != UNKNOWN:
                return row
        return COMPOSED if self._compound(word) or (self.subwords and self.subwords.rows(word)) else UNKNOWN

    def _compound(self, word: str) -> tuple[int, int] | None:
        check_time()  # a query may have a hundred thousand words to look up
        return self.forms.compound(word, self._vocabulary) if self.forms else None

    @property
    def has_steps(self) -> bool:
        """Return whether words can be found in other forms, or composed of subwords."""
        return self.forms is not None or self.subwords is not None

    def step(self, word: str, row: int) -> str:
        """Return which of `STEPS` of the look-up gave a word the `row` that `find` returned."""
        if row == COMPOSED:
            return COMPOUND if self._compound(word) else SUBWORDS
        if row == UNKNOWN:
            return UNFOUND
        return self.forms.step(word, self._vocabulary[row]) if self.forms else EXACT

    def known(self, words: Sequence[str]) -> tuple[list[str], NDArray[np.float32]]:
        """Return the `words` that have a vector, in their order, and their vectors (n, d)."""
        rows = self.find(words)
        indices = np.flatnonzero(rows != UNKNOWN)
        names = [words[i] for i in indices.tolist()]
        return names, self.gather(names, rows[indices])

    def spread(self, words: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the vectors (n, d) of `words`, zeros for unknown words, and which words are known (n,)."""
        rows = self.find(words)
        known = rows != UNKNOWN
        if known.all():
            return self.gather(words, rows), known
        vectors = np.zeros((len(words), self.dim), np.float32)
        vectors[known] = self.gather([words[i] for i in np.flatnonzero(known).tolist()], rows[known])
        return vectors, known

    def gather(self, words: Sequence[str], rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Return the vectors (n, d) of `words` with the `rows` (n,) that `find` returned.

        Raises EmbeddingError for a row that does not exist, such as UNKNOWN, or that cannot be composed.
        """
        invalid = np.flatnonzero(((rows < 0) & (rows != COMPOSED)) | (rows >= len(self.vectors))).tolist()
        if invalid:
            raise EmbeddingError(f"the word {words[invalid[0]]!r} has no vector (row {rows[invalid[0]]})")
        if self.before:
            self.before(rows[rows >= 0])
        gathered: NDArray[np.float32] = np.asarray(self.vectors[np.maximum(rows, 0)])
        composed = np.flatnonzero(rows == COMPOSED)
        if len(composed):
            vectors = self._compose([words[i] for i in composed.tolist()])
            gathered[composed] = unit_rows(vectors) if self.unit else vectors
        return gathered

    def _compose(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors (n, d) of words without a row: the mean of their parts' or of their subwords'."""
        pairs = [self._compound(word) for word in words]
        parts = np.array([pair for pair in pairs if pair], np.int64).reshape(-1, 2)
        if self.before:
            self.before(parts.ravel())
        is_compound = np.array([pair is not None for pair in pairs])
        others = [word for word, pair in zip(words, pairs, strict=True) if pair is None]
        if others and not self.subwords:
            raise EmbeddingError(f"the word {others[0]!r} has no subwords to compose a vector of")
        vectors = np.empty((len(words), self.dim), np.float32)
        vectors[is_compound] = self.vectors[parts].mean(axis=1, dtype=np.float32)
        if others and self.subwords:
            vectors[~is_compound] = self.subwords.compose(others)
        return vectors

    def lengths_of(self, words: Sequence[str], *, summed: bool = False) -> NDArray[np.float64]:
        """Return how long the vectors of `words` (n,) were before they were scaled to length 1, 0 for unknown words.

        A compound has the mean length of its parts. A word without a row has the mean of its subwords' vectors, or with
        `summed` their sum. A static embedding model averages over the pieces of a text. So its vector of a text is, up
        to its length, the sum over the words of count times summed length times unit vector, where each word has the
        pieces that it has alone: the summed length is the weight by which the model counts a word, and contains the
        weights of the pieces. Raises EmbeddingError if lengths are not known.
        """
        if self.lengths is None:
            raise EmbeddingError("the lengths that the word vectors had before they were scaled are not known")
        rows = self.find(words)
        lengths = np.where(rows >= 0, self.lengths[np.maximum(rows, 0)], 0.0).astype(np.float64)
        pairs = {i: self._compound(words[i]) for i in np.flatnonzero(rows == COMPOSED).tolist()}
        for i, pair in pairs.items():
            if pair:
                lengths[i] = np.mean(self.lengths[list(pair)], dtype=np.float64)
        others = [i for i, pair in pairs.items() if not pair]
        if others and self.subwords:
            lengths[others] = self.subwords.lengths([words[i] for i in others], summed=summed)
        return lengths


def unusable_rows(vectors: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return the rows of vectors (n, d) with a number that is not finite or whose magnitude exceeds `LONGEST`."""
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(~(np.abs(vectors) <= LONGEST).all(axis=1))


def fingerprint(
    words: Vocabulary, digests: Sequence[bytes], subwords: Subwords | None, forms: Forms | None = None, *, unit: bool
) -> str:
    """Return a SHA-256 that identifies the content of an embedding.

    It covers the `words`, the `digests` of the arrays (SHA-256 of vectors, buckets and lengths, those that there are),
    how `subwords` are split, the language of the `forms`, and `unit`.
    """
    content = len(words), subwords.split.key if subwords else (), unit
    total = hashlib.sha256(repr((*content, forms.language) if forms else content).encode())
    for part in (words.blob, words.ends):
        total.update(hashlib.sha256(_contiguous(part)).digest())
    for digest in digests:
        total.update(digest)
    return total.hexdigest()


def _contiguous(array: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).data.cast("B") if array.size else memoryview(b"")
