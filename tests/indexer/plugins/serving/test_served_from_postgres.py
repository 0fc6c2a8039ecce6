"""A collection in PostgreSQL that is served, while sessions of the database are ended."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from moverank.indexer.files.location import CACHE, TRUSTED
from tests.indexer.plugins.serving.conftest import make_collection
from tests.indexer.plugins.serving.running import RunningServer
from tests.postgres_store import database_in
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("postgres")
_SEARCH = "/collections/pets/search"
_QUERY = {"query": "dog", "k": 2}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    """Serve a collection in PostgreSQL by its URL, with two processes."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setenv(TRUSTED, str(tmp_path))
    url = database_in(tmp_path / "pets.index")
    make_collection(tmp_path)
    running = RunningServer("-i", f"pets={url}", "--processes", "2", log=tmp_path / "log")
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log.read_text()


def _end_sessions() -> int:
    """End all sessions of the server and its processes, as an administrator may; return how many."""
    import psycopg

    ended = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE application_name LIKE 'moverank process%' AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(host=os.environ["PGHOST"], autocommit=True) as connection:
        row = connection.execute(ended).fetchone()
    return int(row[0]) if row else 0


def test_searches_go_on_when_sessions_are_ended(served: RunningServer) -> None:
    before = served.ask(_SEARCH, _QUERY).json["hits"]
    ended = 0
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            answers = pool.map(lambda _: served.ask(_SEARCH, _QUERY), range(12))
            ended += _end_sessions()
            for answer in answers:
                assert answer.status == 200, answer.body
                assert answer.json["hits"] == before
    assert ended
    # A check of the database may have lost two connections in a row.
    wait_until(lambda: served.ask("/ready").status == 200)
    assert served.ask("/collections/pets/documents").json["total"] == 4
    assert served.ask("/?q=dog").status == 200
    assert 'moverank_revision{collection="pets"} 1.0' in served.ask("/metrics").body.decode()


def test_changes_go_on_after_sessions_are_ended(served: RunningServer) -> None:
    for number in range(3):
        path = f"/collections/pets/documents/n{number}"
        assert served.ask(path, {"text": "red wine"}, method="PUT").json["added"] == 1
        assert _end_sessions()
        assert served.ask(path, {"text": "red wine"}, method="PUT").json["unchanged"] == 1
    assert served.ask("/collections/pets/documents/n0", method="DELETE").json["removed"] == 1
    # Whichever process answers.
    wait_until(lambda: all(served.ask("/collections/pets").json["revision"] >= 5 for _ in range(20)))
    assert served.ask(_SEARCH, {"query": "red wine", "k": 1}).json["hits"][0]["key"] in ("n1", "n2")
