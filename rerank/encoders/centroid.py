"""The word centroid: the mean of a document's word vectors by weight (Kusner et al. 2015, section 4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rerank.bag import Bags
from rerank.encoders.encoder import Documents, Metric, State, part
from rerank.errors import EncoderError
from rerank.options import Option, check_options

_BLOCK = 4096


def centroids(bags: Bags, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the centroids (n, d) float32 of bags over word vectors (v, d).

    Their distance is WCD, a lower bound of WMD. The sums are taken in float64 and rounded once.
    """
    from scipy.sparse import csr_array  # 0.2 s: only for who builds a first stage

    means = np.empty((len(bags), vectors.shape[1]), np.float32)
    for start in range(0, len(bags), _BLOCK):
        stop = min(start + _BLOCK, len(bags))
        entries = slice(bags.starts[start], bags.starts[stop])
        used, columns = np.unique(bags.words[entries], return_inverse=True)
        rows = csr_array(
            (bags.weights[entries], columns, bags.starts[start : stop + 1] - bags.starts[start]),
            shape=(stop - start, len(used)),
        )
        means[start:stop] = rows @ vectors[used].astype(np.float64)
    return means


@dataclass(frozen=True, slots=True, eq=False)
class Centroid:
    """The centroid as an encoder: nothing is learned but the length of a word vector.

    Bags that are weighted by tf-idf give centroids that are; there is no idf beside that of the bags.
    """

    name: ClassVar[str] = "centroid"
    options: ClassVar[tuple[Option, ...]] = ()
    metric: ClassVar[Metric] = "l2"

    dim: int

    @classmethod
    def fit(cls, documents: Documents, options: Mapping[str, str]) -> Self:
        """See `Encoder.fit`."""
        check_options(cls.name, cls.options, options, EncoderError)
        return cls(int(documents.vectors.shape[1]))

    def encode(self, documents: Documents) -> NDArray[np.float32]:
        """See `Encoder.encode`; every word counts, known at the fit or not."""
        if documents.vectors.shape[1] != self.dim:
            raise EncoderError(
                f"centroid was fitted to word vectors of {self.dim} dimensions, not {documents.vectors.shape[1]}: "
                "fit it again"
            )
        return centroids(documents.bags, documents.vectors)

    def state(self) -> dict[str, NDArray[Any]]:
        """See `Encoder.state`."""
        return {"dim": np.array(self.dim, np.int64)}

    @classmethod
    def restore(cls, state: State) -> Self:
        """See `Encoder.restore`."""
        dim = int(part(state, "dim", np.int64, ()))
        if dim < 1:
            raise EncoderError(f"the state of centroid needs a dimension of 1 or more, not {dim}: fit it again")
        return cls(dim)
