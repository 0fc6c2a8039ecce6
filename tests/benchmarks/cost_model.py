"""Fits what a collection costs to measurements of `growth.py`, and computes what larger ones take, in shards.

Each cost of one collection is a line, a + b * documents, fitted to the sizes measured. A search of S shards takes that
of one with documents / S on each machine, and messages: rounds in which each shard is called once. Their number, and
the time of a call that does nothing, are measured on two small shards.
"""

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import json

import numpy as np

from moverank import Document, Part, Settings
from moverank.indexer.plugins.shards.cluster import Cluster
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, new_shards
from tests.benchmarks.common import argument_parser, show, show_table, vectors
from tests.benchmarks.data_sets import draw_queries, read_split
from tests.benchmarks.growth import GIB, QUERIES, Measured, measure
from tests.oracle import Oracle

LARGER = ((10_000_000, 10), (100_000_000, 100))
COSTS = ("indexing s", "disk GiB", "memory GiB", "WMD s", "default ranking s")


@dataclass(frozen=True, slots=True)
class Line:
    """A cost: `first` + `slope` * documents; `error` is the largest relative error at a measured size."""

    first: float
    slope: float
    error: float

    @classmethod
    def of(cls, sizes: Sequence[int], values: Sequence[float]) -> "Line":
        """Fit a line by least relative squares: small sizes count as large ones do."""
        n, y = np.array(sizes, float), np.array(values, float)
        design = np.column_stack([np.ones(len(n)), n]) / y[:, None]
        first, slope = np.linalg.lstsq(design, np.ones(len(n)), rcond=None)[0].tolist()
        errors = np.abs((first + slope * n) / y - 1)
        return cls(first, slope, float(errors.max()))

    def at(self, documents: float) -> float:
        """Return the cost of a number of documents."""
        return self.first + self.slope * documents


def costs_of(measured: Measured) -> list[float]:
    """Return the costs in the order of `COSTS`; searches are exact, and their times means."""
    peak = max(measured.exact.peak, measured.default.peak)
    seconds = [statistics.mean(each.seconds) for each in (measured.exact, measured.default)]
    return [measured.indexed.seconds, measured.disk / GIB, peak / GIB, *seconds]


def rounds_and_calls() -> list[list[object]]:
    """Return for each ranking the rounds of messages of a search of two shards, and the time of an empty call."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "two.toml"
        file = ClusterFile(path, new_shards(path, 2, []))
        texts = read_split("20news", "train")[:2000]
        with Cluster.create(file, Settings(embedding=str(vectors()))) as cluster:
            cluster.index(Document(str(i), "", (Part(text.text),)) for i, text in enumerate(texts))
            rows: list[list[object]] = []
            for rank in ("wmd", None):
                cluster.search(texts[0].text, rank=rank)
                asked, ask = list[int](), cluster.shards.ask

                def counting(calls, asked=asked, ask=ask):  # type: ignore[no-untyped-def]
                    asked.append(len(calls))
                    return ask(calls)

                cluster.shards.ask = counting  # type: ignore[method-assign]
                for text in texts[:20]:
                    cluster.search(text.text, rank=rank)
                cluster.shards.ask = ask  # type: ignore[method-assign]
                began = time.perf_counter()
                for _ in range(100):
                    cluster.processes()
                rows.append([rank or "default", len(asked) / 20, f"{(time.perf_counter() - began) * 10:.2f}"])
            return rows


def main() -> None:
    """Print the model, and what it says about larger collections."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sizes", default="10000,50000,200000,1000000", help="numbers of documents (%(default)s)")
    parser.add_argument("--directory", type=Path, required=True, help="directory of the collections, which are kept")
    parser.add_argument("--seed", type=int, default=1, help="of the documents and queries (1)")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    arguments.directory.mkdir(parents=True, exist_ok=True)
    queries = arguments.directory / "queries.json"
    texts = [text.text for text in draw_queries("20news", QUERIES + 1, arguments.seed, Oracle().words)]
    queries.write_text(json.dumps([texts[-1], *texts[:-1]]), encoding="utf-8")
    measured = [measure(n, queries, arguments.directory / f"of-{n}", arguments.seed, "centroid") for n in sizes]
    values = [costs_of(one) for one in measured]
    lines = [Line.of(sizes, column) for column in zip(*values, strict=True)]
    show_table(
        ("documents", *COSTS),
        [[f"{n:,}", *(f"{value:.3f}" for value in row)] for n, row in zip(sizes, values, strict=True)],
    )
    show()
    show_table(
        ("cost", "fixed", "a million documents", "largest error"),
        [
            [name, f"{line.first:.3f}", f"{1e6 * line.slope:.3f}", f"{line.error:.0%}"]
            for name, line in zip(COSTS, lines, strict=True)
        ],
    )
    show()
    show_table(
        ("documents", "shards", *(f"{name}, each" for name in COSTS)),
        [[f"{n:,}", shards, *(f"{line.at(n / shards):.1f}" for line in lines)] for n, shards in LARGER],
    )
    show()
    show_table(("ranking", "rounds", "ms of an empty round"), rounds_and_calls())


if __name__ == "__main__":
    main()
