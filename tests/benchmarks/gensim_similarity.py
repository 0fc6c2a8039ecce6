"""Compares the adapter for gensim with gensim's own `WmdSimilarity`: time for the ten best, and similarities.

Documents are texts of the training part of 20 Newsgroups, queries texts of its test part, split into words without stop
words. Both classes get the same lists of words and the same gensim vectors, and take turns. The speed-up is the ratio
of the medians; of the wall-clock and CPU seconds of a query the smaller count, for either class.
"""

import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from gensim.similarities import WmdSimilarity as GensimSimilarity

from moverank.rerank.plugins.adapters.gensim import WmdSimilarity
from tests.benchmarks.common import any_missed, argument_parser, show, show_table, verdict
from tests.benchmarks.data_sets import draw_queries, read_split
from tests.benchmarks.query_timer import QueryTimer
from tests.oracle import Oracle

K = 10
NAME = "20news"
TOLERANCE = 1e-6
SIZES = (500, 2000)
"""How many documents of 20 Newsgroups are searched."""
HEADS = ("documents", "class", "median s", "speed-up", "largest difference", "")


def measure(oracle: Oracle, size: int, count: int) -> list[list[object]]:
    """Return the rows for `count` queries of the first `size` documents."""
    documents = [oracle.words(text.text) for text in read_split(NAME, "train")[:size]]
    queries = [oracle.words(text.text) for text in draw_queries(NAME, count, 0, oracle.words)]
    indexes: list[Any] = [kind(documents, oracle.keyed, num_best=K) for kind in (WmdSimilarity, GensimSimilarity)]
    ours, theirs = (_timer(index, queries) for index in indexes)
    ours.search(0)  # compiles the kernels
    for number in range(len(queries)):
        for timer in (ours, theirs) if number % 2 else (theirs, ours):
            timer.run(number)
    difference = max(_difference(ours.results[number], theirs.results[number]) for number in range(len(queries)))
    medians = [statistics.median(timer.least) for timer in (ours, theirs)]
    return [
        [f"{size:,}", "moverank", f"{medians[0]:.4f}", f"{medians[1] / medians[0]:,.0f}x", "", ""],
        [f"{size:,}", "gensim", f"{medians[1]:.4f}", "", f"{difference:.1e}", verdict(difference <= TOLERANCE)],
    ]


def _timer(index: Any, queries: list[list[str]]) -> QueryTimer:
    return QueryTimer(lambda number: index[queries[number]])


def _difference(ours: list[tuple[int, float]], theirs: list[tuple[int, float]]) -> float:
    """Return the largest difference of the similarities, rank by rank: documents of equal similarity may swap."""
    return float(np.abs(np.array(ours)[:, 1] - np.array(theirs)[:, 1]).max())


def main() -> None:
    """Measure all sizes; exit with 1 if similarities differ."""
    parser = argument_parser(__doc__)
    parser.add_argument("--queries", type=int, default=10, help="queries of each size")
    count = parser.parse_args().queries
    oracle = Oracle()
    rows = [row for size in SIZES for row in measure(oracle, size, count)]
    show()
    show_table(HEADS, rows)
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
