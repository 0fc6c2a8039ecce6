"""Measures proofs of searches: their size, the time to write and to verify them, and what common numbers exclude.

The texts are the training part of 20 Newsgroups, whole, or cut into pieces of two lines where more documents are
wanted; the queries are texts of the test part. `common` is the share of the documents that the two rows of numbers
exclude which all of them share; the others need `rows` of their own, or of a few. Every search is verified by a new
process, as by a reader of the proof.
"""

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection
from moverank.indexer.plugins.proofs.verify import read_proof
from tests.benchmarks.common import argument_parser, run_process, show_table
from tests.benchmarks.data_sets import Text, draw_queries, indexed, read_split

HEADS = ("documents", "query words", "search s", "prove s", "CPU s", "verify s", "CPU s", "MB", "rows", "common %")
_SHAPES = ("{:,.0f}", "{:.0f}", "{:.2f}", *["{:.1f}"] * 5, "{:.0f}", "{:.1f}")
_K = 10


def pieces(count: int) -> list[Text]:
    """Return `count` documents: whole texts, or if there are too few, pieces of two lines of them."""
    texts = read_split("20news", "train")
    if count <= len(texts):
        return texts[:count]
    found = [piece for text in texts for piece in _cut(text)]
    return found[:count]


def _cut(text: Text) -> Iterator[Text]:
    """Yield pieces of two lines that are not empty."""
    kept = [line for line in text.text.splitlines() if line.strip()]
    for number, start in enumerate(range(0, len(kept), 2)):
        yield Text(f"{text.id}#{number}", text.label, "\n".join(kept[start : start + 2]))


def measure(collection: Collection, query: str, path: Path) -> tuple[float, ...]:
    """Prove the search for a query, verify it in a new process, and return the numbers of a row of the table."""
    began, cpu = time.perf_counter(), time.process_time()
    ranking = collection.prove(path, query, k=_K, rank="wmd", exact=True)
    proved = time.perf_counter() - began, time.process_time() - cpu
    script = Path(__file__).parents[2] / "indexer" / "plugins" / "proofs" / "verify.py"
    verified = run_process([sys.executable, "-I", script, path])
    proof = read_proof(path.read_bytes())
    shared = 100 * float(((proof.potential_of == 0) | (proof.potential_of == _K + 1)).mean())
    times = (ranking.seconds, *proved, verified.seconds, verified.cpu)
    return (proof.n, proof.h, *times, path.stat().st_size / 1e6, proof.r, shared)


def measured(documents: int, queries: int) -> list[tuple[float, ...]]:
    """Return the rows of some queries in a collection of `documents`."""
    with TemporaryDirectory() as directory:
        place = Path(directory)
        with indexed(pieces(documents), place) as collection:
            drawn = draw_queries("20news", queries, 5, collection.settings.tokenizer.words)
            collection.search("late train", rank="wmd", exact=True)  # loads everything
            return [measure(collection, query.text, place / "a.proof") for query in drawn]


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[11_314, 100_000])
    parser.add_argument("--queries", type=int, default=5)
    given = parser.parse_args()
    for documents in given.documents:
        rows = measured(documents, given.queries)
        medians = tuple(statistics.median(column) for column in zip(*rows, strict=True))
        show_table(
            HEADS, [[shape.format(x) for shape, x in zip(_SHAPES, row, strict=True)] for row in [*rows, medians]]
        )


if __name__ == "__main__":
    main()
