"""Creating a collection: all of it or nothing, and never over the files of others."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from moverank import Collection, CollectionError, UsageError, VectorsError
from tests.indexer.world import CollectionFactory, interrupted


def test_a_new_collection_is_empty(tmp_path: Path, factory: CollectionFactory) -> None:
    path = tmp_path / "deep" / "forum.index"
    assert not Collection.exists(path)
    with Collection.create(path, factory.settings()) as created:
        assert created.info()["documents"] == created.info()["revision"] == 0
    assert Collection.exists(path)
    with Collection.open(str(path)) as opened:
        assert opened.settings == replace(factory.settings(), normalize=False, phrases="")


def test_a_directory_holds_one_collection(collection: Collection, factory: CollectionFactory) -> None:
    with pytest.raises(CollectionError, match="holds a collection already: open it, or choose another place"):
        Collection.create(collection.path, factory.settings())
    assert collection.info()["documents"] == 0


@pytest.mark.sqlite("a cache may hold other files")
def test_files_of_others_are_left_alone(tmp_path: Path, factory: CollectionFactory) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CollectionError, match=r"holds thesis\.txt and no collection: choose another place"):
        Collection.create(tmp_path, factory.settings())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(CollectionError, match="cannot be made: "):
        Collection.create(tmp_path / "thesis.txt", factory.settings())
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.sqlite("a cache may hold other files")
def test_a_directory_named_vectors_is_not_taken_for_a_leftover(tmp_path: Path, factory: CollectionFactory) -> None:
    (tmp_path / "vectors").mkdir()
    (tmp_path / "vectors" / "mine.txt").write_text("years of work")
    with pytest.raises(CollectionError, match="holds vectors and no collection"):
        Collection.create(tmp_path, factory.settings())
    assert (tmp_path / "vectors" / "mine.txt").read_text() == "years of work"


@pytest.mark.sqlite("the directory of one in a database is a cache")
@pytest.mark.parametrize(
    ("choices", "error"),
    [
        ({"embedding": "absent.bin"}, VectorsError),
        ({"weights": "bm25"}, UsageError),
        ({"gamma": -1.0}, UsageError),
        ({"first_stage": "magic"}, UsageError),
        ({"faiss": "nonsense"}, UsageError),
        ({"embedding": "lsi", "train_options": ("colour=red",)}, UsageError),
        ({"train_options": ("dim=5",)}, UsageError),
    ],
)
def test_a_failure_leaves_nothing_behind(
    tmp_path: Path, factory: CollectionFactory, choices: dict[str, Any], error: type[Exception]
) -> None:
    path = tmp_path / "new"
    with pytest.raises(error) as caught:
        Collection.create(path, replace(factory.settings(), **choices))
    assert "\n" not in str(caught.value)
    assert not path.exists()


@pytest.mark.sqlite("the directory of one in a database is a cache")
def test_an_interruption_leaves_nothing_behind(
    tmp_path: Path, factory: CollectionFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moverank.indexer.store.Writer.set_settings", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Collection.create(tmp_path / "new", factory.settings())
    assert list(tmp_path.iterdir()) == []


def test_an_unfinished_collection_is_created_again(tmp_path: Path, factory: CollectionFactory) -> None:
    (tmp_path / "new-collection.db").write_bytes(b"half")
    assert not Collection.exists(tmp_path)
    with Collection.create(tmp_path, factory.settings()) as created:
        assert created.info()["documents"] == 0
    assert not (tmp_path / "new-collection.db").exists()


def test_a_collection_that_is_being_written_to_is_not_discarded(collection: Collection) -> None:
    with FileLock(collection.path / "lock"):
        collection.discard()
    assert Collection.exists(collection.path)


@pytest.mark.sqlite("the directory of one in a database is a cache")
def test_an_empty_collection_is_discarded_with_its_directory(collection: Collection) -> None:
    collection.discard()
    assert not collection.path.exists()
