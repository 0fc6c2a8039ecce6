"""Shows how time and memory grow with the collection: indexing, opening, exact search and search by candidates.

No real set has a million documents, so they are made: each has half the words, drawn at random, of two random documents
of one class of 20 Newsgroups' training part (fixed seed). The program itself indexes them, from JSON lines. Then two
new processes open the collection: one asks exactly for the ten nearest to 20 texts of the test part, the other for the
ten nearest among the first stage's 500 candidates. Before these, each asks another query: that is `first`, and not in
the other figures. Both are run twice, and the second run counts: kernels are compiled once and kept, and files are in
the system's cache by then. Memory is the largest resident set of the process, mapped files included.
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

from tests.benchmarks.additions import Maker, write
from tests.benchmarks.asking import Answers, ask_apart
from tests.benchmarks.common import MISSED, run, show, show_table, vectors, verdict
from tests.benchmarks.real_texts import draw_queries
from tests.oracle import Oracle

QUERIES, DEPTH, GIB = 20, 500, 2**30
MILLION = 1_000_000
CAPTION = "Documents are made: half the words of two random 20news training documents of one class"
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
TARGET_HEADS = ("target for up to 1,000,000 documents", "documents", "measured", "at most", "")


@dataclass(frozen=True, slots=True)
class Made:
    """What making a collection took: seconds and bytes of memory."""

    seconds: float
    peak: int


@dataclass(frozen=True, slots=True)
class Grown:
    """What one collection showed."""

    size: int
    made: Made
    disk: int
    exact: Answers
    candidates: Answers

    @property
    def name(self) -> str:
        """Return the size, as tables show it."""
        return f"{self.size:,}"

    def index_row(self) -> list[object]:
        """Give the row of indexing."""
        made = self.made
        rate = f"{self.size / made.seconds:,.0f}"
        return [self.name, f"{made.seconds:.1f}", rate, f"{made.peak / GIB:.2f}", f"{self.disk / GIB:.2f}"]

    def exact_row(self) -> list[object]:
        """Give the row of exact search."""
        solved = f"{statistics.mean(self.exact.solved):.1f}"
        return [self.name, *times(self.exact, 1), solved, f"{self.exact.peak / GIB:.2f}"]

    def depth_row(self) -> list[object]:
        """Give the row of search by candidates."""
        pairs = list(zip(self.exact.keys, self.candidates.keys, strict=True))
        share = sum(len(set(exact) & set(found)) for exact, found in pairs) / sum(len(exact) for exact, _ in pairs)
        return [self.name, *times(self.candidates, 1000), f"{share:.0%}", f"{self.candidates.peak / GIB:.2f}"]

    def target_rows(self) -> list[list[object]]:
        """Give a row for each target."""
        exact = statistics.mean(self.exact.seconds)
        figures = (
            ("exact, median s", statistics.median(self.exact.seconds), 3.0),
            ("exact, peak GiB", self.exact.peak / GIB, 6.0),
            (f"depth {DEPTH}, median s", statistics.median(self.candidates.seconds), 0.08),
            (f"depth {DEPTH} against exact, mean", statistics.mean(self.candidates.seconds) / exact, 1 / 3),
            ("opening, the slower of two processes, s", max(self.exact.open, self.candidates.open), 1.0),
        )
        return [
            [what, self.name, f"{figure:.3f}", f"{most:.3g}", verdict(figure <= most)] for what, figure, most in figures
        ]


def times(answers: Answers, unit: int) -> list[str]:
    """Show opening and first query in seconds, and the others' median, mean and largest in a unit."""
    others = (of(answers.seconds) * unit for of in (statistics.median, statistics.mean, max))
    return [f"{answers.open:.3f}", f"{answers.first:.3f}", *(f"{other:.{3 if unit == 1 else 1}f}" for other in others)]


def grow(size: int, queries: Path, collection: Path, seed: int, stage: str) -> Grown:
    """Make a collection, unless a whole one was kept, and search it."""
    made = make(size, collection, seed, stage)
    for depth in (None, DEPTH):
        ask_apart(collection, queries, depth)  # what is compiled once and kept is not the search's time
    exact, candidates = ask_apart(collection, queries, None), ask_apart(collection, queries, DEPTH)
    disk = sum(file.stat().st_size for file in collection.rglob("*") if file.is_file())
    return Grown(size, made, disk, exact, candidates)


