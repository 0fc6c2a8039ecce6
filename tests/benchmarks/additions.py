"""Shows that adding 100 documents costs the same whatever the collection's size, by the command line, whole processes.

No real set has 100,000 documents, so they are made: each has half the words, drawn at random, of two random documents
of one class of 20 Newsgroups' training part (fixed seed). Every run adds 100 documents that were not there before, so
the collections grow; the search afterwards has these in its tail. Times are medians; `of CPU` is what the process
computed, in all its threads: on a machine that is busy otherwise it says more.
"""

import argparse
import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import Run, median, median_cpu, real, run, show, show_table, span, vectors, verdict

HEADS = ("collection", "index s", "add s", "range", "of CPU", "search before s", "search after s", "added ones found")
QUERY = "how do I mount a second hard disk under DOS"
FOUND = 20
"""Added documents that are searched for by their own texts."""


class Maker:
    """Makes documents of real words; the same seed makes the same documents."""

    def __init__(self, seed: int) -> None:
        self._chance = np.random.default_rng(seed)
        by_class: dict[str, list[list[str]]] = defaultdict(list)
        with gzip.open(real("data", "20news", "docs.jsonl.gz"), "rt", encoding="utf-8") as file:
            for record in map(json.loads, file):
                if record["split"] == "train":
                    by_class[record["label"]].append(record["text"].split())
        self._classes = list(by_class.values())

    def texts(self, count: int) -> Iterator[str]:
        """Make so many texts."""
        for _ in range(count):
            documents = self._classes[self._chance.integers(len(self._classes))]
            chosen = self._chance.choice(len(documents), 2, replace=False).tolist()
            yield " ".join(word for i in chosen for word in self._half(documents[i]))

    def _half(self, words: list[str]) -> list[str]:
        kept = self._chance.permutation(len(words))[: (len(words) + 1) // 2]
        return [words[i] for i in np.sort(kept).tolist()]


@dataclass(frozen=True, slots=True)
class Grown:
    """What one collection showed."""

    size: int
    indexed: Run
    added: list[Run]
    before: list[Run]
    after: list[Run]
    found: int

    def row(self) -> list[object]:
        """Give its row of the table."""
        cells = [f"{self.size:,}", f"{self.indexed.seconds:.1f}", f"{median(self.added):.2f}", span(self.added)]
        cells += [f"{seconds:.2f}" for seconds in (median_cpu(self.added), median(self.before), median(self.after))]
        return [*cells, f"{self.found} of {FOUND}"]


def grow(size: int, additions: int, repeats: int, place: Path, seed: int) -> Grown:
    """Make a collection, and add to it."""
    maker, collection = Maker(seed), place / f"of-{size}"
    whole = write(place / "whole.jsonl", "made", maker.texts(size))
    indexed = run("index", whole, "-i", collection, "--embedding", vectors(), "--json")
    whole.unlink()
    before = searches(collection, repeats)
    added = []
    for turn in range(repeats):
        fresh = write(place / f"fresh-{turn}.jsonl", f"fresh-{turn}", maker.texts(additions))
        added.append(run("index", fresh, "-i", collection, "--json"))
        if (told := added[-1].objects[0]["added"]) != additions:
            sys.exit(f"only {told} of {additions} documents were added")
    return Grown(size, indexed, added, before, searches(collection, repeats), found(collection, fresh))


def write(path: Path, prefix: str, texts: Iterator[str]) -> Path:
    """Write documents as JSON lines, keys numbered."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": f"{prefix}-{i}", "text": text}) + "\n" for i, text in enumerate(texts))
    return path


def searches(collection: Path, repeats: int) -> list[Run]:
    """Search several times, once before that: what is compiled once and kept is not the search's time."""
    run("search", QUERY, "-i", collection)
    return [run("search", QUERY, "-i", collection, "--json") for _ in range(repeats)]


def found(collection: Path, fresh: Path) -> int:
    """Count the added documents that are the nearest to their own text."""
    queries = fresh.with_name("queries.jsonl")
    queries.write_text("".join(fresh.read_text(encoding="utf-8").splitlines(keepends=True)[:FOUND]), encoding="utf-8")
    answers = run("search", "--queries", queries, "-i", collection, "-k", "1", "--depth", "100", "--json").objects
    return sum(answer["hits"][0]["key"] == answer["query"] for answer in answers)


def main() -> None:
    """Print a row for each size, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs=2, default=[1_000, 100_000], help="documents (1000 100000)")
    parser.add_argument("--additions", type=int, default=100, help="documents added at a time (100)")
    parser.add_argument("--repeats", type=int, default=5, help="times that documents are added (5)")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with TemporaryDirectory() as place:
        grown = [grow(size, chosen.additions, chosen.repeats, Path(place), chosen.seed) for size in chosen.sizes]
    small, large = grown
    ratio = median(large.added) / median(small.added)
    show(f"Adding {chosen.additions} documents, {chosen.repeats} times (made documents: see --help); whole processes.")
    show_table(HEADS, [one.row() for one in grown])
    cpu_ratio = median_cpu(large.added) / median_cpu(small.added)
    told = f"{ratio:.2f}, of CPU {cpu_ratio:.2f} (target < 3): {verdict(ratio < 3)}"
    show(f"adding to {large.size:,} / adding to {small.size:,}: {told}")


if __name__ == "__main__":
    main()
