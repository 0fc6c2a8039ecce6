"""Compares the throughput of `search_many` with that of one search at a time, on 20 Newsgroups.

Both are methods of `Collection`, take turns in portions, and have to return the same hits.
"""

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import argument_parser, show, show_table, vectors, verdict
from tests.benchmarks.data_sets import draw_queries, indexed, read_split
from tests.oracle import Oracle

K = 10
TARGET = 1.5
_PORTION = 100


def main() -> None:
    """Print the table; exit with 1 if the target is missed or hits differ."""
    parser = argument_parser(__doc__)
    parser.add_argument("--queries", type=int, default=1000, help="texts of the test part (1000)")
    parser.add_argument("--seed", type=int, default=0, help="of the queries (0)")
    arguments = parser.parse_args()
    texts = [text.text for text in draw_queries("20news", arguments.queries, arguments.seed, Oracle(vectors()).words)]
    single_seconds, batch_seconds, different = 0.0, 0.0, 0
    with TemporaryDirectory() as directory, indexed(read_split("20news", "train"), Path(directory)) as collection:
        list(collection.search_many(texts[:20], k=K))  # warm-up
        for start in range(0, len(texts), _PORTION):
            portion = texts[start : start + _PORTION]
            began = time.perf_counter()
            single = [collection.search(text, k=K) for text in portion]
            single_seconds += time.perf_counter() - began
            began = time.perf_counter()
            batch = list(collection.search_many(portion, k=K))
            batch_seconds += time.perf_counter() - began
            different += sum(one.hits != other.hits for one, other in zip(single, batch, strict=True))
    n = len(texts)
    show_table(
        ["20 Newsgroups, exact", "ms a query", "queries/s"],
        [
            ("one at a time", f"{1000 * single_seconds / n:.1f}", f"{n / single_seconds:.1f}"),
            ("batch", f"{1000 * batch_seconds / n:.1f}", f"{n / batch_seconds:.1f}"),
        ],
    )
    ratio = single_seconds / batch_seconds
    show(f"throughput of the batch / one at a time: {ratio:.2f} (target >= {TARGET}): {verdict(ratio >= TARGET)}")
    show(f"queries with different hits: {different}")
    sys.exit(0 if different == 0 and ratio >= TARGET else 1)


if __name__ == "__main__":
    main()
