"""Shows what FAISS indexes cost and lose: memory, time, and how many of the exact ten are among their candidates.

The documents are the training part of 20 Newsgroups, or with --made so many texts made of halves of these; the queries
are texts of its test part. Each index is built and asked as a collection does it, and named by its factory string;
`auto` is what a collection of that size would take. `of flat` is its file against the plain vectors, `build` and
`search` are medians of CPU time, whatever else the machine did. A query is asked alone, for 100 and for 500 candidates.
"""

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.snapshot.first_stage import FLAT, FirstStage, build
from moverank.indexer.snapshot.index_choice import AUTO, choose
from moverank.rerank.encoders.encoder import Documents
from moverank.rerank.encoders.encoder_registry import choose as choose_encoder
from tests.benchmarks.additions import Maker
from tests.benchmarks.common import show, show_table, verdict
from tests.benchmarks.first_stage import DEPTHS, K, Task, alone, counted, exact_tens, parsed
from tests.benchmarks.real_texts import draw_queries
from tests.oracle import Oracle

FACTORIES = [AUTO, FLAT, "SQ8", "SQ4", "HR,RaBitQ", "HR,RaBitQ2", "RaBitQ", "RaBitQ2", "RaBitQfs"]
FACTORIES += ["PQ512x4fs", "PQ2048x4fs", "LSH", "IVF64,RaBitQ", "HR,IVF64,RaBitQ", "HNSW32", "HNSW32_SQ4"]
HEADS = ("index", "bytes", "of flat", "build s", *(f"ms at {m}" for m in DEPTHS), *(f"recall at {m}" for m in DEPTHS))
FIT = 50_000
MEMORY, RECALL = 1 / 8, 0.76


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors of documents (n, dim) and of queries (q, dim), and the rows (q, 10) of the exact ten of each query."""

    stored: NDArray[np.float32]
    asked: NDArray[np.float32]
    exact: NDArray[np.int64]

    @classmethod
    def of(cls, task: Task, typed: str) -> "Vectors":
        """Encode documents and queries."""
        name, options = parsed(typed)
        stride = max(1, len(task.documents) // FIT)
        fitted = task.documents.take(np.arange(0, len(task.documents), stride))
        encoder = choose_encoder(name, options).fit(fitted, options)
        asked = [encoder.encode(alone(task.queries, row)) for row in range(len(task.queries))]
        return cls(encoder.encode(task.documents), np.concatenate(asked), task.exact)


def made(count: int, queries: int, seed: int, cache: Path) -> Task:
    """Make documents; find the exact ten of each query, or what an earlier run has found."""
    oracle = Oracle()
    stored: Documents = counted(oracle, list(Maker(seed).texts(count)))
    asked = counted(oracle, [text.text for text in draw_queries("20news", queries, seed, oracle.words)])
    return Task(stored, asked, exact_tens(stored, asked, cache))


def measured(factory: str, vectors: Vectors, place: Path) -> tuple[list[str], bool]:
    """Return the row of an index; say whether it keeps the target."""
    n, dim = vectors.stored.shape
    began = time.process_time()
    used = build(choose(n, dim) if factory == AUTO else factory, np.arange(n), vectors.stored, place / "index")
    seconds = time.process_time() - began
    size, plain = (place / "index").stat().st_size, vectors.stored.nbytes
    stage = FirstStage(place / "index", used)
    stage.nearest(vectors.asked[0], 1, everything)  # reading it is not a query's time
    recalls, times = zip(*(asked(stage, vectors, m) for m in DEPTHS), strict=True)
    name = factory if used == factory else f"{factory}: {used}"
    cells = [f"{size / n:,.0f}", f"1/{plain / size:.1f}", f"{seconds:.1f}"]
    row = [name, *cells, *(f"{1000 * spent:.1f}" for spent in times), *(f"{share:.3f}" for share in recalls)]
    return row, bool(size <= MEMORY * plain and recalls[0] >= RECALL)


def asked(stage: FirstStage, vectors: Vectors, m: int) -> tuple[float, float]:
    """Ask every query for m candidates: the share of the exact ten among them, and the median of the seconds."""
    shares, seconds = [], []
    for vector, right in zip(vectors.asked, vectors.exact, strict=True):
        began = time.process_time()
        found = stage.nearest(vector, m, everything)
        seconds.append(time.process_time() - began)
        shares.append(len(np.intersect1d(found.ids, right)) / K)
    return statistics.fmean(shares), statistics.median(seconds)


def everything(ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Accept all."""
    return np.ones(len(ids), bool)


def main() -> None:
    """Print a row for each index; leave with 1 where none is small and good enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("factories", nargs="*", help="FAISS factory strings, or auto")
    parser.add_argument("--encoder", default="fisher", help="encoder and its options (fisher)")
    parser.add_argument("--queries", type=int, default=60, help="texts of the test part (60)")
    parser.add_argument("--made", type=int, default=0, help="make so many documents (0: the training part itself)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir(), "moverank-exact-tens"))
    chosen = parser.parse_args()
    if chosen.made:
        task = made(chosen.made, chosen.queries, chosen.seed, chosen.cache)
    else:
        task = Task.read(chosen.queries, 0, chosen.seed, chosen.cache)
    vectors = Vectors.of(task, chosen.encoder)
    n, dim = vectors.stored.shape
    show(f"{n:,} documents, {len(vectors.asked)} queries, {chosen.encoder}: {dim:,} numbers each.")
    with tempfile.TemporaryDirectory() as place:
        told = [measured(factory, vectors, Path(place)) for factory in chosen.factories or FACTORIES]
    show_table(HEADS, [row for row, _ in told])
    met = any(kept for _, kept in told)
    show(f"at most 1/8 of the memory and at least {RECALL} at {DEPTHS[0]}, by any of them: {verdict(met)}")
    sys.exit(not met)


if __name__ == "__main__":
    main()
