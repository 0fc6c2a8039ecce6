"""Transactions in a real PostgreSQL last as long as work, and migrations name who holds them up."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection
from moverank.indexer.errors import CollectionError, ConnectionLost, LockedError
from moverank.indexer.files.location import collection_directory, display_name
from moverank.indexer.files.writer_lock import locked
from moverank.indexer.maintenance.upgrade import upgrade
from moverank.indexer.state import open_state
from moverank.indexer.store import Store
from moverank.indexer.store.engines import ConnectionRows
from tests.indexer.store.next_schema import add_next_schema
from tests.indexer.world import document
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("postgres")
QUERY = "ant bee cat"


@contextmanager
def _session(schema_url: str) -> Iterator[Any]:
    import psycopg

    address, _, schema = schema_url.partition("&schema=")
    with psycopg.connect(address, autocommit=True, application_name="a reader") as session:
        session.execute(f'SET search_path TO "{schema}"')
        yield session


def _open_transactions(schema_url: str) -> Sequence[Any]:
    found = "SELECT pid, state FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid()"
    with _session(schema_url) as session:
        return list(session.execute(found + " AND application_name LIKE 'moverank%'"))


def test_nothing_is_open_between_searches(forum: Collection, schema_url: str) -> None:
    expected = forum.search(QUERY, k=5).hits
    assert _open_transactions(schema_url) == []
    many = forum.search_many([QUERY] * 3, k=5)
    assert [one.hits for one in islice(many, 1)] == [expected]
    assert len(_open_transactions(schema_url)) == 1  # until the last is read
    assert [one.hits for one in many] == [expected] * 2
    assert _open_transactions(schema_url) == []
    assert forum.search(QUERY, k=5).hits == expected
    del many, expected
    abandoned = forum.search_many([QUERY] * 3, k=5)
    abandoned.close()  # type: ignore[attr-defined]
    assert _open_transactions(schema_url) == []


def test_a_state_that_others_have_changed_is_opened_again(forum: Collection, schema_url: str) -> None:
    assert forum.search(QUERY, k=1).hits
    with Collection.open(schema_url) as other:
        other.index([document("new", QUERY)])
    assert forum.search(QUERY, k=1).hits[0].key == "new"


@pytest.mark.usefixtures("forum")
def test_a_session_that_the_server_ends_for_its_idleness_is_a_lost_connection(schema_url: str) -> None:
    limited = f"{schema_url}&options=-cidle_in_transaction_session_timeout%3D200"
    with Collection.open(limited) as opened:
        searching = opened.search_many([QUERY] * 999, k=2, exact=True)
        assert next(searching).hits
        wait_until(lambda: not _open_transactions(schema_url))
        with pytest.raises(ConnectionLost):
            list(searching)
        assert opened.search(QUERY, k=2).hits


@pytest.mark.parametrize("lost_at", range(3))
def test_a_connection_that_is_lost_between_searches_is_made_again(
    forum: Collection, schema_url: str, monkeypatch: pytest.MonkeyPatch, lost_at: int
) -> None:
    """Wherever it is lost while the transaction begins again."""
    expected = forum.search(QUERY, k=3).hits
    real, seen = ConnectionRows.all, list[str]()

    def losing(self: ConnectionRows, statement: str, **values: Any) -> Any:
        seen.append(statement)
        if len(seen) == lost_at + 1:
            with _session(schema_url) as session:
                ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'moverank%'"
                session.execute(ended)
        return real(self, statement, **values)

    monkeypatch.setattr(ConnectionRows, "all", losing)
    assert forum.search(QUERY, k=3).hits == expected
    assert len(seen) > lost_at


def test_work_without_a_pause_moves_to_another_transaction(forum: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    """One search after another, always one running: later ones begin on a state of their own."""
    monkeypatch.setattr(open_state, "LONGEST", 0.05)
    states = forum._states  # noqa: SLF001
    with states.current() as first:

        def has_moved() -> bool:
            states.refresh()
            return states.state is not first

        wait_until(has_moved)
        assert first.reader.document_count() == 30  # who uses it keeps it


def test_the_database_is_named_as_locked(forum: Collection, schema_url: str) -> None:
    with locked(forum.path), pytest.raises(LockedError, match="is writing to postgresql://") as caught:
        forum.index([document("new", QUERY)])
    assert str(forum.path) not in str(caught.value)
    assert display_name(collection_directory(schema_url)) in str(caught.value)


def test_a_migration_names_the_reader_that_holds_it_up(
    forum: Collection, schema_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forum.close()
    place = collection_directory(schema_url)
    add_next_schema(monkeypatch, tmp_path)
    with pytest.raises(CollectionError, match=r"has schema 0.2.0, .* `moverank upgrade"):
        Collection.open(schema_url)
    with _session(schema_url) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM documents")
        with pytest.raises(LockedError, match=r"used by a reader \(process \d+ of the database, idle in transaction"):
            upgrade(place)
        assert upgrade(place, dry_run=True) == ("0.2.0", ("0.9.0",))
        with ThreadPoolExecutor(1) as pool:
            migrating = pool.submit(upgrade, place, wait=60.0)
            with _session(schema_url) as other:  # others read meanwhile, within the two seconds
                assert other.execute("SELECT count(*) FROM documents").fetchone() == (30,)
            reader.execute("COMMIT")
            assert migrating.result() == ("0.2.0", ("0.9.0",))
    with closing(Store(schema_url)) as store, store.reading() as stored:
        assert stored.document_count() == 30
