"""Shows that exact search equals brute force through POT on random pairs of a query and a collection of real texts.

A third of the pairs each is from r8, bbcsport and twinfilms. A collection is a random part of its data set; one half of
its queries are documents of its own, the other half texts of documents that it does not have. Each pair is searched at
gamma 0 and 0.75, and the distance of every document is computed apart from the library (`tests/oracle.py`).
"""

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import show, show_table, verdict
from tests.oracle import FILES, GAMMAS, Oracle, Problem, Sample, Verdict

HEADS = ("data set", "gamma", "pairs", "documents", "largest difference", "misplaced", "search s", "brute s", "")


def verdicts(oracle: Oracle, name: str, pairs: int, documents: int, queries: int, k: int, seed: int) -> list[Verdict]:
    """Ask `pairs` questions, `queries` of each collection; both gammas of each."""
    found: list[Verdict] = []
    for start in range(0, pairs, queries):
        sample = Sample.of(name, seed + start)
        asked = min(queries, pairs - start)
        size = min(documents, len(sample.lines) - 2 * queries)
        with TemporaryDirectory() as place, Problem.opened(oracle, sample, size, Path(place, "problem")) as problem:
            for key in list(problem.documents)[: asked - asked // 2]:
                found += problem.similar(key, k)
            for text in problem.texts[: asked // 2]:
                found += problem.search(text, k)
    return found


def row(name: str, gamma: float, found: Sequence[Verdict]) -> list[object]:
    """Sum up one data set at one gamma."""
    sizes = [one.documents for one in found]
    return [
        name,
        gamma,
        len(found),
        f"{min(sizes)}-{max(sizes)}",
        f"{max(one.difference for one in found):.1e}",
        sum(one.misplaced for one in found),
        f"{sum(one.seconds for one in found):.1f}",
        f"{sum(one.brute_seconds for one in found) / len(GAMMAS):.1f}",
        verdict(all(one.holds for one in found)),
    ]


def main() -> None:
    """Print a row for each data set and gamma."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200, help="pairs of all data sets together (200)")
    parser.add_argument("--documents", type=int, default=400, help="documents of a collection at the most (400)")
    parser.add_argument("--queries", type=int, default=10, help="queries of each collection (10)")
    parser.add_argument("-k", type=int, default=10, help="hits compared (10)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sets", nargs="+", choices=list(FILES), default=list(FILES))
    chosen = parser.parse_args()
    warnings.simplefilter("error")  # POT only warns when it did not reach the optimum
    oracle = Oracle()
    rows, total = [], 0
    for i, name in enumerate(chosen.sets):
        pairs = chosen.pairs // len(chosen.sets) + (i < chosen.pairs % len(chosen.sets))
        found = verdicts(oracle, name, pairs, chosen.documents, chosen.queries, chosen.k, chosen.seed)
        total += len(found) // len(GAMMAS)
        rows += [row(name, gamma, [one for one in found if one.gamma == gamma]) for gamma in GAMMAS]
    show(f"Exact search against brute force: {total} pairs, each at gamma 0 and 0.75; the first {chosen.k} hits.")
    show("Target: distances equal to 1e-6, no document misplaced but for ties, all certified.")
    show_table(HEADS, rows)


if __name__ == "__main__":
    main()
