"""Slow twins of the numeric functions: loops over the formulas, to be read beside the papers."""

import math
from collections.abc import Sequence

import numpy as np
import ot
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from moverank.rerank.bags.bag import Bag

Vectors = NDArray[np.float32]
Entry = tuple[int, int, int]
"""A word id, the rank of a part, and how often the word occurs in it."""


def weights(entries: Sequence[Entry], gamma: float = 0.0, idf: Sequence[float] | None = None) -> dict[int, float]:
    """Weigh one document's words: `w_i ~ idf_i sum_p (1 / (1 + r_p))^gamma c_pi`."""
    raw: dict[int, float] = {}
    for word, rank, count in entries:
        raw[word] = raw.get(word, 0.0) + (1 / (1 + rank)) ** gamma * count
    if idf is not None:
        raw = {word: amount * idf[word] for word, amount in raw.items()}
    total = math.fsum(raw.values())
    return {word: amount / total for word, amount in sorted(raw.items())}


def idf(frequency: int, documents: int) -> float:
    """Return ln((1 + N) / (1 + n)) + 1."""
    return math.log((1 + documents) / (1 + frequency)) + 1


def centroid(bag: Bag, vectors: Vectors) -> list[float]:
    """Return the mean of a bag's word vectors by weight."""
    mean = []
    for axis in range(vectors.shape[1]):
        terms = [w * float(vectors[word, axis]) for word, w in zip(bag.words, bag.weights, strict=True)]
        mean.append(math.fsum(terms))
    return mean


def wcd(query: Bag, query_vectors: Vectors, bag: Bag, vectors: Vectors) -> float:
    """Return the distance of both centroids; the query brings its own vectors (h, d)."""
    own = Bag(np.arange(len(query), dtype=np.int32), query.weights)
    return math.dist(centroid(own, query_vectors), centroid(bag, vectors))


def costs(query_vectors: Vectors, bag: Bag, vectors: Vectors) -> list[list[float]]:
    """Return the distance of each query word to each of the bag's words."""
    return [[math.dist(mine, vectors[word].tolist()) for word in bag.words] for mine in query_vectors.tolist()]


def rwmd_sides(query: Bag, query_vectors: Vectors, bag: Bag, vectors: Vectors) -> tuple[float, float]:
    """Return what the query's words and what the bag's words pay at least, each moving to its nearest."""
    cost = costs(query_vectors, bag, vectors)
    query_side = [w * min(row) for w, row in zip(query.weights.tolist(), cost, strict=True)]
    bag_side = [w * min(row[j] for row in cost) for j, w in enumerate(bag.weights.tolist())]
    return math.fsum(query_side), math.fsum(bag_side)


def rwmd(query: Bag, query_vectors: Vectors, bag: Bag, vectors: Vectors) -> float:
    """Return the larger of both sides."""
    return max(rwmd_sides(query, query_vectors, bag, vectors))


def wmd(query: Bag, query_vectors: Vectors, bag: Bag, vectors: Vectors) -> float:
    """Return the whole transport problem's optimum, nothing pruned, nothing left out."""
    cost = cdist(query_vectors.astype(np.float64), vectors[bag.words].astype(np.float64))
    return float(ot.emd2(query.weights, bag.weights, cost, numItermax=10**7))


def top_k(distances: Sequence[float], k: int) -> list[int]:
    """Return the rows of the `k` smallest distances, equal ones in the order of their rows."""
    left = list(range(len(distances)))
    found: list[int] = []
    while left and len(found) < k:
        best = left[0]
        for row in left:
            if distances[row] < distances[best]:
                best = row
        left.remove(best)
        found.append(best)
    return found
