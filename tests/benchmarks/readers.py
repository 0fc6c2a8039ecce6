"""Shows one process writing and four reading at the same time: errors, and answers mixed from two revisions.

Each revision gives every document another text and a title that names the revision. An answer whose hits have titles
of two revisions, or distances that are not those of the titles' revision, is mixed. Readers ask several times before
they refresh: all these answers must be of one revision.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.hard_life import QUERIES, documents, made, prepare  # isort: split

from moverank import Collection
from tests.benchmarks.common import show, show_table, verdict
from tests.indexer.world import WORDS, Twin

_DOCUMENTS = 40
_READERS = 4
_ASKED = 3
HEADS = ("process", "revisions or answers", "errors", "mixed", "")


def expected() -> dict[tuple[int, str], dict[str, float]]:
    """Return the distance of every document from every query, by turn: they come again after so many turns."""
    twin = Twin()
    found: dict[tuple[int, str], dict[str, float]] = {}
    for turn in range(len(WORDS)):
        twin.add(documents(range(_DOCUMENTS), turn))
        found |= {(turn, query): twin.distances(query) for query in QUERIES}
    return found


def write(place: Path, until: float) -> str:
    """Write revision after revision; return how many, and how many failed."""
    turn, errors = 0, 0
    while time.monotonic() < until:
        turn += 1
        try:
            with Collection.open(place, wait=10) as collection:
                collection.index(documents(range(_DOCUMENTS), turn))
        except Exception as error:  # noqa: BLE001 - counted, whatever it is
            errors += 1
            sys.stderr.write(f"writer: {error!r}\n")
    return f"{turn} {errors} 0"


def read(place: Path, until: float, right: dict[tuple[int, str], dict[str, float]], number: int) -> str:
    """Ask and refresh; return how many answers came, how many errors, and how many mixed answers."""
    asked = errors = mixed = 0
    with Collection.open(place) as collection:
        while time.monotonic() < until:
            try:
                collection.refresh()
                titles: set[str] = set()
                for i in range(_ASKED):
                    query = QUERIES[(asked + number) % len(QUERIES)]
                    options: dict[str, int] = {"k": 10, "depth": 20} if i == 1 else {"k": _DOCUMENTS}
                    hits = collection.search(query, **options).hits  # type: ignore[arg-type]  # options by name
                    asked += 1
                    titles |= {hit.title for hit in hits}
                    turn = int(next(iter(titles))) % len(WORDS)
                    off = any(abs(right[turn, query][hit.key] - hit.distance) > 1e-6 for hit in hits)
                    mixed += off or len(titles) > 1 or not hits
            except Exception as error:  # noqa: BLE001 - counted, whatever it is
                errors += 1
                sys.stderr.write(f"reader {number}: {error!r}\n")
    return f"{asked} {errors} {mixed}"


def begun(work: Callable[[], str]) -> tuple[int, int]:
    """Do some work in a process of its own; return its number and the pipe that it answers by."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, work().encode())
        os._exit(0)
    os.close(writing)
    return child, reading


def main() -> None:
    """Print a row for each process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long (60)")
    seconds = parser.parse_args().seconds
    prepare()
    right = expected()
    with TemporaryDirectory() as name:
        place = made(Path(name), "base", documents(range(_DOCUMENTS), 0))
        until = time.monotonic() + seconds
        works: list[Callable[[], str]] = [lambda: write(place, until)]
        works += [lambda number=number: read(place, until, right, number) for number in range(_READERS)]  # type: ignore[misc]
        rows: list[list[object]] = []
        for i, (child, pipe) in enumerate([begun(work) for work in works]):
            with os.fdopen(pipe) as answer:
                told = answer.read().split()
            os.waitpid(child, 0)
            counts = [int(count) for count in told] or [0, 1, 0]
            rows.append([f"reader {i}" if i else "writer", *counts, verdict(bool(counts[0]) and not sum(counts[1:]))])
    show_table(HEADS, rows)
    show(f"{seconds:.0f} s, {_DOCUMENTS} documents changed by each revision")
    sys.exit(any(row[-1] != "ok" for row in rows))


if __name__ == "__main__":
    main()
