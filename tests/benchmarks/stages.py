"""Measures each stage of the exact search: time, documents in and out, and the tightness of its bound.

20 Newsgroups, training part; queries from its test part. `in` and `out` are the documents that a stage computes and
prunes, means over the queries; some documents pass through later stages before others are bounded at all, so the `in`
of a stage is not what the one before leaves. Tightness is the mean ratio to the exact distance, computed by POT, over
documents drawn at random and over the nearest. Times include the overhead of the timing.
"""

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank.rerank.bags.bag import Bags
from moverank.rerank.distance import bounds, cascade
from moverank.rerank.distance.bounds import Problem
from moverank.rerank.distance.cost_cache import CostCache
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.distance.nearest import nearest
from moverank.rerank.distance.quantised_cost import QuantisedCost
from moverank.rerank.distance.query_bag import Comparison, QueryBag
from moverank.rerank.distance.transport import solve_bags
from moverank.rerank.encoders.centroid import centroids
from tests.benchmarks.common import argument_parser, show, show_table, vectors
from tests.benchmarks.comparison_input import ComparisonInput
from tests.benchmarks.data_sets import draw_queries, read_split
from tests.oracle import Oracle

K = 10
NEAR, DRAWN = 50, 100
"""Documents for which tightness is measured: the nearest, and drawn ones."""
STAGES = {
    "costs of all words": (QuantisedCost, "of"),
    "RWMD, document side": (bounds, "document_side"),
    "dual, quantised": (bounds, "quantised_dual"),
    "costs of few documents": (CostCache, "problem"),
    "Sinkhorn": (bounds, "sinkhorn"),
    "transport": (cascade, "solve_bags"),
}

Ratios = dict[str, list[float]]


class StageTimer:
    """Adds up the seconds of the stages' functions; `documents` counts those that they compute."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.documents: dict[str, int] = defaultdict(int)

    def attach(self) -> None:
        """Replace the function of every stage by a timed one."""
        for stage, (owner, name) in STAGES.items():
            timed = self._timed(stage, getattr(owner, name))
            setattr(owner, name, staticmethod(timed) if owner is QuantisedCost else timed)

    def _timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            began = time.perf_counter()
            result = function(*arguments)
            self.seconds[stage] += time.perf_counter() - began
            if stage == "transport":
                self.documents[stage] += 1
            elif stage == "Sinkhorn":
                self.documents[stage] += len(result[0])
            elif isinstance(result, np.ndarray) and "costs" not in stage:
                self.documents[stage] += len(result)
            return result

        return timed


def tightness(query: QueryBag, bags: Bags, table: NDArray[np.float32], rows: NDArray[np.int64]) -> Ratios:
    """Return the ratio of each bound to the exact distance of the documents `rows` (m,) of `bags`.

    `table` (v, d) are the word vectors.
    """
    compared = Comparison(query, bags.take(rows), table).restricted()
    own, some, words, norms = compared.query, compared.bags.weighted(), compared.vectors, compared.norms
    every = np.arange(len(rows))
    problem = Problem.of(own, some, words, norms)
    quantised = QuantisedCost.of(own, words, norms, cascade.QUANTISED_BYTES)
    exact = np.array([solve_bags(own.bag, bag, own.vectors, words[bag.words])[0].distance for bag in some])
    document = bounds.document_side(some, quantised.nearest)
    query_side = bounds.query_side(some, problem.cost, own.bag, every)
    lower, upper = bounds.sinkhorn(problem, every)
    by_name = {
        "WCD": bounds.wcd(centroids(some, words), (own.bag.weights @ own.vectors).astype(np.float32)),
        "RWMD, document side": document,
        "RWMD, query side": query_side,
        "RWMD": np.maximum(document, query_side),
        "dual, quantised": bounds.quantised_dual(quantised, own.bag, some, every),
        "dual, float32": bounds.one_pass_dual(problem, every),
        "Sinkhorn, lower bound": lower,
        "Sinkhorn, upper bound": upper,
    }
    return {name: (bound[exact > 0] / exact[exact > 0]).tolist() for name, bound in by_name.items()}


def show_stages(queries: Sequence[QueryBag], bags: Bags, table: NDArray[np.float32]) -> None:
    """Print the time of each stage, and its documents; kernels are compiled already."""
    norms, n = vector_norms(table), len(queries)
    untimed = []
    for query in queries:
        began = time.perf_counter()
        nearest(query, bags, table, K, norms=norms)
        untimed.append(time.perf_counter() - began)
    timer = StageTimer()
    timer.attach()
    counts = [nearest(query, bags, table, K, norms=norms).counts for query in queries]
    pruned = {
        "RWMD, document side": statistics.mean(count.rwmd for count in counts),
        "dual, quantised": statistics.mean(count.dual for count in counts),
        "Sinkhorn": statistics.mean(count.sinkhorn for count in counts),
    }
    length = statistics.mean(len(query.bag) for query in queries)
    show(f"20 Newsgroups, {len(bags):,} documents, {n} queries of {length:.0f} words")
    rows = []
    for stage in STAGES:
        entered = timer.documents[stage] / n
        cells = f"{entered:,.1f}" if entered else "", f"{pruned[stage]:,.1f}" if stage in pruned else ""
        rows.append((stage, f"{1000 * timer.seconds[stage] / n:.1f}", *cells))
    rows.append(("the whole search, stages not timed", f"{1000 * statistics.mean(untimed):.1f}", f"{len(bags):,}", ""))
    show_table(["stage", "ms a query", "in", "out"], rows)


def main() -> None:
    """Print both tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("--queries", type=int, default=30, help="texts of the test part (30)")
    parser.add_argument("--seed", type=int, default=0, help="of the queries and the drawn documents (0)")
    arguments = parser.parse_args()
    oracle = Oracle(vectors())
    texts = draw_queries("20news", arguments.queries, arguments.seed, oracle.words)
    data = ComparisonInput.of(oracle, read_split("20news", "train"), texts)
    bags, table, queries = data.bags, data.document_vectors, [data.query(number) for number in range(len(texts))]
    drawn: Ratios = defaultdict(list)
    near: Ratios = defaultdict(list)
    rng = np.random.default_rng(arguments.seed)
    for query in queries:  # compiles the kernels, too
        rows = np.sort(rng.choice(len(bags), DRAWN, replace=False))
        for ratios, some in ((drawn, rows), (near, np.sort(nearest(query, bags, table, NEAR).rows))):
            for name, values in tightness(query, bags, table, some).items():
                ratios[name] += values
    show_stages(queries, bags, table)
    show()
    show_table(
        ["bound", "of the distance, drawn", f"of the {NEAR} nearest"],
        [(name, f"{statistics.mean(drawn[name]):.4f}", f"{statistics.mean(near[name]):.4f}") for name in drawn],
    )


if __name__ == "__main__":
    main()
