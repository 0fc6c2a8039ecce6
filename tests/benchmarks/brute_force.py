"""Checks that exact search equals brute force through POT on random pairs of a query and a collection of real texts.

A third of the pairs each is from r8, bbcsport and twinfilms. A collection is a random part of its data set; one half of
its queries are documents of its own, the other half texts of documents that it does not contain. Each pair is searched
at gamma 0 and 0.75, and `tests/oracle.py` computes the distance of every document independently of the library.
"""

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import argument_parser, show, show_table, verdict
from tests.oracle import FILES, GAMMAS, Oracle, Problem, Sample, Verdict

HEADS = ("data set", "gamma", "pairs", "documents", "largest difference", "misplaced", "search s", "brute s", "")


def compare(oracle: Oracle, name: str, pairs: int, documents: int, queries: int, k: int, seed: int) -> list[Verdict]:
    """Compare `pairs` searches of the data set `name` with brute force, each at both gammas.

    `documents`: largest size of a collection. `queries`: queries of each collection. `k`: hits compared. `seed`: of the
    collections.
    """
    verdicts: list[Verdict] = []
    for start in range(0, pairs, queries):
        sample = Sample.of(name, seed + start)
        count = min(queries, pairs - start)
        size = min(documents, len(sample.lines) - 2 * queries)
        with (
            TemporaryDirectory() as directory,
            Problem.opened(oracle, sample, size, Path(directory, "problem")) as problem,
        ):
            for key in list(problem.documents)[: count - count // 2]:
                verdicts += problem.similar(key, k)
            for text in problem.texts[: count // 2]:
                verdicts += problem.search(text, k)
    return verdicts


def row(name: str, gamma: float, verdicts: Sequence[Verdict]) -> list[object]:
    """Return the row of one data set at one gamma."""
    sizes = [one.documents for one in verdicts]
    return [
        name,
        gamma,
        len(verdicts),
        f"{min(sizes)}-{max(sizes)}",
        f"{max(one.difference for one in verdicts):.1e}",
        sum(one.misplaced for one in verdicts),
        f"{sum(one.seconds for one in verdicts):.1f}",
        f"{sum(one.brute_seconds for one in verdicts) / len(GAMMAS):.1f}",
        verdict(all(one.holds for one in verdicts)),
    ]


def main() -> None:
    """Print a row for each data set and gamma."""
    parser = argument_parser(__doc__)
    parser.add_argument("--pairs", type=int, default=200, help="pairs of all data sets together (200)")
    parser.add_argument("--documents", type=int, default=400, help="largest size of a collection (400)")
    parser.add_argument("--queries", type=int, default=10, help="queries of each collection (10)")
    parser.add_argument("-k", type=int, default=10, help="hits compared (10)")
    parser.add_argument("--seed", type=int, default=1, help="of the collections (1)")
    parser.add_argument("--sets", nargs="+", choices=list(FILES), default=list(FILES), help="data sets (all)")
    arguments = parser.parse_args()
    warnings.simplefilter("error")  # POT only warns if it does not reach the optimum
    oracle, sets, k = Oracle(), arguments.sets, arguments.k
    rows, total = [], 0
    for i, name in enumerate(sets):
        pairs = arguments.pairs // len(sets) + (i < arguments.pairs % len(sets))
        verdicts = compare(oracle, name, pairs, arguments.documents, arguments.queries, k, arguments.seed)
        total += len(verdicts) // len(GAMMAS)
        rows += [row(name, gamma, [one for one in verdicts if one.gamma == gamma]) for gamma in GAMMAS]
    show(f"Exact search compared with brute force: {total} pairs, each at gamma 0 and 0.75; the first {k} hits.")
    show("Target: distances equal to 1e-6, no document misplaced but for ties, all certified.")
    show_table(HEADS, rows)


if __name__ == "__main__":
    main()
