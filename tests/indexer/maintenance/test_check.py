"""`check` reads everything of a collection, and `repair` restores what follows from the rest."""

from pathlib import Path

import pytest

from moverank import Collection, CollectionError
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.maintenance.repair import repair
from tests.indexer.maintenance.damage import DOCUMENTS, check_results
from tests.indexer.stored_state import change_last_byte
from tests.indexer.world import MakeCollection, document, snapshot_above, vectors_in

pytestmark = pytest.mark.usefixtures("always_compact")


def test_an_intact_collection_has_no_faults(any_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_collection(any_directory).sentences() == ()
    snapshot_above(monkeypatch, 256)
    with Collection.open(any_directory) as opened:
        opened.index([document("d3", "bee bee"), document("new", "ant")])
        opened.remove(["d7", "d8"])
    assert check_collection(any_directory).sentences() == ()
    assert repair(any_directory).sentences() == ()


def test_a_collection_without_vectors_yet_has_no_faults(make_collection: MakeCollection) -> None:
    collection = make_collection([document("a", "one")], embedding="train")
    assert check_collection(collection.path).sentences() == ()


def test_a_path_without_a_collection_is_refused(tmp_path: Path) -> None:
    for function in (check_collection, repair):
        with pytest.raises(CollectionError, match="there is no collection in"):
            function(tmp_path)


@pytest.mark.sqlite("damages the file")
def test_a_damaged_database_is_reported_with_advice(directory: Path) -> None:
    path = directory / "collection.db"
    data = bytearray(path.read_bytes())
    data[4096 * 3 : 4096 * 9] = bytes(4096 * 6)
    path.write_bytes(data)
    sentences = check_collection(directory).sentences()
    assert sentences
    assert all(sentence.startswith("the database is damaged") for sentence in sentences)
    assert repair(directory).sentences()
    path.write_bytes(b"no database" * 99)
    (sentence,) = check_collection(directory).sentences()
    assert "put a backup of it in its place" in sentence
    assert repair(directory).sentences() == (sentence,)


@pytest.mark.slow
@pytest.mark.sqlite("damages the file")
def test_a_damaged_database_page_is_one_error_of_a_search(directory: Path) -> None:
    path = directory / "collection.db"
    content = path.read_bytes()
    for page in range(1, len(content) // 4096):
        path.write_bytes(content[: 4096 * page] + bytes(4096) + content[4096 * (page + 1) :])
        try:
            with Collection.open(directory) as opened:
                list(opened.search_many(["ant bee", "cat"], k=3))
                opened.search("ant", k=3)
        except CollectionError as error:
            assert "database" in str(error)  # noqa: PT017 - not every page is read


def test_damaged_vectors_are_reported_and_imported_again(directory: Path) -> None:
    change_last_byte(vectors_in(directory) / "vectors")
    assert any("vectors is damaged" in sentence for sentence in check_collection(directory).sentences())
    assert repair(directory).sentences() == ()
    check_results(directory)
    with Collection.open(directory) as opened:
        assert opened.index(DOCUMENTS).unchanged == len(DOCUMENTS)
