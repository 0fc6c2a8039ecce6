"""The first stage in the database follows every change, in the same transaction; `check` is the oracle of its rows."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from moverank import Collection, Document, Part
from moverank.indexer.errors import CollectionError, IndexerError, UsageError
from moverank.indexer.files.location import collection_directory
from moverank.indexer.maintenance.backup import copy_collection
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.maintenance.repair import repair
from moverank.indexer.pgvector import table_upkeep
from moverank.indexer.pgvector.fits import FitRecord
from moverank.indexer.store import Store
from tests.contracts.documentation import PAGES, examples
from tests.contracts.example_files import write_files
from tests.indexer.world import WORDS, CollectionFactory, document, random_documents

psycopg = pytest.importorskip("psycopg", reason="needs the extra `postgres`")

Make = Callable[..., Collection]
QUERY = "ant bee cat"


@pytest.fixture
def make(schema_url: str, factory: CollectionFactory) -> Iterator[Make]:
    """Make empty collections in PostgreSQL, whose first stage is there."""
    opened: list[Collection] = []

    def created(**choices: Any) -> Collection:
        settings = factory.settings(**({"first_stage_in": "database"} | choices))
        opened.append(Collection.create(schema_url, settings))
        return opened[-1]

    yield created
    for collection in opened:
        collection.close()


def record_of(collection: Collection) -> FitRecord | None:
    """Return what the database says about its first stage."""
    with collection.reading() as reader:
        return FitRecord.of(reader.settings())


def tables(url: str) -> list[str]:
    """Return the names of all tables of vectors."""
    return execute(url, "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename ~ '^stage_'")


def execute(url: str, statement: str) -> list[Any]:
    """Execute a statement; return the first column of its rows, if it has any."""
    with closing(Store(url, migrated=False)) as store, store.writing() as writer:
        found = writer.rows.connection.exec_driver_sql(statement)
        return list(found.scalars()) if found.returns_rows else []


def intact(collection: Collection) -> bool:
    """Return whether the vectors are those of all documents, and nothing else is wrong."""
    assert check_collection(collection.path).sentences() == ()
    return record_of(collection) is not None


def in_database(collection: Collection) -> bool:
    """Return whether the database chooses the candidates of a search: it makes no files of documents."""
    collection.refresh()
    collection.search(QUERY, depth=5, k=2, rank="wmd")
    return not list(collection.path.glob("snapshot-*"))


def test_vectors_follow_each_change(make: Make) -> None:
    collection = make(gamma=0.5, title_weight=2)
    assert intact(collection)  # of no document
    rng = np.random.default_rng(5)
    for _ in range(12):
        changed = [
            Document(
                f"d{rng.integers(40)}",
                " ".join(rng.choice([*WORDS, "zorp"], 2)),
                tuple(Part(" ".join(rng.choice([*WORDS, "zorp"], 3)), int(rng.integers(4))) for _ in range(3)),
            )
            for _ in range(15)
        ]
        collection.index([*changed, document("wordless", "zorp quux")], upkeep=bool(rng.integers(2)))
        gone = rng.choice(list(collection.keys()), 3, replace=False).tolist()
        collection.remove(gone)
        assert intact(collection)
    collection.index(changed, prune=True, confirmed=True)
    assert intact(collection)
    assert in_database(collection)


def test_a_failed_transaction_leaves_documents_and_vectors(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = make()
    collection.index(random_documents(30))
    before = record_of(collection)

    def fail(*_: Any) -> None:
        raise RuntimeError("full")

    with monkeypatch.context() as patch:
        patch.setattr(table_upkeep, "totals_of", fail)
        with pytest.raises(RuntimeError):
            collection.index(random_documents(60, seed=3))
    collection.refresh()
    assert len(collection) == 30
    assert record_of(collection) == before
    assert intact(collection)


@pytest.mark.usefixtures("always_compact")
@pytest.mark.parametrize(
    ("settings", "changed"),
    [
        ({"first_stage": "fisher", "first_stage_options": ("k=2", "dim=2")}, {"first_stage": "lsi"}),
        ({"weights": "tfidf"}, {"weights": "tf"}),
        ({}, {"gamma": 1.0}),
        ({}, {"title_weight": 5}),
        ({}, {"faiss": "HNSW4"}),
    ],
)
def test_a_fit_makes_a_new_table(
    make: Make, schema_url: str, settings: dict[str, Any], changed: dict[str, Any]
) -> None:
    collection = make(**settings)
    collection.index(random_documents(60, "dog"))
    collection.index(random_documents(90, "fox"))
    assert intact(collection)
    first = record_of(collection)
    collection.refit()
    second = record_of(collection)
    assert first
    assert second
    assert first.table.name != second.table.name
    assert intact(collection)
    options: dict[str, Any] = (
        {"first_stage_options": ("dim=3", "words=100")} if changed.get("first_stage") == "lsi" else {}
    )
    collection.change_settings(**changed, **options)
    assert intact(collection)
    assert in_database(collection)
    assert tables(schema_url) == [record_of(collection).table.name]  # type: ignore[union-attr]
    assert len(list(collection.path.glob("stage_*"))) == 1


def test_an_encoder_that_learns_waits_for_documents(make: Make) -> None:
    collection = make(first_stage="fisher", first_stage_options=("k=2", "dim=2"))
    collection.index(random_documents(30))
    assert record_of(collection) is None
    assert len(collection.search(QUERY, depth=5, k=5).hits) == 5
    collection.index(random_documents(400, seed=2))
    assert intact(collection)
    collection.index(random_documents(450, seed=2))  # by the same encoder
    assert intact(collection)


def test_new_word_vectors_bring_new_document_vectors(
    make: Make, schema_url: str, factory: CollectionFactory, tmp_path: Path
) -> None:
    collection = make()
    collection.index(random_documents(40))
    other = tmp_path / "other.txt"
    lines = factory.vectors.read_text().splitlines()
    other.write_text("\n".join([f"{len(WORDS) - 1} 4", *lines[1:-1]]) + "\n")
    collection.refit(embedding=str(other))
    assert intact(collection)
    assert in_database(collection)
    assert len(tables(schema_url)) == 1


def test_trained_vectors_bring_document_vectors(make: Make) -> None:
    collection = make(embedding="lsi", train_options=("dim=4", "min_count=1"))
    collection.index(random_documents(20))
    assert collection.has_vectors
    assert intact(collection)
    collection.index(random_documents(300, seed=1))
    assert intact(collection)


def test_the_choice_can_be_taken_back(make: Make, schema_url: str) -> None:
    collection = make()
    collection.index(random_documents(30))
    collection.change_settings(first_stage_in="files")
    assert tables(schema_url) == []
    assert not in_database(collection) or len(collection) < 256
    collection.change_settings(first_stage_in="database")
    assert intact(collection)


def test_an_open_reader_keeps_its_table(make: Make, schema_url: str) -> None:
    collection = make()
    collection.index(random_documents(60))
    with Collection.open(schema_url) as reader:
        before = reader.search(QUERY, depth=20, k=9, rank="wmd")
        collection.index(random_documents(60, seed=8))
        collection.refit()
        assert len(tables(schema_url)) == 2
        again = reader.search(QUERY, depth=20, k=9, rank="wmd")
        assert [hit.distance for hit in again.hits] == [hit.distance for hit in before.hits]
        reader.refresh()
        assert reader.search(QUERY, depth=20, k=9).hits != before.hits
        assert in_database(reader)
    collection.remove(["d1"])  # its upkeep drops what nobody reads
    assert len(tables(schema_url)) == 1


def test_readers_and_fits_at_the_same_time(make: Make, schema_url: str) -> None:
    collection = make()
    collection.index(random_documents(60))
    stopped = Event()

    def search() -> int:
        done = 0
        with Collection.open(schema_url) as reader:
            while not stopped.is_set():
                reader.refresh()
                assert len(reader.search(QUERY, depth=20, k=9, rank="wmd").hits) == 9
                assert not list(reader.path.glob("snapshot-*"))
                done += 1
        return done

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(search) for _ in range(2)]
        try:
            for seed in range(8):
                collection.index(random_documents(60, seed=seed))
                collection.refit()
        finally:
            stopped.set()
        assert all(reader.result() > 3 for reader in readers)
    assert intact(collection)


def test_changes_by_a_version_without_it_are_caught_up(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = make()
    collection.index(random_documents(30))
    with monkeypatch.context() as patch:
        patch.setattr(table_upkeep.TableUpkeep, "follow", lambda *_, **__: None)
        collection.index(random_documents(50, seed=2))
        collection.remove(["d3"])
    (fault,) = check_collection(collection.path).sentences()
    assert "revision 1: a version without it wrote later ones" in fault
    assert len(collection.search(QUERY, depth=5, k=5).hits) == 5  # of the database's documents, by files
    collection.index([document("new", "ant")])
    assert intact(collection)


DAMAGE = {
    "DELETE FROM {table} WHERE mod(document_id, 7) = 0": r"has no vector in the database's first stage, and \d+ more",
    "UPDATE {table} SET vector = '[9,9,9,9]' WHERE document_id = 3": "'d2' has a wrong vector or length",
    "UPDATE {table} SET tokens = '' WHERE document_id = 3": "'d2' has a wrong vector or length",
    "INSERT INTO {table} VALUES (999, '', NULL)": "999 is the id of a vector without a document",
    "DROP TABLE {table}": "the database has no table stage_",
    "DROP INDEX {table}_hnsw": "has no valid index",
    "DELETE FROM files WHERE folder = '{table}'": "does not have the encoder of stage_",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_check_finds_damage_and_repair_mends_it(make: Make, schema_url: str, damage: str) -> None:
    collection = make(faiss="HNSW4")
    collection.index(random_documents(300))
    before = collection.search(QUERY, depth=300, k=9, rank="wmd")
    (table,) = tables(schema_url)
    collection.refresh()  # gives the table free
    execute(schema_url, f'SET search_path = "{schema_url.rpartition("=")[2]}", public; ' + damage.format(table=table))
    for folder in collection.path.glob("stage_*"):
        shutil.rmtree(folder)
    faults = check_collection(collection.path).sentences()
    assert any(re.search(DAMAGE[damage], fault) for fault in faults), faults
    assert repair(collection.path).sentences() == ()
    collection.refresh()
    after = collection.search(QUERY, depth=300, k=9, rank="wmd")
    assert [hit.key for hit in after.hits] == [hit.key for hit in before.hits]
    assert in_database(collection)


def test_copies(make: Make, schema_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    collection = make(first_stage="fisher", first_stage_options=("k=2", "dim=2"), weights="tfidf")
    collection.index(random_documents(300))
    collection.index(random_documents(330))  # by the encoder of the first fit
    there, back = f"{schema_url}_copy", tmp_path / "file.index"
    copy_collection(schema_url, there)
    with Collection.open(there) as other:
        assert intact(other)
        found, expected = (each.search(QUERY, depth=30, k=9, rank="wmd") for each in (other, collection))
        assert found.hits == expected.hits
        assert in_database(other)
    assert not caplog.messages
    copy_collection(schema_url, back)
    assert caplog.messages == ["the copy is a directory: its first stage is in files, not in a database"]
    with Collection.open(back) as file:
        assert file.settings.first_stage_in == "files"
        assert file.info()["database_stage"] is None
        assert check_collection(back).sentences() == ()


@pytest.mark.sqlite("a directory is one of the choices")
def test_wrong_choices_are_one_sentence(
    schema_url: str, factory: CollectionFactory, tmp_path: Path, make: Make
) -> None:
    def refused(error: type[Exception], words: str, url: str = schema_url, **choices: Any) -> None:
        with pytest.raises(error, match=words):
            Collection.create(url, factory.settings(**({"first_stage_in": "database"} | choices)))
        assert not Collection.exists(url)

    refused(UsageError, "needs a collection in PostgreSQL", str(tmp_path / "file"))
    refused(UsageError, "has no index 'SQ8': faiss is Flat", faiss="SQ8")
    refused(UsageError, "has no index 'HNSW101'", faiss="HNSW101")
    refused(UsageError, "leave the scorer out of --first-stage centroid\\+bm25", first_stage="centroid+bm25")
    refused(UsageError, "the first stage is in files or the database, not in 'cloud'", first_stage_in="cloud")
    collection = make()
    with pytest.raises(UsageError, match="has no index"):
        collection.change_settings(faiss="LSH")
    collection.refresh()
    assert collection.settings.faiss == "auto"
    assert intact(collection)


def with_vectors(n: int, dim: int) -> list[Document]:
    """Return random documents with random vectors."""
    rng = np.random.default_rng(3)
    return [
        Document(one.key, "", one.parts, vector=tuple(rng.standard_normal(dim).tolist()))
        for one in random_documents(n, words=12)
    ]


def test_long_vectors_are_halved_for_an_index_only(make: Make) -> None:
    collection = make(first_stage="given")
    collection.index(with_vectors(400, 2400))
    assert collection.info()["database_stage"] == "vector(2400), exact order"
    query = np.random.default_rng(1).standard_normal(2400).tolist()
    exact = collection.search(QUERY, vector=query, depth=40, k=40, rank="wmd")
    collection.change_settings(faiss="HNSW16")
    assert collection.info()["database_stage"] == "halfvec(2400), HNSW16"
    assert intact(collection)
    found = collection.search(QUERY, vector=query, depth=40, k=40, rank="wmd")
    assert len({hit.key for hit in found.hits} & {hit.key for hit in exact.hits}) >= 36


def test_vectors_that_are_too_long_for_an_index_change_nothing(make: Make) -> None:
    collection = make(first_stage="given", faiss="HNSW")
    with pytest.raises(UsageError, match="pgvector indexes 4,000 numbers at most, those of given have 4,800"):
        collection.index(with_vectors(10, 4800))
    assert len(collection) == 0
    collection.change_settings(faiss="Flat")
    collection.index(with_vectors(10, 4800))
    assert collection.info()["database_stage"] == "vector(4800), exact order"
    assert intact(collection)


def test_given_vectors_may_be_lost_and_come_again(make: Make) -> None:
    collection = make(first_stage="given")
    collection.index(with_vectors(20, 5))
    assert collection.info()["database_stage"] == "vector(5), exact order"
    collection.index([document(one.key, one.parts[0].text) for one in with_vectors(20, 5)])
    assert check_collection(collection.path).sentences() == ()
    assert record_of(collection) is None
    collection.index(with_vectors(10, 7))
    assert collection.info()["database_stage"] == "vector(7), exact order"
    assert intact(collection)


def test_a_lost_table_is_one_sentence(make: Make, schema_url: str) -> None:
    collection = make()
    collection.index(random_documents(20))
    execute(schema_url, f"DROP TABLE {tables(schema_url)[0]}")
    for change in (lambda: collection.index([document("new", "ant")]), lambda: collection.search(QUERY, depth=5, k=5)):
        with pytest.raises(IndexerError, match=r"has no table stage_\w+ of the first stage: `moverank check --repair`"):
            change()
    assert repair(collection.path).sentences() == ()
    collection.index([document("new", "ant")])
    assert intact(collection)


def test_a_server_without_pgvector_is_one_sentence(schema_url: str, factory: CollectionFactory) -> None:
    host = schema_url.partition("host=")[2].partition("&")[0]
    with psycopg.connect(host=host, user="postgres", dbname="postgres", autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS bare")
        connection.execute("CREATE DATABASE bare")
    bare = f"postgresql://postgres@/bare?host={host}&schema=forum"
    settings = factory.settings(first_stage_in="database")
    with pytest.raises(CollectionError, match="an administrator adds it with CREATE EXTENSION vector"):
        Collection.create(bare, settings)
    assert not Collection.exists(bare)
    with Collection.create(bare, factory.settings()) as collection:
        collection.index(random_documents(3))
        with pytest.raises(CollectionError, match="CREATE EXTENSION vector"):
            collection.change_settings(first_stage_in="database")
        collection.refresh()
        assert collection.settings.first_stage_in == "files"
    assert check_collection(collection_directory(bare)).sentences() == ()


def test_pgvector_may_be_in_any_schema(schema_url: str, factory: CollectionFactory) -> None:
    host = schema_url.partition("host=")[2].partition("&")[0]
    with psycopg.connect(host=host, user="postgres", dbname="postgres", autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS elsewhere")
        connection.execute("CREATE DATABASE elsewhere")
    with psycopg.connect(host=host, user="postgres", dbname="elsewhere", autocommit=True) as connection:
        connection.execute('CREATE SCHEMA "Ext ensions"')
        connection.execute('CREATE EXTENSION vector SCHEMA "Ext ensions"')
    url = f"postgresql://postgres@/elsewhere?host={host}&schema=forum"
    with Collection.create(url, factory.settings(first_stage_in="database", faiss="HNSW8")) as collection:
        collection.index(random_documents(300))
        assert collection.info()["database_stage"] == "vector(4), HNSW8"
        assert intact(collection)
        assert in_database(collection)


def test_the_command_line(schema_url: str, factory: CollectionFactory, tmp_path: Path) -> None:
    texts = tmp_path / "texts.jsonl"
    rows = [{"id": one.key, "text": one.parts[0].text, "year": i} for i, one in enumerate(random_documents(40))]
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "moverank", *arguments, "-i", schema_url]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("index", str(texts), "--embedding", str(factory.vectors), "--setting", "first_stage_in=database")
    info = json.loads(run("info", "--json"))
    assert (info["first_stage_in"], info["database_stage"]) == ("database", "vector(4), exact order")
    found = json.loads(run("search", "ant", "--depth", "9", "-k", "2", "--where", "year>30", "--json"))
    assert all(hit["metadata"]["year"] > 30 for hit in found["hits"])
    assert run("check").strip() == "nothing is wrong"
    assert not list(collection_directory(schema_url).glob("snapshot-*"))


def test_the_coverage_is_counted_with_the_vectors(make: Make, factory: CollectionFactory) -> None:
    collection, file = make(title_weight=3), factory.empty(title_weight=3)
    documents = [Document(f"d{i}", "ant zorp", (Part("bee quux of", 0), Part("cat " * (i % 3), 1))) for i in range(40)]
    with file:
        for one in (collection, file):
            one.index(documents)
            one.remove(["d3", "d4"])
        assert collection.coverage == file.coverage


def test_the_lines_of_the_manual_run(schema_url: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    (block,) = [one.text for one in examples(PAGES["postgresql"]) if one.info == "shell pgvector"]
    own = schema_url.partition("schema=")[0] + "schema="
    for line in block.splitlines():
        command = line.replace("postgresql://ada@db.example/texts?schema=", own)
        command = command.replace("moverank ", f"{sys.executable} -m moverank ", 1)
        found = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S602
        assert found.returncode == 0, f"{line}\n{found.stdout}{found.stderr}"
