"""Measures the exact ten nearest of 20 Newsgroups' training part, now and in a git revision, in turns.

The queries are texts of the test part; a query's time is the least of three. A run is a process, whose median and mean
are compared with those of the other version in the same turn; the medians of these ratios are shown.
"""

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import any_missed, show, show_table, vectors, verdict
from tests.benchmarks.comparison_input import ComparisonInput
from tests.benchmarks.data_sets import draw_queries, read_split
from tests.benchmarks.revisions import comparing_parser, in_turns, median_ratio, run_version, show_compared, versions
from tests.oracle import Oracle

HEADS = ("exact ten of 11,292", "before", "now", "now / before", "target", "")
RATIO, PROBLEMS = 0.6, 10.0
"""Targets: the share of the median before, and the problems solved for a query."""

Queries = list[dict[str, Any]]


def write_input(path: Path, queries: int, seed: int) -> None:
    """Write the documents and queries as arrays."""
    oracle = Oracle(vectors())
    texts = draw_queries("20news", queries, seed, oracle.words)
    data = ComparisonInput.of(oracle, read_split("20news", "train"), texts)
    np.savez(
        path,
        starts=data.bags.starts,
        words=data.bags.words,
        weights=data.bags.weights,
        vectors=data.vectors,
        size=data.vocabulary_size,
        query_ends=np.cumsum([len(query) for query in data.queries]),
        query_words=np.concatenate([query.words for query in data.queries]),
        query_weights=np.concatenate([query.weights for query in data.queries]),
    )


def table(before: list[Queries], now: list[Queries]) -> list[list[object]]:
    """Return the rows, from the queries of each turn."""
    rows: list[list[object]] = []
    kinds: list[tuple[str, str, Callable[[list[float]], float], float]] = [
        ("median, s", "seconds", statistics.median, RATIO),
        ("mean, s", "seconds", statistics.mean, 0.0),
        ("mean CPU, s", "cpu", statistics.mean, 0.0),
    ]
    for name, field, average, target in kinds:
        old, new = ([average([query[field] for query in one]) for one in each] for each in (before, now))
        ratio = median_ratio(new, old)
        asked = [f"<= {target}", verdict(ratio <= target)] if target else ["", ""]
        rows.append([name, f"{statistics.median(old):.4f}", f"{statistics.median(new):.4f}", f"{ratio:.2f}", *asked])
    solved = [statistics.mean(query["solved"] for query in each[0]) for each in (before, now)]
    met = verdict(solved[1] <= PROBLEMS)
    rows.append(
        ["problems", f"{solved[0]:.1f}", f"{solved[1]:.1f}", f"{solved[1] / solved[0]:.2f}", f"<= {PROBLEMS}", met]
    )
    return rows


def main() -> None:
    """Print the table; exit with 1 if a target is missed, or if the versions find different documents."""
    parser = comparing_parser(__doc__)
    parser.add_argument("--queries", type=int, default=30, help="texts of the test part (30)")
    parser.add_argument("--seed", type=int, default=0, help="of the queries (0)")
    arguments = parser.parse_args()
    script = Path(__file__).with_name("nearest_process.py")
    with versions(arguments.before) as roots, TemporaryDirectory() as name:
        data = Path(name, "input.npz")
        write_input(data, arguments.queries, arguments.seed)
        for root in roots.values():
            run_version(root, [script, data])  # compiles
        before, now = in_turns(
            roots.values(), range(arguments.pairs), lambda root, _: run_version(root, [script, data]).objects
        )
    lines = table(before, now)
    same = [query["rows"] for query in before[0]] == [query["rows"] for query in now[0]]
    show_compared(arguments)
    show_table(HEADS, lines)
    show(f"Both find {'the same' if same else 'DIFFERENT'} documents.")
    sys.exit(any_missed(lines) or not same)


if __name__ == "__main__":
    main()
