"""Collections in a real PostgreSQL: locks, lost connections, several machines, copies, and what users see."""

import json
import os
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from moverank import Collection, Document, Part
from moverank.indexer.errors import CollectionError, ConnectionLost, LockedError, UsageError
from moverank.indexer.files.location import CACHE, URL_FILE, collection_directory, display_name, without_passwords
from moverank.indexer.maintenance.backup import copy_collection
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.plugins.postgres.database import postgres_engine
from moverank.indexer.store import Store
from moverank.rerank.ranking import Ranking
from tests.contracts.documentation import PAGES, examples
from tests.contracts.example_files import write_files
from tests.engines.cutting_proxy import cutting_proxy
from tests.indexer.store.rows import document_row
from tests.indexer.world import CollectionFactory, Twin, check_exact, document, random_documents

pytestmark = pytest.mark.usefixtures("postgres")
QUERY = "ant bee cat"


def _end_sessions(schema_url: str, but: int = 0) -> int:
    """End all sessions of other connections, as an administrator may; return how many."""
    with closing(Store(schema_url)) as store, store.writing() as writer:
        ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid NOT IN (pg_backend_pid(), %s)"
        return int(writer.rows.connection.exec_driver_sql(ended, (but,)).scalar_one())


def _same(one: Ranking, other: Ranking) -> bool:
    first, second = (
        [(hit.key, str(hit.distance), hit.scored, hit.total) for hit in each.hits] for each in (one, other)
    )
    return first == second


def test_searches_are_exact_on_the_same_and_on_another_machine(
    forum: Collection, schema_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = Twin.of(random_documents(30)).distances(QUERY)
    check_exact(forum.search(QUERY, k=7), expected, 7)
    monkeypatch.setenv(CACHE, str(tmp_path / "another machine"))
    with Collection.open(schema_url) as there:
        check_exact(there.search(QUERY, k=7), expected, 7)
        there.index([document("new", QUERY)])
    forum.refresh()
    assert forum.search(QUERY, k=1).hits[0].key == "new"
    assert check_collection(forum.path).sentences() == ()
    assert forum.path != collection_directory(schema_url)


def test_a_reading_machine_compacts_its_own_files(
    forum: Collection, schema_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE, str(tmp_path / "another machine"))
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 10)
    with Collection.open(schema_url) as reader:
        reader.search("ant")
        first = [path.name for path in reader.path.glob("snapshot-*")]
        forum.index(random_documents(60, seed=4))
        forum.remove(["d1"])
        reader.refresh()
        twin = Twin.of(random_documents(60, seed=4))
        del twin.documents["d1"]
        check_exact(reader.search(QUERY, k=9), twin.distances(QUERY), 9)
        assert [path.name for path in reader.path.glob("snapshot-*")] != first


@pytest.mark.usefixtures("forum")
def test_the_writer_is_named_and_others_wait(schema_url: str) -> None:
    with closing(Store(schema_url)) as store, closing(Store(schema_url)) as other, store.locked():
        with (
            pytest.raises(
                LockedError, match=rf"process {os.getpid()} on .* is writing to the database: try again .*--wait"
            ),
            other.locked(),
        ):
            pass
        with pytest.raises(LockedError, match=r"try again when it is done$"), other.locked(0.3):
            pass
        with store.locked():  # again by the same store
            pass
    with closing(Store(schema_url)) as other, other.locked():
        pass


def test_a_writer_whose_lock_was_lost_changes_nothing(schema_url: str, forum: Collection) -> None:
    with closing(Store(schema_url)) as store, store.locked(), store.reading() as reader:
        own = reader.rows.number("SELECT pg_backend_pid()")
        assert _end_sessions(schema_url, own)
        with pytest.raises(ConnectionLost, match="nothing was changed"), store.writing() as writer:
            writer.add_documents([document_row("late")])
    assert "late" not in forum


