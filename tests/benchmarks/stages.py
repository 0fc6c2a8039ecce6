"""Shows what each stage of the exact search does: time, documents in and out, and how tight its bound is.

20 Newsgroups, training part; queries from its test part. `in` and `out` are documents that a stage looks at and throws
out, means over the queries; a document may be looked at closely before others are bounded at all, so the numbers do not
chain. Tightness is the mean ratio to the exact distance, by POT, over documents drawn at random and over the nearest.
Times include what the timing itself costs.
"""

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance import bounds, cascade
from moverank.rerank.distance.bounds import Problem
from moverank.rerank.distance.cost_cache import CostCache
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import QueryBag, restricted
from moverank.rerank.distance.transport import solve_bags
from moverank.rerank.encoders.centroid import centroids
from moverank.rerank.reranker import nearest
from tests.benchmarks.common import show, show_table, vectors
from tests.benchmarks.real_texts import draw_queries, read
from tests.benchmarks.same_bags import SameBags
from tests.oracle import Oracle

K = 10
STAGES = {
    "costs of all words": (QuantisedCost, "of"),
    "RWMD, document side": (bounds, "document_side"),
    "dual, coarse": (bounds, "coarse_dual"),
    "costs of few documents": (CostCache, "problem"),
    "Sinkhorn": (bounds, "sinkhorn"),
    "transport": (cascade, "solve_bags"),
}


class Stopwatch:
    """Adds up what the stages' functions take; `looked` counts the documents that they are asked for."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.looked: dict[str, int] = defaultdict(int)

    def attach(self) -> None:
        """Put a stopwatch around every stage."""
        for stage, (owner, name) in STAGES.items():
            timed = self._timed(stage, getattr(owner, name))
            setattr(owner, name, staticmethod(timed) if owner is QuantisedCost else timed)

    def _timed(self, stage: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            began = time.perf_counter()
            result = work(*arguments)
            self.seconds[stage] += time.perf_counter() - began
            if stage == "transport":
                self.looked[stage] += 1
            elif stage == "Sinkhorn":
                self.looked[stage] += len(result[0])
            elif isinstance(result, np.ndarray) and "costs" not in stage:
                self.looked[stage] += len(result)
            return result

        return timed


def tightness(query: QueryBag, bags: Bags, table: Any, rows: Any) -> dict[str, list[float]]:
    """Return the ratio of each bound to the exact distance, for some documents."""
    own, some, words, norms = restricted(query, bags.take(rows), table)
    every = np.arange(len(rows))
    problem = Problem.of(own, some, words, norms)
    coarse = QuantisedCost.of(own, words, norms, cascade.SCRATCH)
    exact = np.array([solve_bags(own.bag, bag, own.vectors, words[bag.words])[0].distance for bag in some])
    document = bounds.document_side(some, coarse.nearest)
    query_side = bounds.query_side(some, problem.cost, own.bag, every)
    lower, upper = bounds.sinkhorn(problem, every)
    known = {
        "WCD": bounds.wcd(centroids(some, words), (own.bag.weights @ own.vectors).astype(np.float32)),
        "RWMD, document side": document,
        "RWMD, query side": query_side,
        "RWMD": np.maximum(document, query_side),
        "dual, coarse": bounds.coarse_dual(coarse, own.bag, some, every),
        "dual, float32": bounds.one_pass_dual(problem, every),
        "Sinkhorn": lower,
        "Sinkhorn, from above": upper,
    }
    return {name: (bound[exact > 0] / exact[exact > 0]).tolist() for name, bound in known.items()}


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    oracle = Oracle(vectors())
    asked = draw_queries("20news", arguments.queries, arguments.seed, oracle.words)
    same = SameBags.of(oracle, read("20news", "train"), asked)
    bags, table = same.bags, same.document_vectors
    norms, queries = vector_norms(table), [same.query(number) for number in range(len(same.queries))]
    drawn: dict[str, list[float]] = defaultdict(list)
    near: dict[str, list[float]] = defaultdict(list)
    rng = np.random.default_rng(arguments.seed)
    for query in queries:  # compiles, too
        found = nearest(query, bags, table, 50, norms=norms)
        rows = np.sort(rng.choice(len(bags), 100, replace=False))
        for into, some in ((drawn, rows), (near, np.sort(found.rows))):
            for name, ratios in tightness(query, bags, table, some).items():
                into[name] += ratios
    plain, watch = [], Stopwatch()
    for query in queries:
        began = time.perf_counter()
        nearest(query, bags, table, K, norms=norms)
        plain.append(time.perf_counter() - began)
    watch.attach()
    counts = [nearest(query, bags, table, K, norms=norms).counts for query in queries]
    n = len(queries)
    out = {
        "RWMD, document side": statistics.mean(count.rwmd for count in counts),
        "dual, coarse": statistics.mean(count.dual for count in counts),
        "Sinkhorn": statistics.mean(count.sinkhorn for count in counts),
    }
    length = statistics.mean(len(query.bag) for query in queries)
    show(f"20 Newsgroups, {len(bags):,} documents, {n} queries of {length:.0f} words")
    show_table(
        ["stage", "ms a query", "in", "out"],
        [
            (stage, f"{1000 * watch.seconds[stage] / n:.1f}", *_counted(watch.looked[stage] / n, out.get(stage)))
            for stage in STAGES
        ]
        + [("the whole search, not timed inside", f"{1000 * statistics.mean(plain):.1f}", f"{len(bags):,}", "")],
    )
    show()
    show_table(
        ["bound", "of the distance, drawn", "of the 50 nearest"],
        [(name, f"{statistics.mean(drawn[name]):.4f}", f"{statistics.mean(near[name]):.4f}") for name in drawn],
    )


def _counted(looked: float, out: float | None) -> tuple[str, str]:
    return f"{looked:,.1f}" if looked else "", "" if out is None else f"{out:,.1f}"


if __name__ == "__main__":
    main()
