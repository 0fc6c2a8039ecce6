"""Times exact search for the ten nearest against gensim, wmd-relax and a plain loop through POT, on the same bags.

Documents are the training part of a data set, queries 30 texts of its test part. All programs get the same words, the
same weights (term counts that sum to 1) and the same vectors. Ours, and the floors that it is held against, answer all
queries, in turns; a query's time is the median of its rounds. The others take up to minutes for a query, and get the
first few of the same queries. The speed-up is the ratio of medians over the queries that the other program answered, of
its seconds or of its CPU seconds (in all its threads), whichever are less: on a machine that is busy otherwise, the
others must not look slow because they waited.

Every list is compared with brute force, a loop over all documents that solves each transport problem whole with POT in
float64 (`ot.emd2` of `cdist` costs): equal distances (1e-9 of them) may stand in any order.
wmd-relax computes in float32, and gets early_stop=1, vocabulary_min=1, skipped_stop=1 and no cut of the vocabulary.
"""

import argparse
import statistics
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import MISSED, show, show_table, verdict
from tests.benchmarks.contenders import RELAX, K, by_cascade, by_collection, by_gensim, by_relax, has_relax
from tests.benchmarks.floors import Floors
from tests.benchmarks.real_texts import Text, draw_queries, indexed, read
from tests.benchmarks.same_bags import SameBags, same_ten
from tests.benchmarks.timed import Timed
from tests.oracle import Oracle

QUERIES = 30
SPEED_UP, SOLVED, FLOOR = 200, 1.5, 2.5
"""Targets on 20news: times faster, problems solved for each hit, times the floor."""
TIMES = ("queries", "median s", "mean s", "max s", "mean CPU s")
HEADS = ("exact ten nearest", *TIMES, "ours faster", "same ten", "target", "")
FLOOR_HEADS = ("floor, in turns with ours", "mean s", "nearest / it", "Collection.search / it", "target", "")

Rows = list[list[object]]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What one data set showed: our two doors, the floors, the other programs, and distances (n,) by query."""

    ours: dict[str, Timed]
    floors: dict[str, Timed]
    others: dict[str, Timed | str]
    brute: dict[int, NDArray[np.float64]]
    solved: list[int]

    def rows(self, target: int | None) -> Rows:
        """Give the programs' rows."""
        return [self._row(name, timed, target) for name, timed in (self.ours | self.others).items()]

    def _row(self, name: str, timed: Timed | str, target: int | None) -> list[object]:
        if isinstance(timed, str):
            return [name, timed, *[""] * 6, *([f">= {target}", "not measured"] if target else ["", ""])]
        digits = 3 if name in self.ours else 1
        times = [f"{of(timed.seconds()):.{digits}f}" for of in (statistics.median, statistics.mean, max)]
        checked = timed.rows.keys() & self.brute.keys()
        right = sum(same_ten(timed.rows[number], self.brute[number]) for number in checked)
        cells: list[object] = [name, len(timed.rows), *times, f"{timed.cpu:.{digits}f}"]
        same = f"{right} of {len(checked)}"
        if name in self.ours:
            return [*cells, "", same, "all the same", verdict(right == len(checked))]
        ours = self.ours["moverank, nearest()"].seconds(timed.rows)
        ratio = statistics.median(timed.least) / statistics.median(ours)
        aim = [f">= {target}", verdict(ratio >= target)] if target and name != "POT loop" else ["", ""]
        return [*cells, f"{ratio:,.0f}x", same, *aim]

    def floor_rows(self, judged: bool) -> Rows:
        """Give the floors' rows. The target is held against the pass by document side, the smaller of both passes."""
        rows: Rows = []
        for name, floor in self.floors.items():
            ratios = [timed.mean / floor.mean for timed in self.ours.values()]
            aim = [f"<= {FLOOR}", verdict(max(ratios) <= FLOOR)] if judged and "document side" in name else ["", ""]
            rows.append([name, f"{floor.mean:.4f}", *(f"{ratio:.2f}" for ratio in ratios), *aim])
        return rows

    def solved_row(self, judged: bool) -> list[object]:
        """Give the row of transport problems."""
        mean = statistics.mean(self.solved)
        aim = [f"<= {SOLVED * K:g}", verdict(mean <= SOLVED * K)] if judged else ["", ""]
        return ["transport problems solved, mean", f"{mean:.1f}", "", "", *aim]


