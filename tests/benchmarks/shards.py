"""Compares a collection in shards, each held by a Ray actor, with one collection of the same documents.

The documents are synthetic; see `synthetic_documents`. Queries are texts of 20 Newsgroups' test part. For each ranking
the shards must find what the one collection finds: as many hits, values equal to 1e-9, certified. `solved` are the
transport problems of all shards per query, of the one collection, and, as an ablation, of the shards if none of them
knows the limits of the others. `seconds` are wall times per query, one after another, in turns. With --kill, the
process of a shard is killed every few seconds during a second run over all queries.
"""

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from unittest.mock import patch

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import numpy as np

from moverank import Collection, Document, SearchOptions, Settings
from moverank.indexer.plugins.shards import cluster_searcher
from moverank.indexer.plugins.shards.cluster import Cluster
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, new_shards
from moverank.rerank.ranking import Ranking
from moverank.rerank.words.tokenizer import Tokenizer
from tests.benchmarks.common import any_missed, argument_parser, show, show_table, vectors, verdict
from tests.benchmarks.data_sets import draw_queries
from tests.benchmarks.synthetic_documents import SyntheticDocuments, texts_as_documents

RANKINGS = ("wmd", "", "pwmd:weights=tfidf+0.4*bm25")
MOST_SOLVED = 1.5
_EQUAL = 1e-9
HEADS = ("ranking", "queries", "differ", "certified", "solved", "one", "ratio", "alone", "s", "one s", "ratio", "")


@dataclass(slots=True)
class Tally:
    """What was seen for one ranking."""

    differ: int = 0
    certified: int = 0
    solved: list[int] = field(default_factory=list)
    one_solved: list[int] = field(default_factory=list)
    alone_solved: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    one_seconds: list[float] = field(default_factory=list)

    def row(self, ranking: str) -> list[object]:
        """Return the row of the table."""
        number, ratio = len(self.seconds), sum(self.solved) / max(1, sum(self.one_solved))
        times = float(np.median(self.seconds)), float(np.median(self.one_seconds))
        met = not self.differ and self.certified == number and ratio <= MOST_SOLVED
        solved = [f"{np.mean(each):.1f}" if each else "-" for each in (self.solved, self.one_solved)]
        alone = f"{np.mean(self.alone_solved):.1f}" if self.alone_solved else "-"
        figures = [*solved, f"{ratio:.2f}", alone, f"{times[0]:.3f}", f"{times[1]:.3f}", f"{times[0] / times[1]:.2f}"]
        return [ranking or "default", number, self.differ, self.certified, *figures, verdict(met)]


def differ(found: Ranking, expected: Ranking) -> bool:
    """Return whether two rankings have other values."""
    mine, theirs = (
        np.array([hit.distance if hit.total is None else hit.total for hit in ranking.hits])
        for ranking in (found, expected)
    )
    return len(mine) != len(theirs) or bool(np.any(np.abs(mine - theirs) > _EQUAL))


def compare(cluster: Cluster, one: Collection, queries: list[str], *, ablation: bool) -> list[list[object]]:
    """Search for all queries by each ranking, and return the rows of the table."""
    rows = []
    for rank in RANKINGS:
        tally, options = Tally(), SearchOptions(exact=True, rank=rank or None)
        for query in [queries[0], *queries]:  # the first once more: it loads what all use
            began = time.perf_counter()
            expected = one.search(query, options)
            middle = time.perf_counter()
            found = cluster.search(query, options)
            tally.one_seconds.append(middle - began)
            tally.seconds.append(time.perf_counter() - middle)
            tally.differ += differ(found, expected)
            tally.certified += found.certified
            tally.solved.append(found.counts.solved)
            tally.one_solved.append(expected.counts.solved)
            if ablation:
                with without_shared_limits():
                    tally.alone_solved.append(cluster.search(query, options).counts.solved)
        rows.append(tally.row(rank))
    return rows


@contextmanager
def without_shared_limits() -> Iterator[None]:
    """Let every shard answer as if it were alone."""
    with patch.object(cluster_searcher, "kth_smallest", lambda _values, _k: np.inf):
        yield


@contextmanager
def killing(cluster: Cluster, seconds: float) -> Iterator[list[int]]:
    """Kill the process of a random shard every few seconds."""
    killed, over, rng = list[int](), Event(), random.Random(1)  # noqa: S311 - which shard is killed

    def kill() -> None:
        while not over.wait(seconds):
            processes = [number for number in cluster.processes().values() if number]
            if processes:
                killed.append(rng.choice(processes))
                os.kill(killed[-1], signal.SIGKILL)

    thread = Thread(target=kill, daemon=True)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def filled(open_: Callable[[], Collection | Cluster], size: int, seed: int, what: str) -> Collection | Cluster:
    """Index the documents, unless an earlier run has."""
    opened = open_()
    if not len(opened):
        began = time.perf_counter()
        documents: Iterator[Document] = texts_as_documents(SyntheticDocuments(seed).texts(size))
        opened.index(documents)
        show(f"{what}: {size:,} documents indexed in {time.perf_counter() - began:.0f} s")
    return opened


def parsed_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argument_parser(__doc__)
    parser.add_argument("--size", type=int, default=100_000, help="number of documents (100000)")
    parser.add_argument("--shards", type=int, default=4, help="number of shards (4)")
    parser.add_argument("--queries", type=int, default=100, help="number of queries (100)")
    parser.add_argument("--kill", type=float, default=0.0, metavar="SECONDS", help="kill a shard every few seconds")
    parser.add_argument("--no-ablation", action="store_true", help="leave out the searches without shared limits")
    parser.add_argument("--directory", type=Path, help="directory of the collections, kept for the next run")
    parser.add_argument("--seed", type=int, default=1, help="of the documents and queries (1)")
    return parser.parse_args()


def main() -> None:
    """Run the comparison."""
    arguments = parsed_arguments()
    with TemporaryDirectory() as temporary:
        directory = arguments.directory or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        settings = Settings(embedding=str(vectors()))
        file = ClusterFile(directory / "shards.toml", new_shards(directory / "shards.toml", arguments.shards, []))
        place = directory / "one.index"

        def opened_one() -> Collection:
            return Collection.open(place) if Collection.exists(place) else Collection.create(place, settings)

        def opened_shards() -> Cluster:
            return Cluster.open(file.path) if file.path.exists() else Cluster.create(file, settings)

        one = filled(opened_one, arguments.size, arguments.seed, "one collection")
        cluster = filled(opened_shards, arguments.size, arguments.seed, f"{arguments.shards} shards")
        if not isinstance(one, Collection) or not isinstance(cluster, Cluster):
            raise TypeError
        known = Tokenizer(frozenset()).count
        drawn = draw_queries("20news", arguments.queries, arguments.seed, lambda text: list(known(text)))
        queries = [text.text for text in drawn]
        rows = compare(cluster, one, queries, ablation=not arguments.no_ablation)
        show_table(HEADS, rows)
        if arguments.kill:
            with killing(cluster, arguments.kill) as killed:
                again = compare(cluster, one, queries, ablation=False)
            show(f"\n{len(killed)} processes of shards were killed meanwhile")
            show_table(HEADS, again)
            rows += again
        cluster.close()
        one.close()
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
