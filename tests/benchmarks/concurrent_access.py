"""Checks four readers beside one writer: errors, and answers mixed from two revisions.

Each revision gives every document another text, and a title which names the revision; every second one also replaces
the word vectors by those of a file with another order of the words. An answer is mixed if its hits have titles of two
revisions, or distances other than those of the titles' revision. Readers search several times before they refresh: all
these answers must be of one revision.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.small_collection import QUERIES, create, documents, prepare, reversed_vectors  # isort: split

from moverank import Collection, SearchOptions
from tests.benchmarks.child_process import FAILED, Report, read_output, start
from tests.benchmarks.common import any_missed, argument_parser, show, show_table, verdict
from tests.indexer.world import WORDS, Twin

_DOCUMENTS = 40
_READERS = 4
_VECTORS = ("reversed.txt", "vectors.txt")
_SEARCHES = 3  # before a reader refreshes
HEADS = ("process", "revisions or answers", "errors", "mixed", "")

Distances = dict[tuple[int, str], dict[str, float]]


def expected_distances() -> Distances:
    """Return the distances by document, for each revision and query; texts repeat after so many revisions."""
    twin = Twin()
    distances: Distances = {}
    for revision in range(len(WORDS)):
        twin.add(documents(range(_DOCUMENTS), revision))
        distances |= {(revision, query): twin.distances(query) for query in QUERIES}
    return distances


def write(path: Path, until: float) -> str:
    """Write one revision after the other until a time; return the numbers of revisions, errors and mixed answers."""
    revision, errors = 0, 0
    while time.monotonic() < until:
        revision += 1
        try:
            with Collection.open(path, wait=10) as collection:
                collection.index(documents(range(_DOCUMENTS), revision))
                if revision % 2:
                    collection.refit(embedding=str(path.with_name(_VECTORS[revision % 4 // 2])))
        except Exception as error:  # noqa: BLE001 - counted, whatever it is
            errors += 1
            sys.stderr.write(f"writer: {error!r}\n")
    return f"{revision} {errors} 0"


def read(path: Path, until: float, expected: Distances, number: int) -> str:
    """Search and refresh until a time; return the numbers of answers, errors and mixed answers.

    `number` is that of the reader: each begins with another query.
    """
    searches = errors = mixed = 0
    with Collection.open(path) as collection:
        while time.monotonic() < until:
            try:
                collection.refresh()
                titles: set[str] = set()
                for i in range(_SEARCHES):
                    query = QUERIES[(searches + number) % len(QUERIES)]
                    options = SearchOptions(k=10, depth=20) if i == 1 else SearchOptions(k=_DOCUMENTS)
                    hits = collection.search(query, options).hits
                    searches += 1
                    titles |= {hit.title for hit in hits}
                    revision = int(next(iter(titles))) % len(WORDS)
                    wrong = any(abs(expected[revision, query][hit.key] - hit.distance) > 1e-6 for hit in hits)
                    mixed += wrong or len(titles) > 1 or not hits
            except Exception as error:  # noqa: BLE001 - counted, whatever it is
                errors += 1
                sys.stderr.write(f"reader {number}: {error!r}\n")
    return f"{searches} {errors} {mixed}"


def row(name: str, output: str) -> list[object]:
    """Return the row of a process from its output; one that crashed has an error."""
    crashed = output.startswith(FAILED) or not output
    if crashed:
        sys.stderr.write(f"{name}: {output or 'no output'}\n")
    counts = [0, 1, 0] if crashed else [int(count) for count in output.split()]
    return [name, *counts, verdict(bool(counts[0]) and not sum(counts[1:]))]


def main() -> None:
    """Print a row for each process; exit with 1 if one has errors or mixed answers."""
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="duration (60)")
    seconds = parser.parse_args().seconds
    prepare()
    expected = expected_distances()
    with TemporaryDirectory() as name:
        path = create(Path(name), "base", documents(range(_DOCUMENTS), 0))
        reversed_vectors(Path(name))
        until = time.monotonic() + seconds

        def reader(number: int) -> Callable[[Report], str]:
            return lambda _: read(path, until, expected, number)

        processes = {"writer": start(lambda _: write(path, until))}
        processes |= {f"reader {number + 1}": start(reader(number)) for number in range(_READERS)}
        rows = []
        for process, (child, pipe) in processes.items():
            rows.append(row(process, read_output(pipe)))
            os.waitpid(child, 0)
    show_table(HEADS, rows)
    show(f"{seconds:.0f} s, {_DOCUMENTS} documents changed by each revision")
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