def measure(name: str, oracle: Oracle, slow: dict[str, int], rounds: int, seed: int) -> Measured:
    """Time everything on one data set; `slow` says how many queries each slow program gets."""
    documents, queries = read(name, "train"), draw_queries(name, QUERIES, seed, oracle.words)
    same = SameBags.of(oracle, documents, queries)
    longest = max(map(len, same.queries))
    words = statistics.mean(map(len, same.queries))
    show(f"{name}: {len(documents):,} documents, {len(same.bags):,} with a known word, {same.known:,} words in them;")
    show(f"queries of the test part have {words:.0f} different words on average, {longest:,} at the most.")
    ours, floors, solved = fast(same, documents, queries, rounds)
    others, brute = answers_of_others(same, slow)
    return Measured(ours, floors, others, brute, solved)


def fast(
    same: SameBags, documents: list[Text], queries: list[Text], rounds: int
) -> tuple[dict[str, Timed], dict[str, Timed], list[int]]:
    """Time ours and the floors in turns, `rounds` times each query; return also how many problems were solved."""
    solved: list[int] = []
    yard = Floors(same.bags, same.document_vectors, max(map(len, same.queries)))
    with TemporaryDirectory() as place, indexed(documents, Path(place)) as collection:
        told = collection.info()
        if told["documents"] - told["wordless"] != len(same.bags):
            sys.exit(f"the collection has not the same {len(same.bags):,} bags")
        ours = {
            "moverank, nearest()": Timed(by_cascade(same)),
            "moverank, Collection.search()": Timed(by_collection(same, collection, queries, solved)),
        }
        floors = {
            "matrix product (v, d) x (d, h)": Timed(lambda number: yard.product(same.query(number)).shape),
            "+ one pass, document side of RWMD": Timed(lambda number: yard.document_side(same.query(number)).shape),
            "+ one pass, both sides of RWMD": Timed(lambda number: yard.both_sides(same.query(number)).shape),
        }
        works = [*ours.values(), *floors.values()]
        for work in works:
            for number in range(len(queries)):
                work.ask(number)  # what is compiled or opened once is not a query's time
        solved.clear()
        for turn in range(rounds):
            for number in range(len(queries)):
                first = (turn + number) % len(works)
                for work in works[first:] + works[:first]:
                    work.answer(number)
    return ours, floors, solved


def answers_of_others(
    same: SameBags, slow: dict[str, int]
) -> tuple[dict[str, Timed | str], dict[int, NDArray[np.float64]]]:
    """Time the others in turns, on the first queries; return also the distances that the POT loop found."""
    brute: dict[int, NDArray[np.float64]] = {}

    def by_pot(number: int) -> list[int]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # POT only warns when it did not reach the optimum
            brute[number] = same.brute_force(number)
        nearest: list[int] = np.argsort(brute[number], kind="stable")[:K].tolist()
        return nearest

    others: dict[str, Timed | str] = {
        "gensim WmdSimilarity": Timed(by_gensim(same)),
        "wmd-relax": Timed(by_relax(same)) if has_relax() else "not installed",
        "POT loop": Timed(by_pot),
    }
    for number in range(max(slow.values())):
        for name, timed in others.items():
            if isinstance(timed, Timed) and number < slow[name]:
                timed.answer(number)
    return others, brute


def main() -> None:
    """Print two tables for each data set; leave with 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=("20news", "r8"), default=["20news", "r8"])
    parser.add_argument("--queries", type=int, help="queries that each slow program gets (3, wmd-relax 5)")
    parser.add_argument(
        "--all", action="store_true", help="all 30 queries by brute force, so that all lists are checked"
    )
    parser.add_argument("--rounds", type=int, default=3, help="times that ours answers each query (3)")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    if not 1 <= (chosen.queries or 1) <= QUERIES or chosen.rounds < 1:
        parser.error(f"--queries must be 1 to {QUERIES}, --rounds 1 or more")
    few = chosen.queries or 3
    slow = {"gensim WmdSimilarity": few, "wmd-relax": chosen.queries or 5, "POT loop": QUERIES if chosen.all else few}
    oracle, missed = Oracle(), False
    for name in chosen.sets:
        measured = measure(name, oracle, slow, chosen.rounds, chosen.seed)
        judged = name == "20news"
        rows = measured.rows(SPEED_UP if judged else None)
        floor_rows = [*measured.floor_rows(judged), measured.solved_row(judged)]
        show_table(HEADS, rows)
        show("" if has_relax() else f"wmd-relax is not installed: {RELAX}\n")
        show_table(FLOOR_HEADS, floor_rows)
        show()
        missed = missed or any(MISSED in row for row in rows + floor_rows)
    sys.exit(missed)


if __name__ == "__main__":
    main()
