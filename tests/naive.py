"""Reference implementations of weights and distances: plain loops over the formulas of the papers."""

import math
from collections.abc import Sequence

import numpy as np
import ot
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from moverank.rerank.bags.bag import Bag

Vectors = NDArray[np.float32]
Entry = tuple[int, int, int]
"""A word id, the rank of a part (-1 for the title), and the count of the word in it."""


def weights(
    entries: Sequence[Entry], gamma: float = 0.0, idf: Sequence[float] | None = None, title_weight: float = 1.0
) -> dict[int, float]:
    """Return the weights of a document's words: `w_i ~ idf_i sum_p b_p c_pi`, b_p = (1 / (1 + r_p))^gamma.

    `title_weight` is the b_p of the title.
    """
    raw: dict[int, float] = {}
    for word, rank, count in entries:
        raw[word] = raw.get(word, 0.0) + (title_weight if rank == -1 else (1 / (1 + rank)) ** gamma) * count
    if idf is not None:
        raw = {word: amount * idf[word] for word, amount in raw.items()}
    total = math.fsum(raw.values())
    return {word: amount / total for word, amount in sorted(raw.items())}


def length(row: Sequence[float]) -> float:
    """Return the Euclidean length of a vector."""
    return math.sqrt(math.fsum(x * x for x in row))


def unit(row: Sequence[float]) -> list[float]:
    """Return a vector scaled to length 1; zero stays zero."""
    scale = length(row)
    return [x / scale if scale else 0.0 for x in row]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of two vectors, 0 if one is zero."""
    product = length(one) * length(other)
    return math.fsum(x * y for x, y in zip(one, other, strict=True)) / product if product else 0.0


def idf(frequency: int, documents: int) -> float:
    """Return ln((1 + N) / (1 + n)) + 1."""
    return math.log((1 + documents) / (1 + frequency)) + 1


def centroid(bag: Bag, vectors: Vectors) -> list[float]:
    """Return the weighted mean of a bag's word vectors."""
    mean = []
    for axis in range(vectors.shape[1]):
        terms = [w * float(vectors[word, axis]) for word, w in zip(bag.words, bag.weights, strict=True)]
        mean.append(math.fsum(terms))
    return mean


def wcd(query: Bag, query_vectors: Vectors, bag: Bag, vectors: Vectors) -> float:
    """Return the distance of the centroids; the query has vectors (h, d) of its own."""
    own = Bag(np.arange(len(query), dtype=np.int32), query.weights)
    return math.dist(centroid(own, query_vectors), centroid(bag, vectors))


def costs(query_vectors: Vectors, bag: Bag, vectors: Vectors) -> list[list[float]]:
    """Return the distance of each query word to each of the bag's words."""
    return [[math.dist(row, vectors[word].tolist()) for word in bag.words] for row in query_vectors.tolist()]


def rwmd_sides(query: Bag, query_vectors: Vectors, bag: Bag, vectors: Vectors) -> tuple[float, float]:
    """Return the costs of moving each query word to the nearest word of the bag, and each word of the bag likewise."""
    cost = costs(query_vectors, bag, vectors)
    query_side = [w * min(row) for w, row in zip(query.weights.tolist(), cost, strict=True)]
    bag_side = [w * min(row[j] for row in cost) for j, w in enumerate(bag.weights.tolist())]
    return math.fsum(query_side), math.fsum(bag_side)


def rwmd(query: Bag, query_vectors: Vectors, bag: Bag, vectors: Vectors) -> float:
    """Return the larger of both sides."""
    return max(rwmd_sides(query, query_vectors, bag, vectors))


def chamfer(query: Bag, query_vectors: Vectors, bag: Bag, vectors: Vectors) -> float:
    """Return the sum of both sides."""
    return sum(rwmd_sides(query, query_vectors, bag, vectors))


def cover(query: Bag, query_vectors: Vectors, bag: Bag, vectors: Vectors) -> float:
    """Return the query's side."""
    return rwmd_sides(query, query_vectors, bag, vectors)[0]


def wmd(query: Bag, query_vectors: Vectors, bag: Bag, vectors: Vectors) -> float:
    """Return the optimum of the complete transport problem."""
    cost = cdist(query_vectors.astype(np.float64), vectors[bag.words].astype(np.float64))
    return float(ot.emd2(query.weights, bag.weights, cost, numItermax=10**7))


def top_k(distances: Sequence[float], k: int) -> list[int]:
    """Return the rows of the `k` smallest distances, equal ones in the order of their rows."""
    remaining = list(range(len(distances)))
    nearest: list[int] = []
    while remaining and len(nearest) < k:
        best = remaining[0]
        for row in remaining:
            if distances[row] < distances[best]:
                best = row
        remaining.remove(best)
        nearest.append(best)
    return nearest
