"""Finds the nearest pairs of documents of a collection, and checks them against brute force through POT on a sample.

The sample is half documents of the pairs found and half others. Each of its pairs is solved by POT alone, over costs by
scipy: those within the last distance must be the pairs found.
"""

import sys
import time
from itertools import combinations
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import numpy as np
import ot
from scipy.spatial.distance import cdist

from moverank import Collection
from moverank.indexer.formatters.progress import Bars
from moverank.indexer.plugins.laboratory.corpus import corpus_of
from tests.benchmarks.common import argument_parser, show, verdict


def main() -> int:
    """Print the figures; return 1 if a pair is missing, wrong, or too many."""
    parser = argument_parser(__doc__)
    parser.add_argument("--index", type=Path, required=True, help="the collection")
    parser.add_argument("-k", type=int, default=1000, help="number of pairs (1000)")
    parser.add_argument("--sample", type=int, default=300, help="documents of the sample (300)")
    options = parser.parse_args()
    with Collection.open(options.index) as collection:
        began, cpu = time.perf_counter(), time.process_time()
        with Bars() as bars:
            found = collection.pairs(k=options.k, rank="wmd:weights=tfidf", progress=bars)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        pool = corpus_of(collection).documents
    last = found.pairs[-1].distance
    show(f"{len(pool):,} documents, {found.compared:,} pairs; the {len(found.pairs):,} nearest are within {last:.4f}")
    counts = found.counts
    show(
        f"{seconds:.0f} s, CPU {cpu:.0f} s; {counts.candidates:,} pairs passed a first bound, {counts.solved:,} solved"
    )
    rows, bags = pool.bags(0.0, pool.idf)
    rng, row_of = np.random.default_rng(0), {pool.keys[row]: i for i, row in enumerate(rows.tolist())}
    keys = list(dict.fromkeys(key for pair in found.pairs for key in pair.keys))
    chosen = {row_of[key] for key in rng.permutation(keys)[: options.sample // 2].tolist()}
    chosen |= set(rng.permutation(len(bags))[: options.sample - len(chosen)].tolist())
    expected, began, vectors = {}, time.perf_counter(), pool.vocabulary.vectors.astype(float)
    for i, j in combinations(sorted(chosen), 2):
        one, other = bags[i], bags[j]
        cost = cdist(vectors[one.words], vectors[other.words])
        distance = float(ot.emd2(one.weights, other.weights, cost))
        if distance <= last + 1e-9:
            expected[frozenset((pool.keys[rows[i]], pool.keys[rows[j]]))] = distance
    names = {pool.keys[rows[i]] for i in chosen}
    within = {frozenset(pair.keys): pair.distance for pair in found.pairs if names.issuperset(pair.keys)}
    # A pair at the last distance may be one of several: ties are cut off.
    same = {pair for pair, distance in expected.items() if distance < last - 1e-9} <= within.keys() <= expected.keys()
    largest = max(
        (abs(distance - expected[pair]) for pair, distance in within.items() if pair in expected), default=0.0
    )
    show(
        f"sample: {len(chosen)} documents, {len(expected)} pairs by brute force ({time.perf_counter() - began:.0f} s), "
        f"{len(within)} found, largest difference {largest:.1e}: {verdict(same and largest < 1e-6)}"
    )
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