def test_a_session_that_is_ended_within_a_transaction_loses_only_that(schema_url: str, forum: Collection) -> None:
    def insert_and_lose() -> None:
        with closing(Store(schema_url)) as store, store.writing() as writer:
            writer.add_documents([document_row("half")])
            _kill(writer.rows.number("SELECT pg_backend_pid()"))
            writer.next_revision()

    with pytest.raises(ConnectionLost, match="what was not committed was not changed; run it again"):
        insert_and_lose()
    forum.refresh()
    assert "half" not in forum
    assert len(forum) == 30


def _kill(process: int) -> None:
    import psycopg

    with psycopg.connect(host=os.environ["PGHOST"], user="postgres", dbname="postgres", autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s)", (process,))


def test_a_search_after_a_lost_connection_is_repeated(schema_url: str, forum: Collection) -> None:
    before = forum.search(QUERY, k=5)
    assert _end_sessions(schema_url)
    assert _same(forum.search(QUERY, k=5), before)


def test_copies_answer_alike(forum: Collection, schema_url: str, tmp_path: Path) -> None:
    forum.index([Document("long", "Title", (Part("ant dog", 0), Part("bee", 1)), "x", {"n": 1.5, "l": ["a"]})])
    forum.remove(["d3"])
    there, back = tmp_path / "file.index", schema_url + "_copy"
    assert copy_collection(schema_url, there) == copy_collection(there, back) == 3
    with Collection.open(there) as file, Collection.open(back) as database:
        for rank in ("wmd", "pwmd", "bm25", "rwmd+0.5*bm25"):
            assert _same(file.search(QUERY, k=9, rank=rank), forum.search(QUERY, k=9, rank=rank))
            assert _same(database.search(QUERY, k=9, rank=rank), forum.search(QUERY, k=9, rank=rank))
        assert list(file) == list(database) == list(forum)
        database.index([document("after", "ant")])  # ids are not used twice
        assert len(database) == len(forum) + 1
    for target in (there, back):
        with pytest.raises(CollectionError, match="already"):
            copy_collection(schema_url, target)
        assert check_collection(collection_directory(target)).sentences() == ()


def test_hits_have_their_whole_texts(forum: Collection) -> None:
    hits = forum.search(QUERY, k=5, full=True).hits
    texts = {document.key: document.parts[0].text for document in random_documents(30)}
    assert [hit.text for hit in hits] == [texts[hit.key] for hit in hits]


def test_an_empty_schema_is_no_collection(schema_url: str) -> None:
    assert not Collection.exists(schema_url)
    with pytest.raises(CollectionError, match="there is no collection in postgresql://postgres@/postgres"):
        Collection.open(schema_url)


def test_keys_begin_with_a_prefix_by_code_points(forum: Collection) -> None:
    forum.index([document(key, "ant") for key in ("b1", "B1", "é1", "b_2", "b-2")])
    with forum.reading() as reader:
        assert reader.keys_beginning("b", 9) == ["b-2", "b1", "b_2"]


def test_passwords_stay_in_a_file_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE, str(tmp_path))
    directory = collection_directory("postgresql://ada:secret@db.example/forum?schema=help")
    assert directory.name.startswith("help-")
    assert display_name(directory) == "postgresql://ada@db.example/forum?schema=help"
    command = "moverank search x -i postgresql://ada:secret@db/forum"
    assert without_passwords(command) == "moverank search x -i postgresql://ada@db/forum"
    assert (directory / URL_FILE).stat().st_mode & 0o777 == 0o600
    assert collection_directory("postgresql://ada:other@db.example/forum?schema=help") == directory
    with pytest.raises(UsageError, match=r"postgresql://ada@db/x\?schema=a-b: the schema must be one name"):
        collection_directory("postgresql://ada:secret@db/x?schema=a-b")


def test_a_server_that_is_not_there_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE, str(tmp_path))
    with pytest.raises(CollectionError, match="the database cannot be reached: connection") as caught:
        Collection.open(f"postgresql://postgres@/postgres?host={tmp_path}")
    assert "\n" not in str(caught.value)


