"""The word centroid: the weighted mean of a document's word vectors (Kusner et al. 2015, section 4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank import kernels
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import Frequencies, document_frequencies, with_factors
from moverank.rerank.encoders.encoder import Documents, EncoderState, Metric, part
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Option, Switch, check_options
from moverank.rerank.runtime.thread_pool import parallel_for

IDF = Switch("idf", False)

_PORTION = 1 << 24  # numbers of vectors that are read between two checks of the time


def centroids(bags: Bags, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the centroids (n, d) float32 of `bags` over word `vectors` (v, d).

    Their distance is WCD, a lower bound of WMD. Sums are taken in float64 and rounded once.
    """
    means = np.empty((len(bags), vectors.shape[1]), np.float32)

    def fill(first: int, last: int) -> None:
        kernels.weighted_sums(first, last, bags.starts, bags.words, bags.weights, vectors, means)

    parallel_for(fill, len(bags), most=bags.portion(_PORTION // max(1, vectors.shape[1])))
    return means


@dataclass(frozen=True, slots=True, eq=False)
class Centroid:
    """The centroid as an encoder: a fit learns only the dimension of word vectors, and with `idf` document frequencies.

    The option `idf` multiplies the weights of bags by idf. Use it for bags without tf-idf weights, which would
    count idf twice. The distance of the centroids is then no bound of the WMD of the bags, and a candidate list
    contains fewer of their nearest neighbours than without `idf` (tests/benchmarks/first_stage.py).
    """

    name: ClassVar[str] = "centroid"
    options: ClassVar[tuple[Option, ...]] = (IDF,)
    metric: ClassVar[Metric] = "l2"

    dim: int
    frequencies: Frequencies | None = None

    @property
    def is_bound(self) -> bool:
        """Return whether the distance of two vectors is a lower bound of WMD over the same bags."""
        return self.frequencies is None

    @classmethod
    def learns(cls, options: Mapping[str, str]) -> bool:
        """Return whether a fit with these options depends on the documents."""
        return IDF.read(options)

    @classmethod
    def fit(cls, documents: Documents, options: Mapping[str, str]) -> Self:
        """See `Encoder.fit`."""
        check_options(cls.name, cls.options, options, EncoderError)
        dim = int(documents.vectors.shape[1])
        return cls(dim, _counted(documents) if cls.learns(options) else None)

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """See `Encoder.encode`; words unseen in the fit count, too."""
        if documents.vectors.shape[1] != self.dim:
            raise EncoderError(
                f"centroid was fitted to word vectors of {self.dim} dimensions, not {documents.vectors.shape[1]}: "
                "fit it again"
            )
        if self.frequencies is None:
            return centroids(documents.bags, documents.vectors)
        weighted = with_factors(documents.bags, self.frequencies.idf(documents.word_ids))
        return centroids(weighted, documents.vectors)

    def state(self) -> dict[str, NDArray[Any]]:
        """See `Encoder.state`."""
        state: dict[str, NDArray[Any]] = {"dim": np.array(self.dim, np.int64)}
        if self.frequencies is not None:
            counted = self.frequencies
            state |= {"word_ids": counted.ids, "frequencies": counted.numbers}
            state |= {"documents": np.array(counted.documents, np.int64)}
        return state

    @classmethod
    def restore(cls, state: EncoderState) -> Self:
        """See `Encoder.restore`."""
        dim = int(part(state, "dim", np.int64, ()))
        if dim < 1:
            raise EncoderError(f"the state of centroid needs a dimension of 1 or more, not {dim}: fit it again")
        return cls(dim, None if set(state) == {"dim"} else _frequencies(state))


def _counted(documents: Documents) -> Frequencies:
    """Count the documents of each word that occurs."""
    numbers = document_frequencies(documents.bags, len(documents.word_ids))
    used = np.flatnonzero(numbers)
    return Frequencies(documents.word_ids[used], numbers[used], len(documents))


def _frequencies(state: EncoderState) -> Frequencies:
    """Return the frequencies of a state. Raises EncoderError for impossible ones."""
    word_ids = part(state, "word_ids", np.int64, (None,))
    frequencies = part(state, "frequencies", np.int64, word_ids.shape)
    documents = int(part(state, "documents", np.int64, ()))
    if np.any(np.diff(word_ids) <= 0) or np.any(frequencies < 1) or np.any(frequencies > documents):
        raise EncoderError(
            "the state of centroid needs increasing word ids, with frequencies from 1 to the number of documents: "
            "fit it again"
        )
    return Frequencies(word_ids, frequencies, documents)
