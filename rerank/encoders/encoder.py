"""What an encoder is: it turns documents into one vector each, for the first stage."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from moverank.rerank.bags.bag import Bags
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Option

Metric = Literal["l2", "ip"]
State = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """Documents over a vocabulary of their own.

    `bags` are n rows over the places 0 to v - 1 of the vocabulary; `lengths` (n,) float64 is how many tokens each
    document has, so that weight * length stands for a count. `word_ids` (v,) int64, increasing, are names of the words
    that stay the same for ever in a collection, and `vectors` (v, d) float32 their word vectors. Raises EncoderError
    where the arrays do not fit together.
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
            raise EncoderError(f"words of documents must be places from 0 to {len(self.word_ids) - 1}")

    def __len__(self) -> int:
        return len(self.bags)

    def take(self, rows: NDArray[np.int64]) -> "Documents":
        """Return the documents `rows` (m,) only, in that order, over the same vocabulary."""
        return Documents(self.bags.take(rows), self.lengths[rows], self.word_ids, self.vectors)


class Encoder(Protocol):
    """Turns documents into vectors of one length.

    Fitting the same documents with the same options gives the same bits, on the same machine; encoding gives a document
    the same bits alone and among others.
    """

    name: ClassVar[str]
    """As on the command line."""
    options: ClassVar[tuple[Option, ...]]
    """What may be chosen."""

    @property
    def metric(self) -> Metric:
        """Say what nearness of vectors means: L2 distance, or inner product (of unit vectors, but for zero)."""
        ...

    @property
    def dim(self) -> int:
        """Return the length of a vector."""
        ...

    @classmethod
    def fit(cls, documents: Documents, options: Mapping[str, str]) -> Self:
        """Learn from documents, with options as typed; raises EncoderError for one that there is not."""
        ...

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """Return the vectors (n, dim) of documents, C-contiguous and finite."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all that encoding needs as arrays of numbers, options included."""
        ...

    @classmethod
    def restore(cls, state: State) -> Self:
        """Make the encoder again of its state; raises EncoderError for arrays that do not fit together."""
        ...


def fingerprint(encoder: Encoder) -> str:
    """Return the name of an encoder's content: a SHA-256 of its name and of its state's names, types and bytes."""
    total = hashlib.sha256(encoder.name.encode())
    for name, array in sorted(encoder.state().items()):
        # One byte order for all machines: a collection may be carried to another one.
        plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        total.update(f"\0{name}\0{plain.dtype.str}\0{array.shape}\0".encode())
        total.update(plain.tobytes())
    return total.hexdigest()


def part(state: State, name: str, kind: DTypeLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return one array of a state; raise EncoderError where it is missing, not of that type and shape, or not finite.

    A None in `shape` stands for any length.
    """
    array = state.get(name)
    if array is None:
        raise EncoderError(f"the encoder's state has no {name!r}: fit the encoder again")
    wanted = np.dtype(kind)
    fits = len(array.shape) == len(shape) and all(b in (a, None) for a, b in zip(array.shape, shape, strict=True))
    if array.dtype != wanted or not fits:
        told = ", ".join("any" if length is None else str(length) for length in shape)
        raise EncoderError(
            f"{name!r} of the encoder's state must be {wanted} of shape ({told}), not {array.dtype} of {array.shape}: "
            "fit the encoder again"
        )
    if wanted.kind == "f" and not np.all(np.isfinite(array)):
        raise EncoderError(f"{name!r} of the encoder's state has a number that is not finite: fit the encoder again")
    return array


def located(wanted: NDArray[np.int64], word_ids: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the places (n,) of ids `wanted` (n,) in `word_ids` (w,), which increase, and which are there at all."""
    place = np.searchsorted(word_ids, wanted)
    there = place < len(word_ids)
    there[there] = word_ids[place[there]] == wanted[there]
    return place, there


def known(documents: Documents, word_ids: NDArray[np.int64]) -> Bags:
    """Return the bags over the places of `word_ids` (w,), which increase: those of a fit.

    Words that are not among these are left out and nothing takes their weight; so a row may be empty.
    """
    place, there = located(documents.word_ids, word_ids)
    bags = documents.bags
    kept = np.flatnonzero(there[bags.words])
    starts = np.searchsorted(kept, bags.starts).astype(np.int64)
    return Bags(starts, place[bags.words[kept]].astype(np.int32), bags.weights[kept])


def sample_rows(count: int, limit: int, seed: int) -> NDArray[np.int64]:
    """Draw at most `limit` of the rows 0 to `count` - 1, increasing; all where there are no more."""
    if count <= limit:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, limit, replace=False))


def unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows (n, d) at Euclidean length 1, each for itself; zero stays zero."""
    rows = np.ascontiguousarray(rows)
    # Relative to the largest first, so that squares can neither overflow nor vanish.
    peaks = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    scaled = rows / np.where(peaks > 0, peaks, 1.0)
    # Not a product of matrices: BLAS sums a row in another order when there are other rows.
    lengths = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    found: NDArray[np.float64] = scaled / np.where(lengths > 0, lengths, 1.0)
    return found
