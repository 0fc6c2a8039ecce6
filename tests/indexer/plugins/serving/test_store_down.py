"""A server whose database is gone or may not be written: what it says, and that it comes back."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moverank.indexer.files.location import CACHE, TRUSTED
from tests.indexer.plugins.serving.conftest import make_collection
from tests.indexer.plugins.serving.running import RunningServer, descendants
from tests.postgres_store import database_in
from tests.waiting import HUNG, wait_until


def _becomes(server: RunningServer, status: int) -> None:
    wait_until(lambda: server.ask("/ready").status == status)


@pytest.fixture
def pets(tmp_path: Path) -> Iterator[tuple[RunningServer, Path]]:
    index = make_collection(tmp_path)
    server = RunningServer("-i", index, log=tmp_path / "log")
    yield server, index / "collection.db"
    assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()


def _removed(database: Path) -> Callable[[], object]:
    aside = database.rename(database.with_name("aside"))
    return lambda: aside.rename(database)


@pytest.mark.sqlite("removes the file")
def test_a_server_is_not_ready_while_its_file_is_gone(pets: tuple[RunningServer, Path]) -> None:
    server, database = pets
    _becomes(server, 200)
    undo = _removed(database)
    _becomes(server, 503)
    assert server.ask("/ready").json["detail"] == "not ready: pets"
    assert server.ask("/health").status == 200
    undo()
    _becomes(server, 200)
    assert server.ask("/collections/pets/search", {"query": "dog"}).status == 200


HASTY = """
import signal, sys
from moverank.indexer.files.location import collection_directory
from moverank.indexer.plugins.serving import served, workers
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.values.search_options import ServeOptions
from moverank.indexer.plugins.serving.run_server import run_server
def end(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, end)
served._HANGS, workers._SPARE = 1, 1
place = {"pets": collection_directory(sys.argv[1])}
run_server(place, ServeOptions(port=0), Limits(seconds=2), lambda url: print("serving at", url))
"""


@pytest.mark.usefixtures("postgres")
def test_a_database_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It and its sessions are stopped, and go on: requests are answered, and the server is ready again."""
    import psycopg

    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setenv(TRUSTED, str(tmp_path))
    url = database_in(tmp_path / "pets.index")
    make_collection(tmp_path)
    server = RunningServer(url, log=tmp_path / "log", program=HASTY)
    _becomes(server, 200)
    late = "/collections/pets/documents/late"
    assert server.ask(f"{late}?wait=true", {"text": "dog"}, method="PUT").status == 200
    processes = [server.process.pid, *descendants(server.process.pid)]
    named, sessions = [f"moverank process {process} on %" for process in processes], set[int]()
    try:
        with psycopg.connect(host=os.environ["PGHOST"], autocommit=True) as connection:
            query = "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int"
            [(postmaster,)] = connection.execute(query).fetchall()
            os.kill(postmaster, signal.SIGSTOP)
            sessions.add(postmaster)
            until = time.monotonic() + HUNG
            while server.ask("/ready").status == 200 and time.monotonic() < until:  # it may be opening another one
                query = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE ANY(%s)"
                found = connection.execute(query, [named])
                for (session,) in {*found} - {(one,) for one in sessions}:
                    os.kill(session, signal.SIGSTOP)
                    sessions.add(session)
                time.sleep(0.2)
        assert server.ask("/ready").json["detail"] == "not ready: pets"
        assert server.ask("/health").status == 200
        reply = server.ask("/collections/pets/documents")
        assert (reply.status, reply.json["detail"]) == (504, "the work on the request hangs: it was given up")
        reply = server.ask(late, {"text": "dog and cat"}, method="PUT")
        assert reply.status == 504
        assert reply.json["detail"].startswith("the database does not answer: the change is made as a whole or not")
    finally:
        for session in sessions:
            os.kill(session, signal.SIGCONT)
    _becomes(server, 200)
    assert server.ask("/collections/pets/documents").json["total"] == 5
    assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()


@pytest.mark.usefixtures("postgres")
def test_a_user_without_rights_gets_a_403(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even after another user has opened the same collection on this machine."""
    import psycopg

    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setenv(TRUSTED, str(tmp_path))
    url = database_in(tmp_path / "pets.index")
    make_collection(tmp_path)
    schema = url.partition("schema=")[2]
    with psycopg.connect(host=os.environ["PGHOST"], autocommit=True) as connection:
        for statement in (
            "CREATE ROLE onlyreads LOGIN",
            f"GRANT USAGE ON SCHEMA {schema} TO onlyreads",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO onlyreads",
        ):
            connection.execute(statement)
    server = RunningServer("-i", f"pets={url.replace('postgres@', 'onlyreads@')}", log=tmp_path / "log")
    try:
        reply = server.ask("/collections/pets/documents/new", {"text": "red wine"}, method="PUT")
        assert (reply.status, reply.json["error"]) == (403, "NoPermission")
        assert reply.json["detail"].startswith("the user of this server has no right to change")
        assert server.ask("/collections/pets/search", {"query": "dog"}).status == 200
    finally:
        assert server.stop() == 0
    assert "permission denied for table" in server.log.read_text()
    assert "Traceback" not in server.log.read_text()
