"""Compares exact search for the ten nearest with gensim, wmd-relax and a plain loop through POT, on the same bags.

Documents are the training part of a data set, queries 30 texts of its test part. All programs get the same words, the
same weights (term counts that sum to 1) and the same vectors. moverank and the baselines take turns and answer all
queries; a query's time is the median of its rounds. The others take up to minutes for a query, and answer the first few
of the same queries. The speed-up is the ratio of medians over the queries that the other program answered; of its
wall-clock and CPU seconds (all threads added up) the smaller count, so that waiting on a busy machine does not make it
seem slow.

Every list is compared with brute force, a loop over all documents in which POT solves each transport problem in float64
without pruning (`ot.emd2` of `cdist` costs). Distances which differ by less than 1e-9 of their value are ties.
wmd-relax computes in float32, and gets early_stop=1, vocabulary_min=1, skipped_stop=1 and no limit of the vocabulary.
"""

import statistics
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.baseline_passes import BaselinePasses
from tests.benchmarks.common import any_missed, argument_parser, rotated, show, show_table, verdict
from tests.benchmarks.compared_programs import RELAX, K, by_cascade, by_collection, by_gensim, by_relax, has_relax
from tests.benchmarks.comparison_input import ComparisonInput, are_nearest
from tests.benchmarks.data_sets import Text, draw_queries, indexed, read_split
from tests.benchmarks.query_timer import QueryTimer
from tests.oracle import Oracle

QUERIES = 30
SPEED_UP, SOLVED, BASELINE = 200, 1.5, 2.5
"""Targets on 20news: speed-up, problems solved for each hit, time divided by that of the baseline."""
TIMES = ("queries", "median s", "mean s", "max s", "mean CPU s")
HEADS = ("exact ten nearest", *TIMES, "speed-up", "correct lists", "target", "")
BASELINE_HEADS = ("baseline, in turns with moverank", "mean s", "nearest / it", "Collection.search / it", "target", "")
NEAREST = "moverank, nearest()"

Rows = list[list[object]]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The timers of one data set: moverank's two interfaces, the baselines, and the other programs.

    A program which is not installed has a reason instead of a timer. `brute` are the distances (n,) of all documents by
    query, `solved` the numbers of transport problems that moverank solved.
    """

    moverank: dict[str, QueryTimer]
    baselines: dict[str, QueryTimer]
    others: dict[str, QueryTimer | str]
    brute: dict[int, NDArray[np.float64]]
    solved: list[int]

    def rows(self, target: int | None) -> Rows:
        """Return the rows of the programs; `target` is the speed-up to reach, None for no target."""
        return [self._row(name, timer, target) for name, timer in (self.moverank | self.others).items()]

    def _row(self, name: str, timer: QueryTimer | str, target: int | None) -> list[object]:
        if isinstance(timer, str):
            return [name, timer, *[""] * 6, *([f">= {target}", "not measured"] if target else ["", ""])]
        digits = 3 if name in self.moverank else 1
        times = [f"{of(timer.seconds()):.{digits}f}" for of in (statistics.median, statistics.mean, max)]
        checked = timer.results.keys() & self.brute.keys()
        correct = sum(are_nearest(timer.results[number], self.brute[number]) for number in checked)
        cells: list[object] = [name, len(timer.results), *times, f"{timer.cpu:.{digits}f}"]
        share = f"{correct} of {len(checked)}"
        if name in self.moverank:
            return [*cells, "", share, "all correct", verdict(correct == len(checked))]
        seconds = self.moverank[NEAREST].seconds(timer.results)
        ratio = statistics.median(timer.least) / statistics.median(seconds)
        aim = [f">= {target}", verdict(ratio >= target)] if target and name != "POT loop" else ["", ""]
        return [*cells, f"{ratio:,.0f}x", share, *aim]

    def baseline_rows(self, targets: bool) -> Rows:
        """Return the rows of the baselines. The target is for RWMD's document side, the faster of both passes."""
        rows: Rows = []
        for name, timer in self.baselines.items():
            ratios = [one.mean / timer.mean for one in self.moverank.values()]
            judged = targets and "document side" in name
            aim = [f"<= {BASELINE}", verdict(max(ratios) <= BASELINE)] if judged else ["", ""]
            rows.append([name, f"{timer.mean:.4f}", *(f"{ratio:.2f}" for ratio in ratios), *aim])
        return rows

    def solved_row(self, targets: bool) -> list[object]:
        """Return the row of transport problems."""
        mean = statistics.mean(self.solved)
        aim = [f"<= {SOLVED * K:g}", verdict(mean <= SOLVED * K)] if targets else ["", ""]
        return ["transport problems solved, mean", f"{mean:.1f}", "", "", *aim]


