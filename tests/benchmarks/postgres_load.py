"""Checks writers and readers of one collection in PostgreSQL whose sessions are ended at random instants.

Each writer owns some documents: each of its revisions gives all of them another text, and a title which names the
revision. Processes of even numbers share one cache of derived files, the others a second, as two machines do. A process
whose session was ended reports one sentence and goes on. Lost: an acknowledged revision that is not there at the end,
unless a later one is. Mixed: documents of one writer with two revisions in one answer. Wrong: a distance that is not
that of the text which the title names, by brute force.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection
from moverank.indexer.errors import CollectionError, ConnectionLost, LockedError
from moverank.indexer.files.location import CACHE
from moverank.indexer.maintenance.check import check_collection
from tests.benchmarks.common import any_missed, argument_parser, show, show_table, verdict
from tests.benchmarks.small_collection import QUERIES, documents
from tests.engines.postgres_server import postgres_server
from tests.indexer.world import WORDS, CollectionFactory, Twin

_WRITERS = _READERS = 4
_OWN = 10  # documents of each writer
_PAUSE = 0.5  # seconds between two ended sessions, on average


def write(url: str, number: int, seconds: float) -> Counter[str]:
    """Write one revision after the other for so long; return what happened, and the last acknowledged revision."""
    seen, revision, until = Counter[str](), 0, time.time() + seconds
    own = range(number * _OWN, (number + 1) * _OWN)
    while time.time() < until or not seen["done"]:
        revision += 1
        try:
            with Collection.open(url, wait=30) as collection:
                collection.index(documents(own, revision), strict=True)
        except (ConnectionLost, LockedError) as error:
            seen[type(error).__name__] += 1
        except Exception as error:  # noqa: BLE001 - counted, whatever it is
            seen["errors"] += 1
            sys.stderr.write(f"writer {number}: {error!r}\n")
        else:
            seen["done"] += 1
            seen["last"] = revision
    return seen


def read(url: str, number: int, seconds: float) -> Counter[str]:
    """Search and refresh for so long; return what happened."""
    expected = {
        (revision, query): Twin.of(documents(range(_WRITERS * _OWN), revision)).distances(query)
        for revision in range(len(WORDS))
        for query in QUERIES
    }
    seen, until = Counter[str](), time.time() + seconds
    while time.time() < until or not seen["done"]:
        try:
            with Collection.open(url) as collection:
                for _ in range(5):
                    collection.refresh()
                    query = QUERIES[(seen["done"] + number) % len(QUERIES)]
                    hits = collection.search(query, k=_WRITERS * _OWN, exact=True).hits
                    titles = {(int(hit.key[1:]) // _OWN, hit.title) for hit in hits}
                    seen["mixed"] += len(titles) != _WRITERS or len(hits) != _WRITERS * _OWN
                    seen["wrong"] += any(
                        abs(expected[int(hit.title) % len(WORDS), query][hit.key] - hit.distance) > 1e-6 for hit in hits
                    )
                    seen["done"] += 1
        except ConnectionLost:
            seen["ConnectionLost"] += 1
        except CollectionError as error:
            seen["errors"] += 1
            sys.stderr.write(f"reader {number}: {error!r}\n")
    return seen


def end_sessions(running: Sequence[subprocess.Popen[str]], seed: int) -> int:
    """End a session at random instants until all processes have ended; return how many were."""
    import psycopg

    rng, ended = random.Random(seed), 0  # noqa: S311 - instants
    with psycopg.connect(autocommit=True) as connection:
        while any(process.poll() is None for process in running):
            time.sleep(rng.expovariate(1 / _PAUSE))
            others = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            ).fetchall()
            if others:
                connection.execute("SELECT pg_terminate_backend(%s)", rng.choice(others))
                ended += 1
    return ended


def main() -> None:
    """Run writers, readers and the end of sessions; print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--process", nargs=4, metavar=("KIND", "URL", "NUMBER", "SECONDS"), help="for its own use")
    arguments = parser.parse_args()
    if arguments.process:
        kind, url, number, seconds = arguments.process
        seen = (write if kind == "writer" else read)(url, int(number), float(seconds))
        show(json.dumps(seen))
        return
    with TemporaryDirectory() as name, postgres_server() as variables:
        os.environ |= variables | {CACHE: str(Path(name) / "cache-0")}
        url = f"postgresql://postgres@/postgres?host={variables['PGHOST']}&schema=load"
        with Collection.create(url, CollectionFactory(Path(name)).settings()) as collection:
            collection.index(documents(range(_WRITERS * _OWN), 0))
        rows = report(url, Path(name), arguments.seconds, arguments.seed)
    sys.exit(any_missed(rows))


def report(url: str, directory: Path, seconds: float, seed: int) -> list[list[object]]:
    """Run all processes, compare the collection with what was acknowledged, and print the table."""
    running = []
    for kind, number in [("writer", i) for i in range(_WRITERS)] + [("reader", i) for i in range(_READERS)]:
        environment = os.environ | {CACHE: str(directory / f"cache-{number % 2}")}
        command = [sys.executable, __file__, "--process", kind, url, str(number), str(seconds)]
        running.append((kind, number, subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)))
    ended = end_sessions([process for *_, process in running], seed)
    rows: list[list[object]] = []
    for kind, number, process in running:
        output = process.communicate(timeout=120)[0]
        seen = Counter(json.loads(output)) if process.returncode == 0 else Counter(errors=1)
        lost = _lost(url, number, seen["last"]) if kind == "writer" else 0
        faults = seen["errors"] + seen["mixed"] + seen["wrong"] + lost
        counts = (seen[each] for each in ("done", "ConnectionLost", "LockedError", "errors", "mixed", "wrong"))
        rows.append([f"{kind} {number}", *counts, lost, verdict(faults == 0 and seen["done"] > 0)])
    show(f"{ended} sessions were ended; each process ran for {seconds:.0f} s")
    heads = ["process", "revisions or answers", "connection lost", "locked", "errors", "mixed", "wrong", "lost", ""]
    show_table(heads, rows)
    with Collection.open(url) as collection:
        sentences = check_collection(collection.path).sentences()
    show("; ".join(sentences) or "nothing is wrong with the collection")
    return rows


def _lost(url: str, number: int, last: int) -> int:
    """Return how many documents of a writer have an older revision than the last acknowledged one, or two of them."""
    with Collection.open(url) as collection:
        found = [document for document in collection if int(document.key[1:]) // _OWN == number]
    return sum(int(document.title) < last or document.title != found[0].title for document in found)


if __name__ == "__main__":
    main()
