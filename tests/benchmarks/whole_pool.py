"""Compares `moverank evaluate retrieval` on a whole pool of threads now and at a git revision, in pairs.

Every judged query ranks all threads of the Stack Exchange site bicycles.meta: 183 queries, 453 threads, 83,000
distances of bags of about 100 words. Both sides index the threads themselves. The measures of both must be equal to
1e-12, and with `--oracle` also to those of all distances by POT's dense solver, which takes minutes. `CPU` adds up all
threads, and is more reliable on a busy machine. With `--run`, which writes whole rankings, every distance is solved.
"""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Bags, Collection
from moverank.indexer.plugins.laboratory.corpus import corpus_of
from moverank.indexer.reading.inputs.judgments import read_qrels
from moverank.indexer.reranking.texts import Texts
from moverank.rerank.evaluation.measures import DEFAULT_MEASURES, Judgments, evaluate_measures, join_run
from tests.benchmarks.common import Run, any_missed, argument_parser, real, show, show_table, vectors, verdict
from tests.benchmarks.revisions import NOW, compared_times, in_turns, run_version, versions

HEADS = (
    "method",
    "before s",
    "now s",
    "ratio",
    "CPU before",
    "CPU now",
    "CPU ratio",
    "target",
    "",
    "measures differ by",
)
SITE = "stackexchange_bicycles_meta"
METHODS = {
    "P-WMD": "pwmd",
    "P-WMD, tf-idf": "pwmd:weights=tfidf",
    "a sum with WMD and BM25": "wmd:weights=tfidf,mu=20+0.5*cover+1.5*bm25:stem=english+cosine",
}
GAMMA, TARGET, EQUAL = 0.75, 0.4, 1e-12

Measures = dict[str, float]


def evaluate(checkout: Path, collection: Path, *options: str) -> Run:
    """Run the evaluation of a checkout on its collection."""
    judgments = ("--qrels", str(real("data", SITE, "qrels.tsv")), "--cutoff", "all")
    command = ("evaluate", "retrieval", "-i", str(collection), *judgments, *options, "--json")
    return run_version(checkout, ["-m", "moverank", *command])


def measures_of(run: Run) -> Measures:
    """Return the measures of the only row."""
    (row,) = run.objects[0]["rows"]
    return {name: row[name] for name in (*DEFAULT_MEASURES, "hubness")}


def difference(one: Measures, other: Measures) -> float:
    """Return the largest difference of the measures that both have."""
    return max(abs(one[name] - other[name]) for name in one.keys() & other.keys())


def row(name: str, method: str, sides: list[tuple[Path, Path]], pairs: int) -> list[object]:
    """Evaluate a method on both sides, each a checkout with its collection, and return the row."""
    before, now = in_turns(sides, range(pairs), lambda side, _: evaluate(*side, "--method", method))
    cells = compared_times(before, now)
    apart = max(difference(*map(measures_of, pair)) for pair in zip(before, now, strict=True))
    met = verdict(cells[-1] <= TARGET and apart <= EQUAL)
    return [name, *(f"{cell:.2f}" for cell in cells), f"<= {TARGET}", met, f"{apart:.1g}"]


def oracle(collection: Path) -> Measures:
    """Return the measures of all distances by POT's dense solver, without any code of the search."""
    with Collection.open(collection) as opened:
        pool = corpus_of(opened).documents
    judgments = Judgments(read_qrels(str(real("data", SITE, "qrels.tsv"))))
    queries = [query for query in judgments.queries if query in pool.row_of]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), initializer=_Pool.start, initargs=(pool,)) as workers:
        orders = workers.map(_Pool.order, [pool.row_of[query] for query in queries], chunksize=4)
        run = {query: [pool.keys[row] for row in order] for query, order in zip(queries, orders, strict=True)}
    values = evaluate_measures(join_run(judgments, run).values(), DEFAULT_MEASURES)
    return {name: float(of_queries.mean()) for name, of_queries in values.items()}


class _Pool:
    """The bags of a process of the oracle."""

    rows: NDArray[np.int64]
    bags: Bags
    vectors: NDArray[np.float64]

    @classmethod
    def start(cls, pool: Texts) -> None:
        cls.rows, cls.bags = pool.bags(GAMMA, None)
        cls.vectors = pool.vocabulary.vectors.astype(np.float64)

    @classmethod
    def order(cls, query_row: int) -> list[int]:
        """Return the rows of all other documents, nearest first."""
        import ot

        query = cls.bags[int(np.searchsorted(cls.rows, query_row))]
        distances = []
        for bag in cls.bags:
            cost = ot.dist(cls.vectors[query.words], cls.vectors[bag.words], metric="euclidean")
            distances.append(ot.emd2(query.weights, bag.weights, cost))
        order = cls.rows[np.argsort(np.round(distances, 12), kind="stable")].tolist()
        return [row for row in order if row != query_row]


def main() -> None:
    """Print a table; exit with 1 if a target is missed, or a measure differs."""
    parser = argument_parser(__doc__)
    parser.add_argument("--revision", default="HEAD", help="what to compare with (HEAD: without uncommitted changes)")
    parser.add_argument("--pairs", type=int, default=3, help="pairs of runs of each method (3)")
    parser.add_argument("--oracle", action="store_true", help="compare P-WMD with all distances by POT")
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with TemporaryDirectory() as name, versions(arguments.revision) as checkouts:
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(name, "bytecode"))  # none in the checkout
        sides = [(checkouts[side], Path(name, str(i))) for i, side in enumerate((arguments.revision, NOW))]
        source, options = str(real("data", SITE, "threads.jsonl.gz")), ("--embedding", str(vectors()))
        for checkout, collection in sides:
            made = ("-i", str(collection), *options, "--gamma", str(GAMMA))
            run_version(checkout, ["-m", "moverank", "threads", source, *made])
        rows = [row(shown, method, sides, arguments.pairs) for shown, method in METHODS.items()]
        show(f"183 queries, 453 threads, {arguments.pairs} pairs; before: {arguments.revision}")
        show_table(HEADS, rows)
        missed = any_missed(rows)
        written = evaluate(*sides[1], "--method", "pwmd", "--run", str(Path(name, "run.trec")))
        ranked = measures_of(evaluate(*sides[1], "--method", "pwmd"))
        apart = difference(ranked, measures_of(written))
        show(f"with --run: {written.seconds:.1f} s, CPU {written.cpu:.1f} s; measures differ by {apart:.1g}")
        if arguments.oracle:
            apart = max(apart, difference(ranked, oracle(sides[1][1])))
            show(f"largest difference from the measures of all distances by POT: {apart:.1g}")
    sys.exit(missed or apart > EQUAL)


if __name__ == "__main__":
    main()
