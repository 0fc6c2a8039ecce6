"""What writing the first snapshot of a collection needs, loaded while the process has nothing else to do."""

from collections.abc import Callable

import numpy as np

from moverank.indexer.snapshot.first_stage import load_faiss
from moverank.rerank.bags.weights import PartCounts, weigh
from moverank.rerank.encoders.centroid import centroids


def _load_numba() -> None:
    import moverank.rerank.kernels  # noqa: F401 - 0.2 s


def _load_kernels() -> None:
    """Load the compiled code for bags and centroids: of one document, since it is loaded by the first call."""
    counts = PartCounts(np.array([0, 1]), np.zeros(1, np.int32), np.zeros(1, np.int32), np.ones(1, np.int32))
    centroids(weigh(counts, 0.0), np.ones((1, 1), np.float32))


STEPS: tuple[Callable[[], None], ...] = (_load_numba, _load_kernels, load_faiss)
"""Functions that take a fifth of a second at most, so that nobody waits for long who has something to do again."""
