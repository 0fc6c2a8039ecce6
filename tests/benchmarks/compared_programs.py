"""The compared programs: each prepares the same input, and returns a function which answers one query.

The function returns the rows of the nearest documents, nearest first.
"""

import importlib
import logging
import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from moverank import Collection
from moverank.rerank.distance.nearest import nearest
from tests.benchmarks.comparison_input import ComparisonInput
from tests.benchmarks.data_sets import Text

K = 10
RELAX = 'pip install -U numpy "setuptools>=70.1" && pip install --no-build-isolation wmd'
"""How to install wmd-relax: it is built here, by a C++ compiler and the numpy installed here."""

Search = Callable[[int], list[int]]


def by_cascade(data: ComparisonInput) -> Search:
    """Search the bags with the cascade of this package."""
    vectors = data.document_vectors
    return lambda number: nearest(data.query(number), data.bags, vectors, K).rows.tolist()


def by_collection(data: ComparisonInput, collection: Collection, texts: list[Text], solved: list[int]) -> Search:
    """Search a collection of the same documents by text; append the number of problems solved to `solved`."""
    rows = {key: row for row, key in enumerate(data.keys)}

    def search(number: int) -> list[int]:
        ranking = collection.search(texts[number].text, k=K, exact=True)
        solved.append(ranking.counts.solved)
        return [rows[hit.key] for hit in ranking.hits]

    return search


def by_gensim(data: ComparisonInput) -> Search:
    """Search with gensim's `WmdSimilarity`, which solves a transport problem for every document."""
    from gensim.models import KeyedVectors
    from gensim.similarities import WmdSimilarity

    keyed = KeyedVectors(data.vectors.shape[1])
    keyed.add_vectors(data.words, data.vectors)
    # It divides every vector by its norm: with norms of 1 its vectors are those of the others.
    keyed.norms = np.ones(len(data.words), np.float32)
    index = WmdSimilarity(data.tokens, keyed, num_best=K)
    return lambda number: [row for row, _ in index[data.query_tokens[number]]]


def by_relax(data: ComparisonInput) -> Search:
    """Search with wmd-relax, without any of its approximations; its centroids are cached beforehand."""
    module: Any = importlib.import_module("wmd")
    nbow = {
        row: (key, bag.words.astype(np.uint32), bag.weights.astype(np.float32))
        for row, (key, bag) in enumerate(zip(data.keys, data.bags, strict=True))
    }
    longest = max(len(bag) for bag in [*data.bags, *data.queries])
    relax = module.WMD(
        data.vectors,
        nbow,
        vocabulary_min=1,
        vocabulary_max=longest,
        vocabulary_optimizer=None,
        verbosity=logging.ERROR,
        main_loop_log_interval=math.inf,  # whenever it logs, it may also stop early
    )
    relax.cache_centroids()

    def search(number: int) -> list[int]:
        bag = data.queries[number]
        hits = relax.nearest_neighbors((bag.words, bag.weights), k=K, early_stop=1, max_time=math.inf, skipped_stop=1)
        return [int(row) for row, _ in hits]

    return search


def has_relax() -> bool:
    """Return whether wmd-relax is installed, its Python package and its compiled module."""
    return all(map(find_spec, ("wmd", "libwmdrelax")))
