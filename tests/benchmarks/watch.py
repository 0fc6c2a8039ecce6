"""Measures how much of the speed of indexing remains with 1,000 watches: 20 Newsgroups in a random order, in turns.

The first documents are indexed before; their texts are the queries of the watches. The others are then indexed, each
time into a copy of that collection: without watches, and with watches of each largest distance. Every run is a process.
`kept` is the time without watches divided by the time with them, the median of the turns; CPU adds up all threads, and
is more reliable on a busy machine. The events are compared with exact searches for some of the queries.
"""

import random
import shutil
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, Document, Part, SearchOptions
from tests.benchmarks.common import (
    Run,
    any_missed,
    argument_parser,
    gzip_records,
    median,
    median_cpu,
    real,
    rotated,
    run,
    show_table,
    vectors,
    verdict,
)
from tests.benchmarks.synthetic_documents import write_json_lines

HEADS = ("watches within", "events", "index s", "CPU s", "kept", "kept of CPU", "target", "wrong", "")
KEPT = 0.5
"""Target: the share of the speed that remains with watches of near duplicates."""
NONE, NEAR = "none", 0.3
_COMPARED = 20  # watches whose events are compared with searches


def prepare(directory: Path, texts: list[str], watches: int) -> dict[float | str, Path]:
    """Return collections of the first documents, by the largest distance of their watches."""
    first = write_json_lines(directory / "first.jsonl", "first", iter(texts[:watches]))
    write_json_lines(directory / "rest.jsonl", "rest", iter(texts[watches:]))
    run("index", first, "-i", directory / "base", "--embedding", vectors())
    places: dict[float | str, Path] = {}
    for within in (NONE, NEAR, *_DISTANCES):
        places[within] = Path(shutil.copytree(directory / "base", directory / f"watches-{within}"))
        if isinstance(within, float):
            with Collection.open(places[within]) as collection:
                for number, text in enumerate(texts[:watches]):
                    collection.watch(f"w{number}", Document("", parts=(Part(text),)), within, rank="wmd:weights=tf")
    return places


_DISTANCES = (0.5,)


def wrong_events(place: Path, texts: list[str], watches: int, within: float) -> tuple[int, int]:
    """Return the number of all events, and of those of some watches that differ from the hits of exact searches."""
    wrong = 0
    with Collection.open(place) as collection:
        events = collection.events(limit=10**9)
        for number in range(0, watches, max(1, watches // _COMPARED)):
            found = {event.document for event in events if event.watch == f"w{number}"}
            options = SearchOptions(k=len(texts), exact=True, max_distance=within, rank="wmd:weights=tf")
            hits = collection.search(Document("", parts=(Part(texts[number]),)), options).hits
            wrong += len(found ^ {hit.key for hit in hits if hit.key.startswith("rest")})
    return len(events), wrong


def main() -> None:
    """Print the table; exit with 1 if the target is missed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--watches", type=int, default=1000, help="number of watches (1000)")
    parser.add_argument("--documents", type=int, default=0, help="number of documents (all)")
    parser.add_argument("--turns", type=int, default=5, help="runs of each kind (5)")
    arguments = parser.parse_args()
    records = gzip_records(real("data", "20news", "docs.jsonl.gz"))
    texts = [record["text"] for record in records if len(record["text"].split()) > 20]
    random.Random(1).shuffle(texts)  # noqa: S311 - an order, no secret
    texts = texts[: arguments.documents or None]
    with TemporaryDirectory() as name:
        places = prepare(Path(name), texts, arguments.watches)
        runs: dict[float | str, list[Run]] = {within: [] for within in places}
        for turn in range(arguments.turns):
            for within in rotated(list(places), turn):
                copy = Path(name, "copy")
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(places[within], copy)
                runs[within].append(run("index", Path(name, "rest.jsonl"), "-i", copy, "--json"))
                if turn == arguments.turns - 1:
                    shutil.move(copy, Path(name, f"indexed-{within}"))
        rows = [_row(runs, within, Path(name), texts, arguments.watches) for within in places]
    show_table(HEADS, rows)
    sys.exit(any_missed(rows))


def _row(
    runs: dict[float | str, list[Run]], within: float | str, directory: Path, texts: list[str], watches: int
) -> list[object]:
    own, plain = runs[within], runs[NONE]
    cells: list[object] = [within, "", f"{median(own):.2f}", f"{median_cpu(own):.2f}"]
    if not isinstance(within, float):
        return [*cells, *[""] * 5]
    pairs = list(zip(plain, own, strict=True))
    kept = statistics.median(one.seconds / other.seconds for one, other in pairs)
    of_cpu = statistics.median(one.cpu / other.cpu for one, other in pairs)
    cells[1], wrong = wrong_events(directory / f"indexed-{within}", texts, watches, within)
    target, met = (f">= {KEPT}", verdict(kept >= KEPT and not wrong)) if within == NEAR else ("", verdict(not wrong))
    return [*cells, f"{kept:.2f}", f"{of_cpu:.2f}", target, wrong, met]


if __name__ == "__main__":
    main()
