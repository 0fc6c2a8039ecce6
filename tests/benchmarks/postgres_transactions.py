"""Two processes use a collection in PostgreSQL for an hour, beside idle readers: no transaction outlives a request.

One process writes a revision each second, one searches; a third searched once and keeps the collection open, and a
server is asked once in ten seconds. Sampled ten times a second: the oldest transaction of all of them. At the end,
VACUUM removes the rows that were replaced, and a made-up next schema meets a session that reads the tables, which the
error names within the two seconds that a migration waits, then none, so that it succeeds.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import pytest

from moverank import Collection
from moverank.indexer.errors import LockedError
from moverank.indexer.files.location import CACHE, collection_directory
from moverank.indexer.maintenance.upgrade import upgrade
from tests.benchmarks.common import any_missed, argument_parser, show, show_table, verdict
from tests.benchmarks.small_collection import QUERIES, documents
from tests.engines.postgres_server import postgres_server
from tests.indexer.plugins.serving.running import RunningServer
from tests.indexer.store.next_schema import NEXT, add_next_schema
from tests.indexer.world import CollectionFactory

_DOCUMENTS = 200
_OLDEST = (
    "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float FROM pg_stat_activity "
    "WHERE application_name LIKE 'moverank%' AND pid <> pg_backend_pid()"
)
_DEAD = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE schemaname = 'hour' AND relname = 'documents'"


def work(kind: str, url: str, seconds: float) -> float:
    """Write or search once a second for so long; return the longest time that it took in seconds."""
    until, number, longest = time.time() + seconds, 0, 0.0
    with Collection.open(url) as collection:
        while time.time() < until:
            began, number = time.perf_counter(), number + 1
            if kind == "writer":
                collection.index(documents(range(_DOCUMENTS), number), strict=True)
            elif kind == "idle":
                collection.search(QUERIES[0], k=5)
                time.sleep(max(0.0, until - time.time()))
                continue
            else:
                collection.search(QUERIES[number % len(QUERIES)], k=5, exact=True)
            longest = max(longest, time.perf_counter() - began)
            time.sleep(max(0.0, 1 - (time.perf_counter() - began)))
    return longest


def watched(connection: Any, url: str, seconds: float, server: RunningServer) -> list[list[object]]:
    """Run the processes, and return the rows of the transactions."""
    command = [sys.executable, __file__, "--process"]
    running = {
        kind: subprocess.Popen([*command, kind, url, str(seconds)], stdout=subprocess.PIPE, text=True)
        for kind in ("writer", "reader", "idle")
    }
    oldest, asked, longest = 0.0, 0.0, 0.0
    while any(process.poll() is None for process in running.values()):
        (age,) = connection.execute(_OLDEST).fetchone()
        oldest = max(oldest, age)
        if time.time() - asked > 10:
            asked = time.time()
            assert server.ask("/collections/hour/search?q=ant").status == 200
            longest = max(longest, time.time() - asked)
        time.sleep(0.1)
    taken = {kind: float(process.communicate()[0] or "nan") for kind, process in running.items()}
    most = max(longest, *taken.values())
    connection.execute("VACUUM hour.documents")
    (dead,) = connection.execute(_DEAD).fetchone()
    return [
        ["longest request, s", f"{most:.2f}", ""],
        ["oldest transaction, s", f"{oldest:.2f}", verdict(oldest <= most + 0.2)],
        ["rows that VACUUM cannot remove", dead, verdict(dead == 0)],
    ]


def migrated(connection: Any, url: str, folder: Path) -> list[list[object]]:
    """Return the rows of a migration beside a reader, and alone."""
    add_next_schema(pytest.MonkeyPatch(), folder)
    place = collection_directory(url)
    connection.autocommit = False
    connection.execute("SELECT count(*) FROM hour.documents")
    began = time.perf_counter()
    try:
        upgrade(place)
        sentence = "it was not held up"
    except LockedError as error:
        sentence = str(error)
    waited = time.perf_counter() - began
    named = re.search(r"used by (\S+)", sentence)
    connection.commit()
    before, steps = upgrade(place)
    return [
        ["migration beside a reader names it, s", f"{waited:.1f}", verdict(named is not None and waited < 4)],
        [f"then from {before} to", ", ".join(steps), verdict(steps == (NEXT,))],
    ]


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0, help="of the work (3600)")
    parser.add_argument("--process", nargs=3, metavar=("KIND", "URL", "SECONDS"), help="for its own use")
    arguments = parser.parse_args()
    if arguments.process:
        kind, url, seconds = arguments.process
        show(str(work(kind, url, float(seconds))))
        return
    import psycopg

    with TemporaryDirectory() as name, postgres_server() as variables:
        os.environ |= variables | {CACHE: str(Path(name) / "cache")}
        url = f"postgresql://postgres@/postgres?host={variables['PGHOST']}&schema=hour"
        with Collection.create(url, CollectionFactory(Path(name)).settings()) as collection:
            collection.index(documents(range(_DOCUMENTS), 0))
        address = url.partition("&schema=")[0]
        with psycopg.connect(address, autocommit=True, application_name="reader") as connection:
            server = RunningServer("-i", url, log=Path(name) / "log", fresh=True)
            try:
                rows = watched(connection, url, arguments.seconds, server)
            finally:
                server.stop()
            rows += migrated(connection, url, Path(name))
    show_table(["", "", "target"], rows)
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
