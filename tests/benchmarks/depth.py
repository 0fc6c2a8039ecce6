"""Shows what the first stage's depth costs: recall of the exact ten, and time (figure 7 of Kusner et al. 2015).

The documents are the training part of 20 Newsgroups, the queries texts of its test part. A query's class is guessed by
the majority of its ten nearest, the nearest deciding between equals; `error` is the share of wrong guesses, `agrees`
the share that equals the guess of exact search. A hit that is as near as the tenth (1e-9 of it) counts as one of the
ten. Depths take turns with each query. The last row is exact search; `certified` is the number of lists proven.
"""

import argparse
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
from tests.benchmarks.common import show, show_table, verdict
from tests.benchmarks.real_texts import Text, draw_queries, indexed, read
from tests.oracle import TIE, Oracle

K = 10
DEPTHS = (10, 50, 100, 200, 500, 1000, 2000, 5000)
HEADS = ("depth", "recall", "certified", "error", "agrees", "median ms", "mean ms", "max ms", "solved")


@dataclass(slots=True)
class Level:
    """Answers at one depth, None for exact search, in the order of the queries; of each query its seconds."""

    depth: int | None
    rankings: list[Ranking] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def ask(self, collection: Collection, text: str) -> None:
        """Ask one query."""
        began = time.perf_counter()
        if self.depth is None:
            ranking = collection.search(text, k=K, exact=True)
        else:
            ranking = collection.search(text, k=K, depth=self.depth)
        self.seconds.append(time.perf_counter() - began)
        self.rankings.append(ranking)

    def recalls(self, exact: "Level") -> list[float]:
        """Return which share of the exact ten was found, for each query."""
        pairs = zip(self.rankings, exact.rankings, strict=True)
        return [recall(found, right) for found, right in pairs]

    def row(self, exact: "Level", queries: list[Text]) -> list[object]:
        """Give the row of the table."""
        guesses = [guess(ranking) for ranking in self.rankings]
        wrong = statistics.mean(text.label != label for text, label in zip(queries, guesses, strict=True))
        alike = statistics.mean(guess(right) == label for right, label in zip(exact.rankings, guesses, strict=True))
        times = [f"{1000 * of(self.seconds):.1f}" for of in (statistics.median, statistics.mean, max)]
        solved = statistics.mean(ranking.counts.solved for ranking in self.rankings)
        certified = sum(ranking.certified for ranking in self.rankings)
        found = statistics.mean(self.recalls(exact))
        name = "all" if self.depth is None else f"{self.depth:,}"
        return [name, f"{found:.1%}", certified, f"{wrong:.1%}", f"{alike:.1%}", *times, f"{solved:.1f}"]


def recall(found: Ranking, right: Ranking) -> float:
    """Return the share of the exact hits that was found, a hit as near as the last being as good."""
    limit = right.hits[-1].distance * (1 + TIE)
    return sum(hit.distance <= limit for hit in found.hits) / len(right.hits)


def guess(ranking: Ranking) -> str | None:
    """Return the class of most hits; of several, that of the nearest."""
    # A counter keeps the order of its first entries, and `most_common` keeps it among equals.
    return Counter(hit.label for hit in ranking.hits).most_common(1)[0][0]


def measure(collection: Collection, queries: list[Text], depths: list[int]) -> list[Level]:
    """Ask every query at every depth, depths in turns."""
    levels = [Level(depth) for depth in depths] + [Level(None)]
    for depth in [*depths, None]:
        for query in queries:
            Level(depth).ask(collection, query.text)  # what is loaded or compiled once is not a query's time
    for number, query in enumerate(queries):
        first = number % len(levels)
        for level in levels[first:] + levels[:first]:
            level.ask(collection, query.text)
    return levels


def main() -> None:
    """Print a row for each depth; leave with 1 where more candidates found less."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=30, help="texts of the test part (30)")
    parser.add_argument("--depths", type=int, nargs="+", default=list(DEPTHS), help="candidates, beside all documents")
    parser.add_argument("--first-stage", default="centroid", help="what chooses the candidates (centroid)")
    parser.add_argument("--faiss", default="auto", help="FAISS factory string (auto)")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    queries = draw_queries("20news", chosen.queries, chosen.seed, Oracle().words)
    choices = {"first_stage": chosen.first_stage, "faiss": chosen.faiss}
    with TemporaryDirectory() as place, indexed(read("20news", "train"), Path(place), **choices) as collection:
        levels = measure(collection, queries, sorted(chosen.depths))
        told = collection.info()
    exact = levels[-1]
    stage = f"{told['first_stage']}, {told['faiss_in_use']}"
    show(f"20news: {told['documents']:,} documents, {len(queries)} queries, k = {K}, first stage: {stage}.")
    show_table(HEADS, [level.row(exact, queries) for level in levels])
    recalls = [level.recalls(exact) for level in levels]
    # Candidates of a smaller depth are among those of a larger one.
    grows = all(
        less <= more for fewer, many in itertools.pairwise(recalls) for less, more in zip(fewer, many, strict=True)
    )
    certified = all(ranking.certified for ranking in exact.rankings)
    met = verdict(grows), verdict(certified)
    show(f"no query's recall falls with depth: {met[0]}; every exact list is certified: {met[1]}")
    sys.exit(not (grows and certified))


if __name__ == "__main__":
    main()
