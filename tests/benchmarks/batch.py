"""Shows the throughput of many queries at once against one at a time, on 20 Newsgroups.

Both go through `Collection`, take turns in portions, and have to find the same.
"""

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import show, show_table, vectors, verdict
from tests.benchmarks.real_texts import draw_queries, indexed, read
from tests.oracle import Oracle

K = 10
TARGET = 1.5
_PORTION = 100


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    texts = [text.text for text in draw_queries("20news", arguments.queries, arguments.seed, Oracle(vectors()).words)]
    alone, many, different = 0.0, 0.0, 0
    with TemporaryDirectory() as place, indexed(read("20news", "train"), Path(place)) as collection:
        list(collection.search_many(texts[:20], k=K))
        for start in range(0, len(texts), _PORTION):
            portion = texts[start : start + _PORTION]
            began = time.perf_counter()
            one_by_one = [collection.search(text, k=K) for text in portion]
            alone += time.perf_counter() - began
            began = time.perf_counter()
            together = list(collection.search_many(portion, k=K))
            many += time.perf_counter() - began
            different += sum(one.hits != other.hits for one, other in zip(one_by_one, together, strict=True))
    n = len(texts)
    show_table(
        ["20 Newsgroups, exact", "ms a query", "queries/s"],
        [
            ("one at a time", f"{1000 * alone / n:.1f}", f"{n / alone:.1f}"),
            ("many at once", f"{1000 * many / n:.1f}", f"{n / many:.1f}"),
        ],
    )
    show(f"{alone / many:.2f} times the throughput (target {TARGET}): {verdict(alone / many >= TARGET)}")
    show(f"answers that differ: {different}")
    sys.exit(0 if different == 0 and alone / many >= TARGET else 1)


if __name__ == "__main__":
    main()
