"""`check` finds whatever does not agree, and `--repair` mends what follows from the rest."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moverank import Collection, CollectionError, LockedError
from moverank.indexer.files.checksums import file_checksums
from moverank.indexer.files.directory import locked
from moverank.indexer.maintenance import check, repair
from moverank.indexer.snapshot.first_stage import build
from moverank.indexer.store import Store
from tests.indexer.world import Twin, Workshop, check_exact, document, random_documents, snapshots

pytestmark = pytest.mark.usefixtures("always_compact")

Make = Callable[..., Collection]
_DOCUMENTS = [
    document(found.key, found.parts[0].text, "ant zorp", title="T", label="x", metadata={"year": 3, "tags": ["a", 1.5]})
    for found in random_documents(30)
]


@pytest.fixture(params=[{}, {"weights": "tfidf"}, {"faiss": "IVF2,Flat"}, {"gamma": 0.5}])
def whole(request: pytest.FixtureRequest, make: Make) -> Collection:
    """A collection of several kinds, with a tail behind its snapshot."""
    collection = make(**request.param)
    collection.index(_DOCUMENTS)
    return collection


def _execute(place: Path, *statements: str) -> None:
    connection = sqlite3.connect(place / "collection.db")
    for statement in statements:
        assert connection.execute(statement).rowcount
    connection.commit()
    connection.close()


def test_nothing_is_wrong_with_a_whole_collection(whole: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(whole.path).told() == ()
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 256)
    whole.index([document("d3", "bee bee"), document("new", "ant")])
    whole.remove(["d7", "d8"])
    assert check(whole.path).told() == ()
    assert repair(whole.path).told() == ()


def test_a_collection_without_vectors_yet(make: Make) -> None:
    collection = make(embedding="train")
    collection.index([document("a", "one")])
    assert check(collection.path).told() == ()


_FAULTS = {
    "UPDATE words SET frequency = frequency + 1 WHERE word = 'ant'": "'ant' is a word with a wrong number of documents",
    "UPDATE words SET row = 0 WHERE word = 'zorp'": "'zorp' is a word with the vector of another, or wrongly with none",
    "UPDATE words SET row = -1 WHERE word = 'bee'": "'bee' is a word with the vector of another, or wrongly with none",
    "UPDATE documents SET wordless = 1 WHERE key = 'd5'": "'d5' is wrongly said to have known words, or none",
    "UPDATE parts SET counts = x'00' WHERE document_id = 2": "'d1' has word counts that cannot be",
}
_LOST = {
    "UPDATE parts SET text = 'other' WHERE document_id = 2": "'d1' has a part that is not what was indexed",
    "UPDATE documents SET title = 'other' WHERE key = 'd1'": "'d1' has a text, title or metadata that is not",
    "UPDATE fields SET value = 'y' WHERE document_id = 2 AND name = 'label'": "'d1' is not found by its label",
    "DELETE FROM parts WHERE document_id = 2": "'d1' has no text",
}


@pytest.mark.parametrize(("statement", "told"), _FAULTS.items())
def test_what_follows_from_the_texts_is_mended(collection: Collection, statement: str, told: str) -> None:
    collection.index(_DOCUMENTS)
    collection.close()
    _execute(collection.path, statement)
    assert any(sentence.startswith(told) for sentence in check(collection.path).told())
    assert repair(collection.path).told() == ()
    _right(collection.path)


@pytest.mark.parametrize(("statement", "told"), _LOST.items())
def test_a_damaged_text_is_written_again_by_the_next_run(collection: Collection, statement: str, told: str) -> None:
    collection.index(_DOCUMENTS)
    collection.close()
    _execute(collection.path, statement)
    assert any(sentence.startswith(told) for sentence in check(collection.path).told())
    assert repair(collection.path).told()
    with Collection.open(collection.path) as opened:
        assert opened.index(_DOCUMENTS).updated == 1
    assert check(collection.path).told() == ()
    _right(collection.path)


def test_many_of_a_kind_are_one_sentence(collection: Collection) -> None:
    collection.index(_DOCUMENTS)
    collection.close()
    _execute(collection.path, "UPDATE documents SET wordless = 1")
    assert check(collection.path).told() == ("'d0' is wrongly said to have known words, or none, and 29 more",)


def test_rows_that_belong_to_nothing(collection: Collection) -> None:
    collection.index(_DOCUMENTS)
    collection.close()
    _execute(collection.path, "INSERT INTO fields VALUES (999, 'a', 'b')")
    assert any("belongs to no document" in sentence for sentence in check(collection.path).told())


def test_a_damaged_database_says_what_to_do(collection: Collection) -> None:
    collection.index(_DOCUMENTS)
    collection.close()
    path = collection.path / "collection.db"
    data = bytearray(path.read_bytes())
    data[4096 * 3 : 4096 * 9] = bytes(4096 * 6)
    path.write_bytes(data)
    told = check(collection.path).told()
    assert told
    assert all(sentence.startswith("the database is damaged") for sentence in told)
    assert repair(collection.path).told()
    path.write_bytes(b"no database" * 99)
    (sentence,) = check(collection.path).told()
    assert "put a backup of it in its place" in sentence
    assert repair(collection.path).told() == (sentence,)


def test_damage_below_a_search_is_one_sentence(make: Make) -> None:
    collection = make()
    collection.index(_DOCUMENTS)
    collection.close()
    path = collection.path / "collection.db"
    whole = path.read_bytes()
    for page in range(1, len(whole) // 4096):
        path.write_bytes(whole[: 4096 * page] + bytes(4096) + whole[4096 * (page + 1) :])
        try:
            with Collection.open(collection.path) as opened:
                list(opened.search_many(["ant bee", "cat"], k=3))
                opened.search("ant", k=3)
        except CollectionError as error:
            assert "database" in str(error)  # noqa: PT017 - not every page is read


def test_no_collection(tmp_path: Path) -> None:
    for ask in (check, repair):
        with pytest.raises(CollectionError, match="there is no collection in"):
            ask(tmp_path)


def test_only_one_repairs(collection: Collection) -> None:
    collection.index(_DOCUMENTS)
    collection.close()
    _execute(collection.path, next(iter(_FAULTS)))
    with locked(collection.path), pytest.raises(LockedError, match="is writing to"):
        repair(collection.path)


def test_a_damaged_snapshot(whole: Collection) -> None:
    (name,) = snapshots(whole)
    for file in ("weights", "encoder.npz", "first_stage.faiss", "vectors"):
        path = whole.path / name / file
        path.write_bytes(path.read_bytes()[:-1] + b"\x55")
        (sentence,) = check(whole.path).told()
        assert f"{path} has another checksum" in sentence
        assert repair(whole.path).told() == ()
        _right(whole.path)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("weights", "its bags are not those of the documents"),
        ("counts", "its bags are not those of the documents"),
        ("vectors", "its word vectors are others"),
        ("ids", "documents are missing in it"),
    ],
)
def test_a_sealed_snapshot_of_something_else(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, fault: str, told: str
) -> None:
    with monkeypatch.context() as patch:

        def spoil(directory: Path) -> Any:
            kind = {"weights": "<f8", "counts": "<i4", "vectors": "<f4", "ids": "<i8"}[fault]
            array = np.fromfile(directory / fault, kind)
            array[0] += 1
            array.tofile(directory / fault)
            return file_checksums(directory)

        patch.setattr("moverank.indexer.snapshot.snapshot_files.file_checksums", spoil)
        collection.index(_DOCUMENTS)
    assert any(told in sentence for sentence in check(collection.path).told())
    assert repair(collection.path).told() == ()


def test_a_first_stage_of_something_else(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(
            "moverank.indexer.snapshot.first_stage.build",
            lambda name, ids, vectors, path: build(name, ids, -vectors, path),
        )
        collection.index(_DOCUMENTS)
    assert any("the vectors of its first stage are not" in sentence for sentence in check(collection.path).told())
    assert repair(collection.path).told() == ()


def test_damaged_vectors_are_imported_again(collection: Collection) -> None:
    collection.index(_DOCUMENTS)
    collection.close()
    path = collection.path / "vectors" / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x55")
    assert any("vectors.npy is damaged" in sentence for sentence in check(collection.path).told())
    assert repair(collection.path).told() == ()
    _right(collection.path)


@pytest.mark.parametrize("change", ["gone", "other"])
def test_vectors_whose_source_is_gone_are_told(make: Make, workshop: Workshop, tmp_path: Path, change: str) -> None:
    source = tmp_path / "own.txt"
    shutil.copy(workshop.vectors, source)
    collection = make(embedding=str(source))
    collection.index(_DOCUMENTS)
    collection.close()
    source.unlink()
    if change == "other":
        source.write_text("ant 1 2\nbee 3 4\n")
    (collection.path / "vectors" / "embedding.json").unlink()
    told = repair(collection.path).told()
    assert any("this was not mended" in sentence for sentence in told)
    assert not list(collection.path.glob(".vectors*"))


def test_trained_vectors_are_trained_again(make: Make) -> None:
    collection = make(embedding="lsi", train_options=("dim=2",))
    collection.index(_DOCUMENTS)
    collection.close()
    before = [hit.key for hit in collection.search("ant bee", k=5).hits]
    collection.close()
    shutil.rmtree(collection.path / "vectors")
    assert repair(collection.path).told() == ()
    with Collection.open(collection.path) as opened:
        assert [hit.key for hit in opened.search("ant bee", k=5).hits] == before


def _right(place: Path) -> None:
    twin = Twin()
    twin.add(_DOCUMENTS)
    with Collection.open(place) as opened:
        twin.weights = opened.settings.weights
        gamma = opened.settings.gamma
        check_exact(opened.search("ant bee cat", k=20), twin.distances("ant bee cat", gamma=gamma), 20)
        assert opened.search("ant", k=3, depth=5).hits


def test_the_auditor_of_another_database_has_no_pragma(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.auditing() as auditor:
        assert auditor.faults() == []
        monkeypatch.setattr(auditor._connection.dialect, "name", "other")  # noqa: SLF001 - there is no other here
        assert auditor.faults() == []
