"""Measures recall of the exact ten and time by the number of candidates (figure 7 of Kusner et al. 2015).

The documents are the training part of 20 Newsgroups, the queries texts of its test part. A query's class is predicted
by the majority of its ten nearest, ties by the nearest; `error` is the share of wrong predictions, `agrees` the share
that equals the prediction of exact search. A hit as near as the tenth (1e-9 of its distance) counts as one of the ten.
Depths take turns with each query. The last row is exact search; `certified` is the number of certified lists.
"""

import itertools
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, Ranking
from tests.benchmarks.common import argument_parser, rotated, show, show_table, verdict
from tests.benchmarks.data_sets import Text, draw_queries, indexed, read_split
from tests.oracle import TIE, Oracle

K = 10
DEPTHS = (10, 50, 100, 200, 500, 1000, 2000, 5000)
HEADS = ("depth", "recall", "certified", "error", "agrees", "median ms", "mean ms", "max ms", "solved")


@dataclass(slots=True)
class Level:
    """The rankings and the seconds of the queries at one depth, None for exact search."""

    depth: int | None
    rankings: list[Ranking] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def search(self, collection: Collection, text: str) -> None:
        """Search for one query."""
        began = time.perf_counter()
        if self.depth is None:
            ranking = collection.search(text, k=K, exact=True)
        else:
            ranking = collection.search(text, k=K, depth=self.depth)
        self.seconds.append(time.perf_counter() - began)
        self.rankings.append(ranking)

    def recalls(self, exact: "Level") -> list[float]:
        """Return the recall of each query."""
        return [recall(ranking, ten) for ranking, ten in zip(self.rankings, exact.rankings, strict=True)]

    def row(self, exact: "Level", queries: list[Text]) -> list[object]:
        """Return the row of the table."""
        labels = [predicted(ranking) for ranking in self.rankings]
        error = statistics.mean(text.label != label for text, label in zip(queries, labels, strict=True))
        agrees = statistics.mean(predicted(ten) == label for ten, label in zip(exact.rankings, labels, strict=True))
        times = [f"{1000 * of(self.seconds):.1f}" for of in (statistics.median, statistics.mean, max)]
        solved = statistics.mean(ranking.counts.solved for ranking in self.rankings)
        certified = sum(ranking.certified for ranking in self.rankings)
        mean_recall = statistics.mean(self.recalls(exact))
        name = "all" if self.depth is None else f"{self.depth:,}"
        return [name, f"{mean_recall:.1%}", certified, f"{error:.1%}", f"{agrees:.1%}", *times, f"{solved:.1f}"]


def recall(ranking: Ranking, exact: Ranking) -> float:
    """Return the number of hits no farther than the last exact one, divided by the number of exact hits."""
    limit = exact.hits[-1].distance * (1 + TIE)
    return sum(hit.distance <= limit for hit in ranking.hits) / len(exact.hits)


def predicted(ranking: Ranking) -> str | None:
    """Return the most frequent class of the hits; the nearest hit breaks ties."""
    # A counter keeps the order of first occurrence, and `most_common` keeps it among ties.
    return Counter(hit.label for hit in ranking.hits).most_common(1)[0][0]


def measure(collection: Collection, queries: list[Text], depths: list[int]) -> list[Level]:
    """Search for every query at every depth, depths in turns."""
    levels = [Level(depth) for depth in depths] + [Level(None)]
    for depth in [*depths, None]:
        for query in queries:
            Level(depth).search(collection, query.text)  # warm-up: loads and compiles what is then cached
    for number, query in enumerate(queries):
        for level in rotated(levels, number):
            level.search(collection, query.text)
    return levels


def main() -> None:
    """Print a row for each depth; exit with 1 if recall falls with depth, or an exact list is not certified."""
    parser = argument_parser(__doc__)
    parser.add_argument("--queries", type=int, default=30, help="texts of the test part (30)")
    parser.add_argument(
        "--depths", type=int, nargs="+", default=list(DEPTHS), help="numbers of candidates (10 ... 5000)"
    )
    parser.add_argument("--first-stage", default="centroid", help="source of the candidates (centroid)")
    parser.add_argument("--faiss", default="auto", help="FAISS factory string (auto)")
    parser.add_argument("--seed", type=int, default=1, help="of the queries (1)")
    arguments = parser.parse_args()
    queries = draw_queries("20news", arguments.queries, arguments.seed, Oracle().words)
    choices = {"first_stage": arguments.first_stage, "faiss": arguments.faiss}
    with (
        TemporaryDirectory() as directory,
        indexed(read_split("20news", "train"), Path(directory), **choices) as collection,
    ):
        levels = measure(collection, queries, sorted(arguments.depths))
        info = collection.info()
    exact = levels[-1]
    stage = f"{info['first_stage']}, {info['faiss_in_use']}"
    show(f"20news: {info['documents']:,} documents, {len(queries)} queries, k = {K}, first stage: {stage}.")
    show_table(HEADS, [level.row(exact, queries) for level in levels])
    recalls = [level.recalls(exact) for level in levels]
    # The candidates of a smaller depth are among those of a larger one.
    grows = all(
        less <= more for fewer, many in itertools.pairwise(recalls) for less, more in zip(fewer, many, strict=True)
    )
    certified = all(ranking.certified for ranking in exact.rankings)
    show(f"no query's recall falls with depth: {verdict(grows)}; every exact list is certified: {verdict(certified)}")
    sys.exit(not (grows and certified))


if __name__ == "__main__":
    main()