def note_of(collection: Path) -> Path:
    """Return the file that says what making a collection took; it is there when the collection is whole."""
    return collection.with_name(f"{collection.name}.json")


def made_in(place: Path, size: int, seed: int, stage: str) -> Path:
    """Return where a collection is made."""
    return place / f"of-{size}-{stage}-seed-{seed}"


def make(size: int, collection: Path, seed: int, stage: str) -> Made:
    """Make a collection, or say what it took to make the one that is there."""
    note = note_of(collection)
    if note.exists():
        show(f"{size:,} documents: {collection} is used again, with the figures of its making")
        return Made(**json.loads(note.read_text(encoding="utf-8")))
    remove(collection)  # of a run that was stopped
    show(f"{size:,} documents: making and indexing them")
    documents = write(collection.with_name(f"{collection.name}.jsonl"), "made", Maker(seed).texts(size))
    try:
        choices = ("--embedding", vectors(), "--first-stage", stage, "--json")
        indexed = run("index", documents, "-i", collection, *choices)
    finally:
        documents.unlink()
    told = indexed.objects[0]
    # Half of two texts of one word each may be blank: a few in a million are refused.
    if told["added"] < size - max(1, size // 10_000):
        sys.exit(f"only {told['added']:,} of {size:,} documents were indexed")
    made = Made(indexed.seconds, indexed.peak)
    note.write_text(json.dumps(asdict(made)), encoding="utf-8")
    return made


def remove(collection: Path) -> None:
    """Remove a collection and what was noted of it."""
    note_of(collection).unlink(missing_ok=True)
    shutil.rmtree(collection, ignore_errors=True)


@contextmanager
def room(directory: Path | None, made: Callable[[Path], list[Path]], *, keep: bool) -> Iterator[Path]:
    """Give a directory to work in; what is made in it is removed at the end, unless it is to be kept."""
    if directory is None:
        with TemporaryDirectory() as place:
            yield Path(place)
        return
    directory.mkdir(parents=True, exist_ok=True)
    try:
        yield directory
    finally:
        for collection in [] if keep else made(directory):
            remove(collection)


def main() -> None:
    """Print the tables; leave with 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes",
        type=lambda text: [int(size) for size in text.split(",")],
        default=[10_000, 100_000, MILLION],
        help="numbers of documents (10000,100000,1000000)",
    )
    parser.add_argument("--directory", type=Path, help="where the collections are made (a temporary directory)")
    parser.add_argument(
        "--keep", action="store_true", help="leave them in --directory, where the next run uses them again"
    )
    parser.add_argument("--first-stage", default="centroid", help="what chooses the candidates (centroid)")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    if chosen.keep and chosen.directory is None:
        parser.error("--keep needs a --directory")
    texts = [text.text for text in draw_queries("20news", QUERIES + 1, chosen.seed, Oracle().words)]

    def collections(place: Path) -> list[Path]:
        return [made_in(place, size, chosen.seed, chosen.first_stage) for size in chosen.sizes]

    with room(chosen.directory, collections, keep=chosen.keep) as place:
        queries = place / "queries.json"
        queries.write_text(json.dumps([texts[-1], *texts[:-1]]), encoding="utf-8")
        try:
            grown = [
                grow(size, queries, collection, chosen.seed, chosen.first_stage)
                for size, collection in zip(chosen.sizes, collections(place), strict=True)
            ]
        finally:
            queries.unlink()
    show(f"{CAPTION}, seed {chosen.seed}; first stage: {chosen.first_stage}.")
    targets = [row for one in grown if one.size <= MILLION for row in one.target_rows()]
    show_table(INDEX_HEADS, [one.index_row() for one in grown])
    show(f"\n{QUERIES} texts of the 20news test split, one after the other in a process of its own:")
    show_table(HEADS, [one.exact_row() for one in grown])
    show()
    show_table(DEPTH_HEADS, [one.depth_row() for one in grown])
    show()
    show_table(TARGET_HEADS, targets)
    sys.exit(any(MISSED in row for row in targets))


if __name__ == "__main__":
    main()
