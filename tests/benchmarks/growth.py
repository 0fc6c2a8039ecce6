"""Measures how time and memory grow with the collection: indexing, opening, exact search and search by candidates.

No real set has a million documents: they are synthetic, each with half of the words, drawn at random by a fixed seed,
of two random documents of one class of 20 Newsgroups' training part. The command indexes them from JSON lines. Then two
new processes open the collection and search for 20 texts of the test part: the first exactly for the ten nearest, the
second for the ten nearest of the first stage's 500 candidates, both by WMD; a third searches exactly by the default
ranking. Each process starts with another query: its time is
`first`, and in no other figure. All processes run twice, and the second run is reported: by then compiled kernels are
cached, and files are in the page cache. Memory is the peak resident set of the process, mapped files included.
"""

import argparse
import json
import shutil
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import any_missed, argument_parser, run, show, show_table, vectors, verdict
from tests.benchmarks.data_sets import draw_queries
from tests.benchmarks.query_process import Measurements, search_in_process
from tests.benchmarks.synthetic_documents import SyntheticDocuments, write_json_lines
from tests.oracle import Oracle

QUERIES, DEPTH, GIB = 20, 500, 2**30
FEW, MILLION = 50_000, 1_000_000
CAPTION = "Synthetic documents: half of the words of two random 20news training documents of one class"
INDEX_HEADS = ("indexing", "seconds", "documents/s", "peak GiB", "on disk GiB")
HEADS = ("exact, k = 10", "open s", "first s", "median s", "mean s", "max s", "solved", "peak GiB")
DEPTH_HEADS = (
    f"depth {DEPTH}, k = 10",
    "open s",
    "first s",
    "median ms",
    "mean ms",
    "max ms",
    "of the ten",
    "peak GiB",
)
TARGET_HEADS = ("target for up to 1,000,000 documents", "measured", "at most", "")