def measure(name: str, oracle: Oracle, slow: dict[str, int], rounds: int, seed: int) -> Measured:
    """Time everything on the data set `name`.

    `slow`: the number of queries of each other program. `rounds`: runs of each query of moverank. `seed`: of the
    queries.
    """
    documents, queries = read_split(name, "train"), draw_queries(name, QUERIES, seed, oracle.words)
    data = ComparisonInput.of(oracle, documents, queries)
    lengths = [len(query) for query in data.queries]
    average, longest = statistics.mean(lengths), max(lengths)
    show(f"{name}: {len(documents):,} documents, {len(data.bags):,} with one of {data.vocabulary_size:,} known words;")
    show(f"queries of the test part have {average:.0f} distinct words on average, {longest:,} at most.")
    moverank, baselines, solved = measure_moverank(data, documents, queries, rounds)
    others, brute = measure_others(data, slow)
    return Measured(moverank, baselines, others, brute, solved)


def measure_moverank(
    data: ComparisonInput, documents: list[Text], queries: list[Text], rounds: int
) -> tuple[dict[str, QueryTimer], dict[str, QueryTimer], list[int]]:
    """Time moverank and the baselines in turns, each query `rounds` times; return also the numbers of problems solved.

    `documents` and `queries` are the texts of `data`.
    """
    solved: list[int] = []
    passes = BaselinePasses(data.bags, data.document_vectors, max(map(len, data.queries)))
    with TemporaryDirectory() as directory, indexed(documents, Path(directory)) as collection:
        info = collection.info()
        if info["documents"] - info["wordless"] != len(data.bags):
            sys.exit(f"the collection does not have the same {len(data.bags):,} bags")
        moverank = {
            NEAREST: QueryTimer(by_cascade(data)),
            "moverank, Collection.search()": QueryTimer(by_collection(data, collection, queries, solved)),
        }
        baselines = {
            "matrix product (v, d) x (d, h)": QueryTimer(lambda number: passes.product(data.query(number)).shape),
            "+ one pass, document side of RWMD": QueryTimer(
                lambda number: passes.document_side(data.query(number)).shape
            ),
            "+ one pass, both sides of RWMD": QueryTimer(lambda number: passes.both_sides(data.query(number)).shape),
        }
        timers = [*moverank.values(), *baselines.values()]
        for timer in timers:
            for number in range(len(queries)):
                timer.search(number)  # warm-up: compiles kernels, opens files
        solved.clear()
        for turn in range(rounds):
            for number in range(len(queries)):
                for timer in rotated(timers, turn + number):
                    timer.run(number)
    return moverank, baselines, solved


def measure_others(
    data: ComparisonInput, slow: dict[str, int]
) -> tuple[dict[str, QueryTimer | str], dict[int, NDArray[np.float64]]]:
    """Time the other programs in turns, on the first queries; return also the distances that the POT loop computed."""
    brute: dict[int, NDArray[np.float64]] = {}

    def by_pot(number: int) -> list[int]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # POT only warns if it does not reach the optimum
            brute[number] = data.brute_force(number)
        rows: list[int] = np.argsort(brute[number], kind="stable")[:K].tolist()
        return rows

    others: dict[str, QueryTimer | str] = {
        "gensim WmdSimilarity": QueryTimer(by_gensim(data)),
        "wmd-relax": QueryTimer(by_relax(data)) if has_relax() else "not installed",
        "POT loop": QueryTimer(by_pot),
    }
    for number in range(max(slow.values())):
        for name, timer in others.items():
            if isinstance(timer, QueryTimer) and number < slow[name]:
                timer.run(number)
    return others, brute


def main() -> None:
    """Print two tables for each data set; exit with 1 if a target is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sets", nargs="+", choices=("20news", "r8"), default=["20news", "r8"], help="data sets (all)")
    parser.add_argument("--queries", type=int, help="queries of each other program (3, wmd-relax 5)")
    parser.add_argument(
        "--all", action="store_true", help="answer all 30 queries by brute force, so that all lists are checked"
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of each query of moverank (3)")
    parser.add_argument("--seed", type=int, default=1, help="of the queries (1)")
    arguments = parser.parse_args()
    if not 1 <= (arguments.queries or 1) <= QUERIES or arguments.rounds < 1:
        parser.error(f"--queries must be 1 to {QUERIES}, --rounds 1 or more")
    few = arguments.queries or 3
    brute = QUERIES if arguments.all else few
    slow = {"gensim WmdSimilarity": few, "wmd-relax": arguments.queries or 5, "POT loop": brute}
    oracle, missed = Oracle(), False
    for name in arguments.sets:
        measured = measure(name, oracle, slow, arguments.rounds, arguments.seed)
        targets = name == "20news"
        rows = measured.rows(SPEED_UP if targets else None)
        baseline_rows = [*measured.baseline_rows(targets), measured.solved_row(targets)]
        show_table(HEADS, rows)
        show("" if has_relax() else f"wmd-relax is not installed: {RELAX}\n")
        show_table(BASELINE_HEADS, baseline_rows)
        show()
        missed = missed or any_missed(rows + baseline_rows)
    sys.exit(missed)


if __name__ == "__main__":
    main()
