"""Vectors are truth: interruptions lose none, damage is found and mended, exports, copies and migrations keep them."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from moverank import Collection, Document
from moverank.indexer.maintenance.backup import back_up
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.maintenance.repair import repair
from moverank.indexer.reading import read_documents
from moverank.indexer.store import open_store
from moverank.indexer.values.documents import NamedSource, Origin
from tests.indexer.given import candidates_of, documents_with_vectors, nearest, random_vectors
from tests.indexer.stored_state import change_last_byte, only_snapshot
from tests.indexer.world import MakeCollection, snapshot_above

pytestmark = pytest.mark.store

_REPLACE = "UPDATE vectors SET vector = :vector WHERE document_id = 3"
QUERY = random_vectors(1, 42)[0]
DOCUMENTS = documents_with_vectors(30)


@pytest.fixture
def collection(make_collection: MakeCollection, monkeypatch: pytest.MonkeyPatch) -> Collection:
    """Return a collection of documents with vectors, all of them in a snapshot."""
    snapshot_above(monkeypatch, 0)
    return make_collection(DOCUMENTS, first_stage="given")


def _stored(collection: Collection) -> dict[str, object]:
    return {one.key: one.vector for one in collection}


def _execute(collection: Collection, statement: str, vector: bytes | None = None) -> None:
    with closing(open_store(collection.path)) as store, store.migrating() as connection:
        connection.execute(text(statement), {"vector": vector})


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupted_run_keeps_what_was_committed(
    make_collection: MakeCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moverank.indexer.indexing.sync.BATCH", 10)
    collection = make_collection(first_stage="given")

    def interrupted() -> Iterator[Document]:
        yield from DOCUMENTS[:25]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collection.index(interrupted())
    assert _stored(collection) == {one.key: one.vector for one in DOCUMENTS[:20]}
    assert candidates_of(collection, QUERY, 5) == nearest(DOCUMENTS[:20], QUERY, "cosine", 5)
    assert check_collection(collection.path).sentences() == ()
    assert collection.index(DOCUMENTS).added == 10


def test_a_run_that_stops_while_it_writes_the_snapshot_loses_nothing(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = [replace(one, vector=random_vectors(1, 100 + i)[0]) for i, one in enumerate(DOCUMENTS)]
    with monkeypatch.context() as patch:
        patch.setattr("moverank.indexer.snapshot.faiss_index._write", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            collection.index(changed)
    collection.close()
    with Collection.open(collection.path) as opened:
        assert candidates_of(opened, QUERY, 5) == nearest(changed, QUERY, "cosine", 5)
        assert check_collection(opened.path).sentences() == ()
        assert opened.index(changed).unchanged == 30


def test_only_a_changed_vector_is_written(collection: Collection) -> None:
    assert collection.index(DOCUMENTS).unchanged == 30
    changes = collection.index([replace(DOCUMENTS[0], vector=QUERY), *DOCUMENTS[1:]])
    assert (changes.updated, changes.unchanged) == (1, 29)
    (first,) = candidates_of(collection, QUERY, 1)
    assert first == "d0"
    assert collection.index([replace(DOCUMENTS[0], vector=None)]).updated == 1
    assert collection.info()["given_vectors"] == 29
    collection.remove([one.key for one in DOCUMENTS[1:]])
    assert collection.info()["given_vectors"] == collection.info()["given_dim"] == 0


@pytest.mark.parametrize(
    ("vector", "sentence"),
    [
        (bytes(20), "'d2' has a text, title, metadata or vector"),
        (bytes(7), "'d2' has a vector of another dimension"),
        (None, "'d2' has a text, title, metadata or vector"),
    ],
)
def test_a_damaged_vector_is_found_and_written_again(
    collection: Collection, vector: bytes | None, sentence: str
) -> None:
    _execute(collection, _REPLACE if vector else "DELETE FROM vectors WHERE document_id = 3", vector)
    assert any(sentence in found for found in check_collection(collection.path).sentences())
    repair(collection.path)
    collection.refresh()
    origin = Origin(NamedSource("/x", "x"))
    collection.index([replace(one, origin=origin) for one in DOCUMENTS])
    assert check_collection(collection.path).sentences() == ()
    assert _stored(collection) == {one.key: one.vector for one in DOCUMENTS}


@pytest.mark.parametrize("name", ["stage_vectors", "stage_ids", "first_stage.faiss"])
def test_a_damaged_snapshot_is_rebuilt(collection: Collection, name: str) -> None:
    change_last_byte(only_snapshot(collection) / name)
    assert any(name in sentence for sentence in check_collection(collection.path).sentences())
    if name == "stage_vectors":  # the index has vectors of its own
        assert len(collection.search("ant", k=99, rank="vector", vector=QUERY).hits) == 30
    assert candidates_of(collection, QUERY, 5) == nearest(DOCUMENTS, QUERY, "cosine", 5)
    assert check_collection(collection.path).sentences() == ()


@pytest.mark.sqlite("PostgreSQL enforces foreign keys")
def test_an_orphaned_vector_is_found(collection: Collection) -> None:
    with closing(sqlite3.connect(collection.path / "collection.db")) as connection, connection:
        connection.execute("INSERT INTO vectors VALUES (999, zeroblob(20))")
    assert any(
        "vectors belongs to no document" in sentence for sentence in check_collection(collection.path).sentences()
    )


def test_a_snapshot_of_other_vectors_is_reported(collection: Collection) -> None:
    """Its checksums are right, but the database has another vector under the same revision."""
    _execute(collection, _REPLACE, bytes(20))
    sentences = check_collection(collection.path).sentences()
    assert any("first stage has other documents" in sentence for sentence in sentences)


def test_exported_records_make_the_same_collection(collection: Collection, tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    path.write_text("".join(json.dumps(one.to_dict()) + "\n" for one in collection))
    found = list(read_documents([str(path)]))
    assert [one.vector for one in found if isinstance(one, Document)] == [one.vector for one in DOCUMENTS]
    assert collection.index(found, strict=True).unchanged == 30


def test_a_backup_has_the_vectors(collection: Collection, tmp_path: Path) -> None:
    back_up(collection.path, tmp_path / "copy")
    with Collection.open(tmp_path / "copy") as copy:
        assert _stored(copy) == _stored(collection)
        assert candidates_of(copy, QUERY, 5) == nearest(DOCUMENTS, QUERY, "cosine", 5)
    assert check_collection(tmp_path / "copy").sentences() == ()
