"""Checks the percentiles of hits against the complete ranking, on five collections.

Each document belongs to one of twenty parts, by chance; a query searches one part, so that the percentiles of its hits
are estimated from the sample. The true share of a hit counts all documents with a smaller value: a certified list of
all documents up to the last hit. `covered` is the share of pairs of a query and a hit whose interval contains the true
share, `width` the mean of the interval, `error` the mean difference of the estimate, both in percent of all documents.
Each row has one size of the large sample: the usual one, and a tenth of it, with a tenth of the first one. `search`
and `with percentiles` are medians in milliseconds.
"""

import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, Document, Hit, Settings
from moverank.indexer.reading import read_documents
from moverank.indexer.search import percentiles
from tests.benchmarks.common import any_missed, argument_parser, real, show, show_table, vectors, verdict

SETS = ("cranfield", "med", "scifact", "r8", "classic")
RANKINGS = ("wmd", "rwmd", "chamfer", "bm25", "auto")
PARTS = 20
SIZES = (percentiles.SAMPLED, percentiles.SAMPLED // 10)
LEAST = 0.95
HEADS = ("ranking", "sample", "hits", "covered", "width %", "error %", "search", "with percentiles", "")


@dataclass(slots=True)
class Cases:
    """The hits of one ranking by one size of the sample, and the seconds of searches without and with percentiles."""

    covered: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)

    def add(self, hit: Hit, true: float) -> None:
        """Add a hit with its true share."""
        own = hit.percentile
        if own is not None:
            self.covered.append(own.low - 1e-12 <= true <= own.high + 1e-12)
            self.widths.append(own.high - own.low)
            self.errors.append(abs(own.share - true))

    def row(self, rank: str, size: int) -> list[object]:
        """Return the row of the table."""
        covered = statistics.mean(self.covered)
        parts = [f"{100 * statistics.mean(each):.3f}" for each in (self.widths, self.errors)]
        times = [f"{1000 * statistics.median(each):.1f}" for each in (self.plain, self.whole)]
        numbers = [f"{size:,}", f"{len(self.covered):,}", f"{covered:.1%}"]
        return [rank, *numbers, *parts, *times, verdict(covered >= LEAST)]


def documents(name: str) -> Iterator[Document]:
    """Yield the documents of a data set, each in a part by chance."""
    rng = np.random.default_rng(1)
    for record in read_documents([str(real("data", name, "docs.jsonl.gz"))]):
        if isinstance(record, Document):
            yield replace(record, metadata={"part": int(rng.integers(PARTS))})


def texts(name: str, collection: Collection, count: int) -> list[str]:
    """Return the texts of queries: judged ones, or else the first words of some documents."""
    file, rng = real("data", name) / "queries.jsonl", np.random.default_rng(2)
    if file.exists():
        every = [json.loads(line)["text"] for line in file.read_text(encoding="utf-8").splitlines()]
    else:
        every = [" ".join(each.parts[0].text.split()[:30]) for each in collection if each.parts]
    return [every[i] for i in rng.permutation(len(every))[:count].tolist()]


def value(hit: Hit) -> float:
    """Return the value that ranked a hit; smaller is better."""
    if hit.total is not None:
        return hit.total
    return -hit.score if np.isnan(hit.distance) else hit.distance


def true_shares(collection: Collection, text: str, rank: str, hits: tuple[Hit, ...]) -> list[float]:
    """Return the true share of each hit, by a certified list of all documents up to the last one."""
    size, last = len(collection), value(hits[-1])
    limit = None if rank == "bm25" else last
    found = collection.search(text, k=size + 1, exact=True, rank=rank, max_distance=limit)
    if not found.certified:
        sys.exit(f"not certified: {text[:60]!r} by {rank}")
    values = np.array([value(hit) for hit in found.hits])
    return [float(np.sum(values < value(hit) - 1e-9 * max(1.0, abs(value(hit))))) / size for hit in hits]


def compare(path: Path, name: str, queries: int, cases: dict[tuple[str, int], Cases]) -> None:
    """Add the hits of some queries of a data set."""
    for size in SIZES:
        percentiles.SAMPLED, percentiles.FEW = size, size // 5
        with Collection.open(path) as collection:
            for rank in RANKINGS:
                own = cases.setdefault((rank, size), Cases())
                for number, text in enumerate(texts(name, collection, queries)):
                    part = {"part": str(number % PARTS)}
                    collection.search(text, k=20, rank=rank, where=part, percentile=True)  # loads what is then cached
                    for seconds, chosen in ((own.plain, False), (own.whole, True)):
                        began = time.perf_counter()
                        found = collection.search(text, k=20, rank=rank, where=part, percentile=chosen)
                        seconds.append(time.perf_counter() - began)
                    true = true_shares(collection, text, rank, found.hits) if found.hits else []
                    for hit, share in zip(found.hits, true, strict=True):
                        own.add(hit, share)


def main() -> None:
    """Print a row for each ranking and size of the sample; exit with 1 if an interval holds less often than stated."""
    parser = argument_parser(__doc__)
    parser.add_argument("--queries", type=int, default=20, help="of each collection (20)")
    parser.add_argument("--sets", nargs="+", default=list(SETS), help="data sets (all five)")
    arguments = parser.parse_args()
    cases = dict[tuple[str, int], Cases]()
    with TemporaryDirectory() as directory:
        for name in arguments.sets:
            path = Path(directory) / name
            with Collection.create(path, Settings(embedding=str(vectors()))) as collection:
                collection.index(documents(name))
                show(f"{name}: {len(collection):,} documents")
            compare(path, name, arguments.queries, cases)
    rows = [own.row(rank, size) for (rank, size), own in cases.items()]
    show_table(HEADS, rows)
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
