"""Opening a collection's directory, with its database and its word vectors."""

from pathlib import Path

import pytest

from moverank import Collection, CollectionError, VectorsError
from tests.indexer.world import CollectionFactory


@pytest.mark.parametrize("content", [None, "empty directory", "a file"])
def test_a_path_without_a_collection_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "x"
    if content == "a file":
        path.write_text("")
    elif content:
        path.mkdir()
    with pytest.raises(CollectionError, match=r"there is no collection in .*: make one with `moverank index") as caught:
        Collection.open(path)
    assert "\n" not in str(caught.value)
    assert content or not path.exists()


@pytest.mark.sqlite("replaces the file")
def test_a_file_that_is_no_database_is_refused(collection: Collection) -> None:
    collection.close()
    for log in collection.path.glob("collection.db-*"):
        log.unlink()
    (collection.path / "collection.db").write_text("no database " * 99)
    with pytest.raises(CollectionError, match="damaged or not one of ours") as caught:
        Collection.open(collection.path)
    assert "\n" not in str(caught.value)


@pytest.mark.sqlite("a shared database has the vectors itself")
def test_missing_vectors_are_refused(collection: Collection) -> None:
    (collection.path / "vectors").rename(collection.path / "elsewhere")
    with pytest.raises(VectorsError, match="holds no word vectors"):
        Collection.open(collection.path)


@pytest.mark.sqlite("a shared database has the vectors itself")
def test_vectors_of_another_collection_are_refused(
    collection: Collection, factory: CollectionFactory, tmp_path: Path
) -> None:
    other = tmp_path / "other.txt"
    other.write_text(factory.vectors.read_text().replace("ant", "ann"))
    Collection.create(tmp_path / "other", factory.settings(embedding=str(other))).close()
    (collection.path / "vectors").rename(collection.path / "elsewhere")
    (tmp_path / "other" / "vectors").rename(collection.path / "vectors")
    with pytest.raises(CollectionError, match="holds other word vectors than the collection was made with"):
        Collection.open(collection.path)
