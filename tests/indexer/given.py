"""Documents with vectors, and their order by brute force."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from moverank import Collection, Document
from moverank.indexer.values.given_vectors import VectorMetric
from tests.indexer.world import random_documents

DIM = 5
METRICS: tuple[VectorMetric, ...] = ("cosine", "l2", "ip")


def random_vectors(n: int, seed: int = 0, dim: int = DIM) -> NDArray[np.float32]:
    """Return vectors (n, dim) of different lengths."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, dim)) * rng.uniform(0.5, 3, (n, 1))).astype(np.float32)


def with_vectors(documents: Sequence[Document], seed: int = 0) -> list[Document]:
    """Return documents with random vectors."""
    vectors = random_vectors(len(documents), seed)
    return [replace(one, vector=vector) for one, vector in zip(documents, vectors, strict=True)]


def documents_with_vectors(n: int, seed: int = 0) -> list[Document]:
    """Return random documents d0, d1, ... with random vectors."""
    return with_vectors(random_documents(n, seed=seed), seed)


def costs(documents: Iterable[Document], query: NDArray[np.float32], metric: VectorMetric) -> dict[str, float]:
    """Return what orders documents with a vector by their nearness to a query: a distance, or a negated product."""
    own = {one.key: np.array(tuple(one.vector)) for one in documents if one.vector is not None}
    if metric == "cosine":
        own = {key: vector for key, vector in own.items() if vector.any()}
    if not own:
        return {}
    matrix, wide = np.array(list(own.values())), query.astype(np.float64)[None]
    if metric == "ip":
        found = -(matrix @ wide[0])
    else:
        found = cdist(wide, matrix, "cosine" if metric == "cosine" else "euclidean")[0]
    return dict(zip(own, found.tolist(), strict=True))


def nearest(documents: Iterable[Document], query: NDArray[np.float32], metric: VectorMetric, m: int) -> set[str]:
    """Return the keys of the m nearest documents."""
    found = costs(documents, query, metric)
    return set(sorted(found, key=found.__getitem__)[:m])


def candidates_of(collection: Collection, vector: NDArray[np.float32], m: int) -> set[str]:
    """Return the keys of the m candidates of a search: with as many hits wanted, all of them are."""
    ranking = collection.search("ant bee cat dog", k=m, depth=m, vector=vector)
    assert ranking.scope == "candidates"
    assert not ranking.certified
    return {hit.key for hit in ranking.hits}