def test_the_command_line_takes_a_url(schema_url: str, factory: CollectionFactory, tmp_path: Path) -> None:
    texts = tmp_path / "texts.jsonl"
    texts.write_text("".join(json.dumps({"id": f"t{i}", "text": "ant bee"}) + "\n" for i in range(3)))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "moverank", "--cache", str(tmp_path / "other"), *arguments, "-i", schema_url]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    made = run("index", str(texts), "--embedding", str(factory.vectors))
    assert (made.returncode, made.stdout.split()[0]) == (0, "3"), made.stderr
    found = json.loads(run("search", "ant", "--json", "-k", "2").stdout)
    assert [hit["key"] for hit in found["hits"]] == ["t0", "t1"]
    assert run("check").stdout.strip() == "nothing is wrong"
    assert json.loads(run("backup", str(tmp_path / "saved"), "--json").stdout)["revision"] == 1
    assert json.loads(run("remove", "t0", "--json").stdout)["removed"] == 1
    with Collection.open(tmp_path / "saved") as saved:
        assert len(saved) == 3
    with suppress(FileNotFoundError):
        assert not list((tmp_path / "cache").iterdir())  # `--cache` named another


def test_the_lines_of_the_manual_run(schema_url: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    (block,) = [one.text for one in examples(PAGES["postgresql"]) if one.info == "shell postgres"]
    url_of_manual = "postgresql://ada@db.example/texts?schema="
    own = schema_url.partition("schema=")[0] + "schema="
    for line in block.splitlines():
        command = line.replace(url_of_manual, own).replace("moverank ", f"{sys.executable} -m moverank ", 1)
        found = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S602
        assert found.returncode == 0, f"{line}\n{found.stdout}{found.stderr}"


@pytest.mark.usefixtures("forum")
def test_a_collection_is_opened_by_one_session(schema_url: str, tmp_path: Path) -> None:
    texts = tmp_path / "texts.jsonl"
    texts.write_text(json.dumps({"id": "new", "text": "ant"}) + "\n")
    with cutting_proxy() as proxy:
        there = schema_url.replace(os.environ["PGHOST"], str(proxy.directory))
        for command, sessions in ((["search", "ant"], 1), (["index", str(texts)], 2), (["check"], 1)):  # 1 for the lock
            proxy.arm(0, delivered=False)
            done = subprocess.run(
                [sys.executable, "-m", "moverank", *command, "-i", there], capture_output=True, check=False
            )
            assert (done.returncode, proxy.sessions) == (0, sessions), done.stderr


def test_a_commit_that_was_not_acknowledged_is_looked_up(schema_url: str, forum: Collection) -> None:
    with cutting_proxy() as proxy:
        there = schema_url.replace(os.environ["PGHOST"], str(proxy.directory))
        with Collection.open(there) as cut:
            before, number = cut.search(QUERY, k=5), 0
            while not (number and not proxy.has_cut):  # one message later each time, until it is not reached
                number += 1
                proxy.arm(number, delivered=True)
                key = f"cut-{number}"
                try:
                    cut.index([document(key, "ant")], upkeep=False)
                except ConnectionLost:
                    with Collection.open(schema_url) as direct:
                        assert key not in direct
                else:
                    with Collection.open(schema_url) as direct:
                        assert direct.get(key) is not None
    assert before.hits
    assert check_collection(forum.path).sentences() == ()


def test_connections_notice_that_the_machine_of_the_database_is_gone(schema_url: str) -> None:
    engine = postgres_engine(f"{schema_url}&tcp_user_timeout=5000")
    with engine.connect() as connection:
        options = connection.connection.dbapi_connection.info.get_parameters()  # type: ignore[union-attr]
    engine.dispose()
    assert (options["keepalives_idle"], options["keepalives_count"]) == ("15", "3")
    assert options["tcp_user_timeout"] == "5000"
