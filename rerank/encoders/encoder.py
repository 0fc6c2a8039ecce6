"""The encoder protocol: an encoder maps documents to vectors for the first stage."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from moverank.rerank.bags.bag import Bags, lookup
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Integer, Option

Metric = Literal["l2", "ip"]
EncoderState = Mapping[str, NDArray[Any]]

SEED = Integer("seed", 0, 0, 2**32 - 1)
"""The option of every encoder that samples or starts at random."""


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """Documents over a vocabulary of their own.

    `bags` are n rows over the indices 0 to v - 1 of the vocabulary. `lengths` (n,) float64 are the numbers of tokens
    of the documents, so that weight * length is a count. `word_ids` (v,) int64, strictly increasing, identify the words
    for the lifetime of a collection, and `vectors` (v, d) float32 are their word vectors. Raises EncoderError if the
    arrays do not match.
    """

    bags: Bags
    lengths: NDArray[np.float64]
    word_ids: NDArray[np.int64]
    vectors: NDArray[np.float32]

    def __post_init__(self) -> None:
        if self.lengths.shape != (len(self.bags),):
            raise EncoderError(f"{len(self.bags)} documents need one length each, not {self.lengths.shape}")
        if self.vectors.ndim != 2 or self.word_ids.shape != self.vectors.shape[:1]:
            raise EncoderError(
                f"a vocabulary needs one vector for each word id, not {self.vectors.shape} and {self.word_ids.shape}"
            )
        if np.any(np.diff(self.word_ids) <= 0):
            raise EncoderError("the word ids of a vocabulary must increase")
        words = self.bags.words
        if len(words) and not 0 <= int(words.min()) <= int(words.max()) < len(self.word_ids):
            raise EncoderError(f"words of documents must be indices from 0 to {len(self.word_ids) - 1}")

    def __len__(self) -> int:
        return len(self.bags)

    def take(self, rows: NDArray[np.int64]) -> "Documents":
        """Return only the documents `rows` (m,), in that order, over the same vocabulary."""
        return Documents(self.bags.take(rows), self.lengths[rows], self.word_ids, self.vectors)


class Encoder(Protocol):
    """Maps documents to vectors of a fixed length.

    Fitting is deterministic: the same documents and options give the same bits on the same machine. The bits of a
    document's vector do not depend on the other documents of the call.
    """

    name: ClassVar[str]
    """The name on the command line."""
    options: ClassVar[tuple[Option, ...]]
    """The options of `fit`."""

    @property
    def metric(self) -> Metric:
        """Return the similarity of vectors: L2 distance, or inner product (of unit vectors, or zero ones)."""
        ...

    @property
    def dim(self) -> int:
        """Return the length of a vector."""
        ...

    @classmethod
    def fit(cls, documents: Documents, options: Mapping[str, str]) -> Self:
        """Fit an encoder to documents. Options are names and values as text. Raises EncoderError for an invalid one."""
        ...

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """Return the vectors (n, dim) of documents, C-contiguous and finite."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that `encode` needs, options included, as numeric arrays by name."""
        ...

    @classmethod
    def restore(cls, state: EncoderState) -> Self:
        """Return the encoder that has this state. Raises EncoderError for missing or inconsistent arrays."""
        ...


def encode(encoder: Encoder, documents: Documents) -> NDArray[np.float32]:
    """Return the vectors (n, dim) of documents; EncoderError if an encoder of another package returns anything else."""
    vectors: object = encoder.encode(documents)
    shape = (len(documents), encoder.dim)
    if isinstance(vectors, np.ndarray) and (vectors.shape, vectors.dtype) == (shape, np.float32):
        if np.all(np.isfinite(vectors)):
            return vectors
        fault = "vectors that are not finite"
    else:
        kind = f"{vectors.dtype} of {vectors.shape}" if isinstance(vectors, np.ndarray) else type(vectors).__name__
        fault = f"{kind}, not float32 of {shape}"
    raise EncoderError(f"the encoder {encoder.name!r} returned {fault}: see moverank.testing.check_encoder")


def part(state: EncoderState, name: str, kind: DTypeLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return the array `name` of `state`, which must be finite, of dtype `kind` and of this `shape`.

    None in `shape` stands for any length. Raises EncoderError if the array is missing or has another form.
    """
    array = state.get(name)
    if array is None:
        raise EncoderError(f"the encoder's state has no {name!r}: fit the encoder again")
    dtype = np.dtype(kind)
    fits = len(array.shape) == len(shape) and all(b in (a, None) for a, b in zip(array.shape, shape, strict=True))
    if array.dtype != dtype or not fits:
        expected = ", ".join("any" if length is None else str(length) for length in shape)
        raise EncoderError(
            f"{name!r} of the encoder's state must be {dtype} of shape ({expected}), not {array.dtype} of "
            f"{array.shape}: fit the encoder again"
        )
    if dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise EncoderError(f"{name!r} of the encoder's state has a number that is not finite: fit the encoder again")
    return array


def known(documents: Documents, word_ids: NDArray[np.int64]) -> Bags:
    """Return the bags of `documents` over the indices of `word_ids` (w,), strictly increasing: the words of a fit.

    Other words are dropped, and the remaining weights are not scaled; a row may be empty.
    """
    indices, present = lookup(documents.word_ids, word_ids)
    bags = documents.bags
    entries = np.flatnonzero(present[bags.words])
    starts = np.searchsorted(entries, bags.starts).astype(np.int64)
    return Bags(starts, indices[bags.words[entries]].astype(np.int32), bags.weights[entries])


def sample_rows(count: int, limit: int, seed: int) -> NDArray[np.int64]:
    """Draw at most `limit` of the rows 0 to `count` - 1 by `seed`, increasing; all rows if `count` is not larger."""
    if count <= limit:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, limit, replace=False))


def training_sample(documents: Documents, limit: int, words: int, seed: int) -> tuple[Documents, NDArray[np.int64]]:
    """Return at most `limit` of `documents`, drawn by `seed`, and the ids of their `words` most frequent words.

    See `frequent_words`. Raises EncoderError if the sample has no word.
    """
    sample = documents.take(sample_rows(len(documents), limit, seed))
    return sample, frequent_words(sample, words)


def frequent_words(documents: Documents, limit: int) -> NDArray[np.int64]:
    """Return the ids (w,), increasing, of the `limit` words of highest document frequency; lower ids win ties.

    Raises EncoderError if the documents have no word.
    """
    words = documents.bags.words
    if not len(words):
        raise EncoderError("an encoder is fitted to documents with words: give at least one")
    frequencies = np.bincount(words, minlength=len(documents.word_ids))
    first = np.argsort(-frequencies, kind="stable")[:limit]
    return documents.word_ids[np.sort(first[frequencies[first] > 0])]
