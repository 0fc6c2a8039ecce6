"""Measures FAISS indexes: memory, time, and how many of the exact ten are among their candidates.

The documents are the training part of 20 Newsgroups, or with --made so many synthetic ones, each with half of the words
of two of these; the queries are texts of its test part. Each index is built and searched as by a collection, and named
by its factory string; `auto` is the choice for a collection of that size. `of flat` is the size of its file divided by
that of the plain vectors; `build s` and the times at 100 and 500 candidates are CPU time, the latter medians. Queries
run one at a time.
"""

import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.snapshot.faiss_index import FirstStage, build, choose_factory
from moverank.indexer.values.settings import AUTO_INDEX, FLAT_INDEX
from moverank.rerank.encoders.first_stages import choose_encoder
from tests.benchmarks.candidate_task import CACHE, DEPTHS, CandidateTask, parse_encoder, recall, single
from tests.benchmarks.common import argument_parser, show, show_table, verdict

FACTORIES = [AUTO_INDEX, FLAT_INDEX, "SQ8", "SQ4", "HR,RaBitQ", "HR,RaBitQ2", "RaBitQ", "RaBitQ2", "RaBitQfs"]
FACTORIES += ["PQ512x4fs", "PQ2048x4fs", "LSH", "IVF64,RaBitQ", "HR,IVF64,RaBitQ", "HNSW32", "HNSW32_SQ4"]
HEADS = ("index", "bytes", "of flat", "build s", *(f"ms at {m}" for m in DEPTHS), *(f"recall at {m}" for m in DEPTHS))
FIT_SAMPLE = 50_000
"""Documents, evenly spread, that the encoder is fitted to."""
MEMORY, RECALL = 1 / 8, 0.76
"""Target of one index: at most this share of the memory, at least this recall at the first depth."""


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors of documents (n, dim) and of queries (q, dim), and the rows (q, 10) of the exact ten of each query."""

    stored: NDArray[np.float32]
    queries: NDArray[np.float32]
    exact: NDArray[np.int64]

    @classmethod
    def of(cls, task: CandidateTask, encoder: str) -> "Vectors":
        """Encode documents and queries by an encoder such as `fisher:k=32`."""
        name, options = parse_encoder(encoder)
        stride = max(1, len(task.documents) // FIT_SAMPLE)
        sample = task.documents.take(np.arange(0, len(task.documents), stride))
        fitted = choose_encoder(name, options).fit(sample, options)
        queries = [fitted.encode(single(task.queries, row)) for row in range(len(task.queries))]
        return cls(fitted.encode(task.documents), np.concatenate(queries), task.exact)


def measured(factory: str, vectors: Vectors, directory: Path) -> tuple[list[str], bool]:
    """Return the row of an index, and whether it meets the target."""
    n, dim = vectors.stored.shape
    path = directory / "index"
    began = time.process_time()
    used = build(choose_factory(n, dim) if factory == AUTO_INDEX else factory, np.arange(n), vectors.stored, path)
    seconds = time.process_time() - began
    size, plain = path.stat().st_size, vectors.stored.nbytes
    stage = FirstStage(path, used)
    stage.nearest(vectors.queries[0], 1, accept_all)  # warm-up: reads the index
    recalls, times = zip(*(search(stage, vectors, m) for m in DEPTHS), strict=True)
    name = factory if used == factory else f"{factory}: {used}"
    cells = [f"{size / n:,.0f}", f"1/{plain / size:.1f}", f"{seconds:.1f}"]
    row = [name, *cells, *(f"{1000 * median:.1f}" for median in times), *(f"{share:.3f}" for share in recalls)]
    return row, bool(size <= MEMORY * plain and recalls[0] >= RECALL)


def search(stage: FirstStage, vectors: Vectors, m: int) -> tuple[float, float]:
    """Return the mean recall among `m` candidates, and the median of the CPU seconds of a query."""
    shares, seconds = [], []
    for vector, exact in zip(vectors.queries, vectors.exact, strict=True):
        began = time.process_time()
        candidates = stage.nearest(vector, m, accept_all)
        seconds.append(time.process_time() - began)
        shares.append(recall(candidates.ids, exact))
    return statistics.fmean(shares), statistics.median(seconds)


def accept_all(ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Accept every candidate."""
    return np.ones(len(ids), bool)


def main() -> None:
    """Print a row for each index; exit with 1 if none meets the target."""
    parser = argument_parser(__doc__)
    parser.add_argument("factories", nargs="*", help="FAISS factory strings, or auto")
    parser.add_argument("--encoder", default="fisher", help="encoder with options (fisher)")
    parser.add_argument("--queries", type=int, default=60, help="texts of the test part (60)")
    parser.add_argument(
        "--made", type=int, default=0, help="number of synthetic documents (0: the training part itself)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the queries and the synthetic documents (1)")
    parser.add_argument("--cache", type=Path, default=CACHE, help=f"directory of exact tens ({CACHE})")
    arguments = parser.parse_args()
    task = CandidateTask.of(arguments.queries, arguments.seed, arguments.cache, synthetic=arguments.made)
    vectors = Vectors.of(task, arguments.encoder)
    n, dim = vectors.stored.shape
    show(f"{n:,} documents, {len(vectors.queries)} queries, {arguments.encoder}: {dim:,} numbers a vector.")
    with TemporaryDirectory() as directory:
        indexes = [measured(factory, vectors, Path(directory)) for factory in arguments.factories or FACTORIES]
    show_table(HEADS, [row for row, _ in indexes])
    met = any(good for _, good in indexes)
    show(f"at most 1/8 of the memory and at least {RECALL} at {DEPTHS[0]}, by one of them: {verdict(met)}")
    sys.exit(not met)


if __name__ == "__main__":
    main()
