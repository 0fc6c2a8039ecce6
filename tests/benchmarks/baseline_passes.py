"""Baselines of an exact search, to which its time is compared: one matrix product, and passes over the bags.

The loops are not those of the package, so that the baselines stay the same whatever changes there. They use all cores,
take roots only of minima, and reuse their memory between queries.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moverank import Bags
from moverank.rerank.distance.query_bag import QueryBag

_BLOCKS = 8
_MINIMA = {"nnan", "nsz"}


@njit(cache=True, nogil=True, fastmath=_MINIMA)
def _nearest(first, last, products, squares, query_squares, out):  # type: ignore[no-untyped-def]
    """Fill `out` (v,) with the distance of each word to the nearest query word; `products` are -2 x.y."""
    for i in range(first, last):
        row, least = products[i], np.float32(np.inf)
        for j in range(len(query_squares)):
            least = min(least, row[j] + query_squares[j])
        out[i] = np.sqrt(max(least + squares[i], np.float32(0)))


@njit(cache=True, nogil=True)
def _document_side(first, last, starts, words, weights, nearest, out):  # type: ignore[no-untyped-def]
    """Fill `out` (n,) with the cost of moving every word of a document to the nearest query word."""
    for i in range(first, last):
        cost = 0.0
        for entry in range(starts[i], starts[i + 1]):
            cost += weights[entry] * nearest[words[entry]]
        out[i] = cost


@njit(cache=True, nogil=True, fastmath=_MINIMA)
def _both_sides(  # type: ignore[no-untyped-def]
    first, last, starts, words, weights, nearest, products, squares, query_squares, query_weights, out
):
    """Fill `out` (n,) with the larger of both sides."""
    h = len(query_squares)
    least = np.empty(h, np.float32)
    for i in range(first, last):
        least[:] = np.inf
        document_cost, query_cost = 0.0, 0.0
        for entry in range(starts[i], starts[i + 1]):
            word = words[entry]
            document_cost += weights[entry] * nearest[word]
            row, square = products[word], squares[word]
            for j in range(h):
                least[j] = min(least[j], row[j] + square)
        for j in range(h):
            query_cost += query_weights[j] * np.sqrt(max(least[j] + query_squares[j], np.float32(0)))
        out[i] = max(document_cost, query_cost)


class BaselinePasses:
    """Baselines for a search of `bags` over word vectors (v, d) float32, for queries of up to `longest` words."""

    def __init__(self, bags: Bags, vectors: NDArray[np.float32], longest: int) -> None:
        self._packed = bags.starts, bags.words, bags.weights
        self._vectors, self._squares = vectors, np.square(vectors).sum(axis=1)
        self._products = np.empty(len(vectors) * longest, np.float32)
        self._least, self._bound = np.empty(len(vectors), np.float32), np.empty(len(bags))
        self._threads = len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self._threads)

    def product(self, query: QueryBag) -> NDArray[np.float32]:
        """Return -2 x.y (v, h): only the matrix product (v, d) x (d, h)."""
        v, h = len(self._vectors), len(query.bag)
        products = self._products[: v * h].reshape(v, h)
        np.matmul(self._vectors, np.float32(-2) * query.vectors.T, out=products)
        return products

    def document_side(self, query: QueryBag) -> NDArray[np.float64]:
        """Return RWMD's document side (n,): the product, the minima of its rows, and one pass over the bags."""
        self._minima(query, self.product(query))
        self._run_blocks(_document_side, len(self._bound), *self._packed, self._least, self._bound)
        return self._bound

    def both_sides(self, query: QueryBag) -> NDArray[np.float64]:
        """Return RWMD (n,): the product, the minima of its rows, and one pass over the bags for both sides."""
        products = self.product(query)
        squares = self._minima(query, products)
        costs = self._least, products, self._squares, squares, query.bag.weights
        self._run_blocks(_both_sides, len(self._bound), *self._packed, *costs, self._bound)
        return self._bound

    def _minima(self, query: QueryBag, products: NDArray[np.float32]) -> NDArray[np.float32]:
        squares: NDArray[np.float32] = np.square(query.vectors).sum(axis=1)
        self._run_blocks(_nearest, len(products), products, self._squares, squares, self._least)
        return squares

    def _run_blocks(self, loop: Callable[..., None], n: int, *arrays: NDArray[np.generic]) -> None:
        """Run a loop over ranges of 0 to n on all cores."""
        ends = np.linspace(0, n, self._threads * _BLOCKS + 1).astype(int).tolist()
        list(self._pool.map(lambda first, last: loop(first, last, *arrays), ends[:-1], ends[1:]))
