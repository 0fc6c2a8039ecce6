"""Measures how many of the exact ten are among the candidates of each encoder, and the cost of its vectors.

The documents are the training part of 20 Newsgroups, the queries texts of its test part; both without the default stop
words, words weighted by their frequency. The exact ten by Word Mover's Distance are cached in `--cache`. Candidates are
found by brute force, so that the loss of an approximate index is not included. `fit s` and `encode s` are CPU seconds
for all documents, all threads added up; `query ms` is the median wall-clock time of one query. Options follow the name
of an encoder: fisher:k=32,dim=32. To choose options, use other queries than those of the table: --skip 60.
"""

import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.encoders.encoder import Metric
from moverank.rerank.encoders.first_stages import ENCODERS, choose_encoder
from tests.benchmarks.candidate_task import CACHE, DEPTHS, CandidateTask, K, parse_encoder, recall, single
from tests.benchmarks.common import any_missed, argument_parser, show, show_table, verdict

HEADS = ("encoder", "dim", "bytes", "fit s", "encode s", "query ms", *(f"recall at {depth}" for depth in DEPTHS))
TARGETS = {"fisher": (0.80, 0.94)}


def recalls(
    metric: Metric, stored: NDArray[np.float32], queries: NDArray[np.float32], exact: NDArray[np.int64]
) -> list[float]:
    """Return the mean recall at each depth.

    `stored` (n, dim) and `queries` (q, dim) are vectors with that `metric`, `exact` (q, 10) the rows of the exact ten.
    """
    products = queries @ stored.T
    if metric == "l2":
        products -= 0.5 * np.square(stored).sum(axis=1)
    # Ties keep the order of the rows.
    order = np.argsort(-products, axis=1, kind="stable")
    return [statistics.fmean(recall(row[:m], ten) for row, ten in zip(order, exact, strict=True)) for m in DEPTHS]


def measured(task: CandidateTask, name: str, options: Mapping[str, str]) -> tuple[list[object], list[float]]:
    """Return the cells of an encoder with these options, and its recalls."""
    began = time.process_time()
    encoder = choose_encoder(name, options).fit(task.documents, options)
    fitted = time.process_time()
    stored = encoder.encode(task.documents)
    encoded = time.process_time()
    queries, seconds = [], []
    for row in range(len(task.queries)):
        query = single(task.queries, row)
        start = time.perf_counter()
        queries.append(encoder.encode(query))
        seconds.append(time.perf_counter() - start)
    shares = recalls(encoder.metric, stored, np.concatenate(queries), task.exact)
    times = f"{fitted - began:.1f}", f"{encoded - fitted:.1f}", f"{1000 * statistics.median(seconds):.1f}"
    return [encoder.dim, f"{stored.nbytes // len(stored):,}", *times, *(f"{share:.3f}" for share in shares)], shares


def main() -> None:
    """Print a row for each encoder; exit with 1 if a target is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("encoders", nargs="*", help=f"encoders with options (fisher:variances=yes, {[*ENCODERS]})")
    parser.add_argument("--queries", type=int, default=60, help="texts of the test part (60)")
    parser.add_argument("--skip", type=int, default=0, help="number of queries to leave out before them (0)")
    parser.add_argument("--seed", type=int, default=1, help="of the queries (1)")
    parser.add_argument("--cache", type=Path, default=CACHE, help=f"directory of exact tens ({CACHE})")
    arguments = parser.parse_args()
    task = CandidateTask.of(arguments.queries, arguments.seed, arguments.cache, skip=arguments.skip)
    show(f"20news: {len(task.documents):,} documents, {len(task.queries)} queries; recall of the exact {K}.")
    rows: list[list[object]] = []
    for text in arguments.encoders or [*ENCODERS, "centroid:idf=yes", "fisher:variances=yes", "lsi:inverse=no"]:
        name, options = parse_encoder(text)
        cells, shares = measured(task, name, options)
        aim = ""
        if name in TARGETS and not options:
            aim = verdict(all(share >= least for share, least in zip(shares, TARGETS[name], strict=True)))
        rows.append([text, *cells, aim])
    show_table([*HEADS, "target"], rows)
    for name, least in TARGETS.items():
        show(f"target of {name}: {' and '.join(f'{share:.2f} at {m}' for share, m in zip(least, DEPTHS, strict=True))}")
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