@dataclass(frozen=True, slots=True)
class Indexed:
    """Seconds of indexing a collection, and peak memory in bytes."""

    seconds: float
    peak: int


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of one collection; `disk` is its size in bytes."""

    size: int
    indexed: Indexed
    disk: int
    exact: Measurements
    candidates: Measurements
    default: Measurements

    @property
    def name(self) -> str:
        """Return the size as shown in tables."""
        return f"{self.size:,}"

    def index_row(self) -> list[object]:
        """Return the row of indexing."""
        seconds, peak = self.indexed.seconds, self.indexed.peak
        rate = f"{self.size / seconds:,.0f}"
        return [self.name, f"{seconds:.1f}", rate, f"{peak / GIB:.2f}", f"{self.disk / GIB:.2f}"]

    def exact_row(self) -> list[object]:
        """Return the row of exact search."""
        solved = f"{statistics.mean(self.exact.solved):.1f}"
        return [self.name, *times(self.exact, 1), solved, f"{self.exact.peak / GIB:.2f}"]

    def default_row(self) -> list[object]:
        """Return the row of exact search by the default ranking."""
        solved = f"{statistics.mean(self.default.solved):.1f}"
        return [self.name, *times(self.default, 1), solved, f"{self.default.peak / GIB:.2f}"]

    def depth_row(self) -> list[object]:
        """Return the row of search by candidates."""
        pairs = list(zip(self.exact.keys, self.candidates.keys, strict=True))
        common = sum(len(set(exact) & set(candidates)) for exact, candidates in pairs)
        share = common / sum(len(exact) for exact, _ in pairs)
        return [self.name, *times(self.candidates, 1000), f"{share:.0%}", f"{self.candidates.peak / GIB:.2f}"]

    def target_rows(self) -> list[list[object]]:
        """Return a row for each target."""
        exact, share = statistics.mean(self.exact.seconds), 0.4 if self.size < FEW else 0.2
        figures = [
            ("exact, median s", statistics.median(self.exact.seconds), 0.25),
            ("exact, peak GiB", self.exact.peak / GIB, 6.0),
            (f"depth {DEPTH}, median s", statistics.median(self.candidates.seconds), 0.08),
            (f"depth {DEPTH} / exact, mean", statistics.mean(self.candidates.seconds) / exact, share),
            ("default ranking / WMD, exact, mean", statistics.mean(self.default.seconds) / exact, 1.5),
            ("opening, the slower of two processes, s", max(self.exact.open, self.candidates.open), 0.3),
        ]
        if self.size == MILLION:  # of fewer documents, loading what only queries need takes longer than a query
            for name, one in (("WMD", self.exact), ("default ranking", self.default)):
                figures.append(
                    (f"{name}: first query / median of the others", one.first / statistics.median(one.seconds), 2.0)
                )
        return [
            [f"{self.name}: {name}", f"{figure:.3f}", f"{most:.3g}", verdict(figure <= most)]
            for name, figure, most in figures
        ]


def times(measured: Measurements, unit: int) -> list[str]:
    """Return opening and first query in seconds; median, mean and maximum of the others in 1/`unit` seconds."""
    others = (of(measured.seconds) * unit for of in (statistics.median, statistics.mean, max))
    digits = 3 if unit == 1 else 1
    return [f"{measured.open:.3f}", f"{measured.first:.3f}", *(f"{other:.{digits}f}" for other in others)]


def measure(size: int, queries: Path, collection: Path, seed: int, stage: str) -> Measured:
    """Index `size` documents, unless `collection` was kept by an earlier run, and search it.

    `queries`: a JSON file. `seed`: of the documents. `stage`: the first stage.
    """
    indexed = index(size, collection, seed, stage)
    for depth in (None, DEPTH):
        search_in_process(collection, queries, depth)  # pays for what is compiled once and then cached
    search_in_process(collection, queries, None, "")
    exact, candidates = search_in_process(collection, queries, None), search_in_process(collection, queries, DEPTH)
    default = search_in_process(collection, queries, None, "")
    disk = sum(file.stat().st_size for file in collection.rglob("*") if file.is_file())
    return Measured(size, indexed, disk, exact, candidates, default)


def measurement_file(collection: Path) -> Path:
    """Return the file of the measurements of indexing: it is written once the collection is complete."""
    return collection.with_name(f"{collection.name}.json")


def index(size: int, collection: Path, seed: int, stage: str) -> Indexed:
    """Index synthetic documents, or return the measurements of the run that did; parameters as of `measure`."""
    file = measurement_file(collection)
    if file.exists():
        show(f"{size:,} documents: {collection} is reused, with the measurements of its indexing")
        return Indexed(**json.loads(file.read_text(encoding="utf-8")))
    remove(collection)  # left behind by an interrupted run
    show(f"{size:,} documents: generating and indexing them")
    texts = SyntheticDocuments(seed).texts(size)
    documents = write_json_lines(collection.with_name(f"{collection.name}.jsonl"), "synthetic", texts)
    try:
        choices = ("--embedding", vectors(), "--first-stage", stage, "--json")
        process = run("index", documents, "-i", collection, *choices)
    finally:
        documents.unlink()
    added = process.objects[0]["added"]
    # Half of two texts of one word each may be blank: a few in a million are rejected.
    if added < size - max(1, size // 10_000):
        sys.exit(f"only {added:,} of {size:,} documents were indexed")
    indexed = Indexed(process.seconds, process.peak)
    file.write_text(json.dumps(asdict(indexed)), encoding="utf-8")
    return indexed


def remove(collection: Path) -> None:
    """Remove a collection and its measurements."""
    measurement_file(collection).unlink(missing_ok=True)
    shutil.rmtree(collection, ignore_errors=True)


@contextmanager
def work_directory(directory: Path | None, collections: Callable[[Path], list[Path]], *, keep: bool) -> Iterator[Path]:
    """Open `directory`, or a temporary one for None; unless `keep`, remove its `collections` at the end."""
    if directory is None:
        with TemporaryDirectory() as temporary:
            yield Path(temporary)
        return
    directory.mkdir(parents=True, exist_ok=True)
    try:
        yield directory
    finally:
        for collection in [] if keep else collections(directory):
            remove(collection)


def parsed_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--sizes",
        type=lambda text: [int(size) for size in text.split(",")],
        default=[10_000, 100_000, MILLION],
        help="numbers of documents (10000,100000,1000000)",
    )
    parser.add_argument("--directory", type=Path, help="directory of the collections (a temporary one)")
    parser.add_argument("--keep", action="store_true", help="keep them in --directory, where the next run reuses them")
    parser.add_argument("--first-stage", default="centroid", help="source of the candidates (centroid)")
    parser.add_argument("--seed", type=int, default=1, help="of the synthetic documents and the queries (1)")
    arguments = parser.parse_args()
    if arguments.keep and arguments.directory is None:
        parser.error("--keep needs a --directory")
    return arguments


def main() -> None:
    """Print the tables; exit with 1 if a target is missed."""
    arguments = parsed_arguments()
    seed, stage, sizes = arguments.seed, arguments.first_stage, arguments.sizes
    texts = [text.text for text in draw_queries("20news", QUERIES + 1, seed, Oracle().words)]

    def collections(directory: Path) -> list[Path]:
        return [directory / f"of-{size}-{stage}-seed-{seed}" for size in sizes]

    with work_directory(arguments.directory, collections, keep=arguments.keep) as directory:
        queries = directory / "queries.json"
        queries.write_text(json.dumps([texts[-1], *texts[:-1]]), encoding="utf-8")
        try:
            measured = [
                measure(size, queries, collection, seed, stage)
                for size, collection in zip(sizes, collections(directory), strict=True)
            ]
        finally:
            queries.unlink()
    show(f"{CAPTION}, seed {seed}; first stage: {stage}.")
    targets = [row for one in measured if one.size <= MILLION for row in one.target_rows()]
    show_table(INDEX_HEADS, [one.index_row() for one in measured])
    show(f"\n{QUERIES} texts of the 20news test split, one at a time in a process of its own:")
    show_table(HEADS, [one.exact_row() for one in measured])
    show()
    show_table(("default ranking, exact", *HEADS[1:]), [one.default_row() for one in measured])
    show()
    show_table(DEPTH_HEADS, [one.depth_row() for one in measured])
    show()
    show_table(TARGET_HEADS, targets)
    sys.exit(any_missed(targets))


if __name__ == "__main__":
    main()
