"""Checks that the time to add 100 documents does not depend on the size of the collection.

Every step is one run of the command, measured as a whole process. No real set has 100,000 documents: they are
synthetic, each with half of the words, drawn at random by a fixed seed, of two random documents of one class of
20 Newsgroups' training part. Every run adds 100 new documents, so the collections grow; the searches afterwards have
these in the tail. Times are medians; `CPU s` adds up all threads, and is more reliable on a busy machine.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import (
    Run,
    argument_parser,
    median,
    median_cpu,
    run,
    show,
    show_table,
    span,
    vectors,
    verdict,
)
from tests.benchmarks.synthetic_documents import SyntheticDocuments, write_json_lines

HEADS = ("collection", "index s", "add s", "range", "CPU s", "search before s", "search after s", "added ones found")
QUERY = "how do I mount a second hard disk under DOS"
PROBES = 20
"""Added documents which are searched for by their own texts."""
RATIO = 3
"""Target: the time in the larger collection, divided by that in the smaller one, is below this."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The runs of one collection, and how many of `PROBES` added documents were found by their own texts."""

    size: int
    indexed: Run
    added: list[Run]
    searched_before: list[Run]
    searched_after: list[Run]
    found: int

    def row(self) -> list[object]:
        """Return the row of the table."""
        medians = median_cpu(self.added), median(self.searched_before), median(self.searched_after)
        times = [f"{seconds:.2f}" for seconds in medians]
        indexed, added = f"{self.indexed.seconds:.1f}", f"{median(self.added):.2f}"
        return [f"{self.size:,}", indexed, added, span(self.added), *times, f"{self.found} of {PROBES}"]


def measure(size: int, additions: int, repeats: int, directory: Path, seed: int) -> Measured:
    """Index `size` documents below `directory`, then add `additions` documents `repeats` times."""
    documents, collection = SyntheticDocuments(seed), directory / f"of-{size}"
    initial = write_json_lines(directory / "initial.jsonl", "initial", documents.texts(size))
    indexed = run("index", initial, "-i", collection, "--embedding", vectors(), "--json")
    initial.unlink()
    searched_before = searches(collection, repeats)
    runs = []
    for turn in range(repeats):
        new = write_json_lines(directory / f"new-{turn}.jsonl", f"new-{turn}", documents.texts(additions))
        runs.append(run("index", new, "-i", collection, "--json"))
        if (added := runs[-1].objects[0]["added"]) != additions:
            sys.exit(f"only {added} of {additions} documents were added")
    return Measured(size, indexed, runs, searched_before, searches(collection, repeats), count_found(collection, new))


def searches(collection: Path, repeats: int) -> list[Run]:
    """Search several times, after a run which pays for what is compiled once and then cached."""
    run("search", QUERY, "-i", collection)
    return [run("search", QUERY, "-i", collection, "--json") for _ in range(repeats)]


def count_found(collection: Path, new: Path) -> int:
    """Count the first `PROBES` documents of a file that are the nearest to their own text."""
    queries = new.with_name("queries.jsonl")
    queries.write_text("".join(new.read_text(encoding="utf-8").splitlines(keepends=True)[:PROBES]), encoding="utf-8")
    answers = run("search", "--queries", queries, "-i", collection, "-k", "1", "--depth", "100", "--json").objects
    return sum(answer["hits"][0]["key"] == answer["query"] for answer in answers)


def main() -> None:
    """Print a row for each size, and the ratio."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs=2, default=[1_000, 100_000], help="documents (1000 100000)")
    parser.add_argument("--additions", type=int, default=100, help="documents added by a run (100)")
    parser.add_argument("--repeats", type=int, default=5, help="number of runs which add documents (5)")
    parser.add_argument("--seed", type=int, default=1, help="of the synthetic documents (1)")
    arguments = parser.parse_args()
    additions, repeats = arguments.additions, arguments.repeats
    with TemporaryDirectory() as name:
        measured = [measure(size, additions, repeats, Path(name), arguments.seed) for size in arguments.sizes]
    small, large = measured
    ratio = median(large.added) / median(small.added)
    show(f"Adding {additions} documents, {repeats} times (synthetic documents: see --help); whole processes.")
    show_table(HEADS, [one.row() for one in measured])
    cpu_ratio = median_cpu(large.added) / median_cpu(small.added)
    result = f"{ratio:.2f}, of CPU {cpu_ratio:.2f} (target < {RATIO}): {verdict(ratio < RATIO)}"
    show(f"adding to {large.size:,} / adding to {small.size:,}: {result}")


if __name__ == "__main__":
    main()
