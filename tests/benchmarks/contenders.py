"""The programs that are compared: each makes itself ready with the same bags, and is then asked query by query.

A contender that looks for the nearest documents returns their rows, nearest first.
"""

import importlib
import logging
import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from moverank import Collection
from moverank.rerank.reranker import nearest
from tests.benchmarks.real_texts import Text
from tests.benchmarks.same_bags import SameBags

K = 10
RELAX = 'pip install -U numpy "setuptools>=70.1" && pip install --no-build-isolation wmd'
"""How wmd-relax is installed: it is built here, by a C++ compiler and the numpy that is there."""

Ask = Callable[[int], list[int]]


def by_cascade(same: SameBags) -> Ask:
    """Search the bags by the program's cascade."""
    vectors = same.document_vectors
    return lambda number: nearest(same.query(number), same.bags, vectors, K).rows.tolist()


def by_collection(same: SameBags, collection: Collection, texts: list[Text], solved: list[int]) -> Ask:
    """Search a collection of the same documents by text; the number of problems solved is added to `solved`."""
    rows = {key: row for row, key in enumerate(same.keys)}

    def ask(number: int) -> list[int]:
        ranking = collection.search(texts[number].text, k=K, exact=True)
        solved.append(ranking.counts.solved)
        return [rows[hit.key] for hit in ranking.hits]

    return ask


def by_gensim(same: SameBags) -> Ask:
    """Search by gensim's `WmdSimilarity`, which solves a transport problem for every document."""
    from gensim.models import KeyedVectors
    from gensim.similarities import WmdSimilarity

    keyed = KeyedVectors(same.vectors.shape[1])
    keyed.add_vectors(same.words, same.vectors)
    # It divides every vector by its norm: with norms of 1, its vectors are those of the others.
    keyed.norms = np.ones(len(same.words), np.float32)
    index = WmdSimilarity(same.tokens, keyed, num_best=K)
    return lambda number: [row for row, _ in index[same.query_tokens[number]]]


def by_relax(same: SameBags) -> Ask:
    """Search by wmd-relax, with all that may keep it from being exact switched off; centroids are made beforehand."""
    module: Any = importlib.import_module("wmd")
    nbow = {
        row: (key, bag.words.astype(np.uint32), bag.weights.astype(np.float32))
        for row, (key, bag) in enumerate(zip(same.keys, same.bags, strict=True))
    }
    longest = max(len(bag) for bag in [*same.bags, *same.queries])
    relax = module.WMD(
        same.vectors,
        nbow,
        vocabulary_min=1,
        vocabulary_max=longest,
        vocabulary_optimizer=None,
        verbosity=logging.ERROR,
        main_loop_log_interval=math.inf,  # each time it would log, it may also give up
    )
    relax.cache_centroids()

    def ask(number: int) -> list[int]:
        bag = same.queries[number]
        found = relax.nearest_neighbors((bag.words, bag.weights), k=K, early_stop=1, max_time=math.inf, skipped_stop=1)
        return [int(row) for row, _ in found]

    return ask


def has_relax() -> bool:
    """Say whether wmd-relax is installed: a Python package and a compiled module."""
    return all(map(find_spec, ("wmd", "libwmdrelax")))
