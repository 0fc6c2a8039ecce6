"""Replacing the word vectors of a collection: by those of a file without reading a text, or by training again."""

from pathlib import Path
from typing import Any

import pytest

from moverank import Collection, UsageError, VectorsError
from moverank.indexer.maintenance.backup import back_up
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.vectors.lsi_training import OWN_DIMENSIONS
from tests.indexer.maintenance.damage import execute
from tests.indexer.stored_state import vector_rows
from tests.indexer.world import (
    NO_VECTOR,
    WORDS,
    CollectionFactory,
    MakeCollection,
    Twin,
    check_exact,
    document,
    interrupted,
    random_documents,
    record_counted_texts,
)

_TEXTS = [*random_documents(12, "ant zorp", seed=3), document("none", "quux")]
_QUERY = "ant bee fox"


@pytest.fixture
def expected() -> dict[str, float]:
    """The distances with the vectors of the factory's file, computed by POT."""
    return Twin.of(_TEXTS).distances(_QUERY)


@pytest.fixture
def trained(make_collection: MakeCollection) -> Collection:
    return make_collection(_TEXTS, embedding="lsi", train_options=("dim=3",))


def _folders(collection: Collection) -> list[str]:
    return sorted(path.name for path in collection.path.iterdir() if "vectors" in path.name)


@pytest.mark.parametrize("compacted", [False, True])
def test_imported_vectors_replace_trained_ones_without_a_text(
    trained: Collection,
    factory: CollectionFactory,
    expected: dict[str, float],
    monkeypatch: pytest.MonkeyPatch,
    compacted: bool,
) -> None:
    if compacted:
        trained.refit()
    execute(trained.path, "UPDATE parts SET text = 'lost'")
    texts = record_counted_texts(monkeypatch)
    trained.refit(embedding=str(factory.vectors))
    assert texts == []
    assert (trained.settings.embedding, trained.settings.train_options) == (str(factory.vectors), ())
    assert trained.settings.normalize is False
    check_exact(trained.search(_QUERY, k=20), expected, 20)
    with Collection.open(trained.path) as opened:
        assert opened.settings == trained.settings
        check_exact(opened.search(_QUERY, k=20), expected, 20)
        assert (opened.info()["wordless"], opened.info()["known_words"]) == (1, len(WORDS))
    assert {word: row for word, row in vector_rows(trained).items() if row < 0} == dict.fromkeys(NO_VECTOR, -1)
    assert len(_folders(trained)) == 1


def test_a_collection_is_intact_afterwards_and_can_be_copied(
    trained: Collection, factory: CollectionFactory, expected: dict[str, float], tmp_path: Path
) -> None:
    trained.refit(embedding=str(factory.vectors))
    assert check_collection(trained.path).sentences() == ()
    back_up(trained.path, tmp_path / "copy")
    with Collection.open(tmp_path / "copy") as copy:
        check_exact(copy.search(_QUERY, k=20), expected, 20)
    trained.index([*_TEXTS, document("later", "ant bee fox")])
    assert trained.search(_QUERY, k=1).hits[0].key == "later"


def test_trained_vectors_replace_imported_ones(make_collection: MakeCollection) -> None:
    collection, fresh = make_collection(), make_collection(embedding="lsi", train_options=("dim=3",))
    for each in (collection, fresh):
        each.index(_TEXTS)
    assert collection.coverage != 1.0
    collection.refit(embedding="lsi", train_options=["dim=3"])
    assert (collection.settings, collection.coverage) == (fresh.settings, 1.0)
    check_exact(collection.search(_QUERY, k=20), {hit.key: hit.distance for hit in fresh.search(_QUERY, k=20).hits}, 20)


def test_training_on_demand_keeps_method_and_options_unless_others_are_named(trained: Collection) -> None:
    trained.refit(vectors=True)
    assert (trained.settings.embedding, trained.settings.train_options) == ("lsi", ("dim=3",))
    assert trained.embedding.dim == 3 + OWN_DIMENSIONS
    trained.refit(vectors=True, train_options=["dim=2"], normalize=False)
    assert (trained.settings.normalize, trained.embedding.dim) == (False, 2 + OWN_DIMENSIONS)
    trained.refit(embedding="train", train_options=["dim=5", "epochs=1"])
    assert (trained.settings.embedding, trained.settings.normalize, trained.embedding.dim) == ("train", False, 5)


def test_invalid_choices_change_nothing(trained: Collection, factory: CollectionFactory, tmp_path: Path) -> None:
    before, folders = trained.search(_QUERY, k=20).hits, _folders(trained)
    bad = tmp_path / "bad.txt"
    bad.write_text("ant 1 2\nbee nan 3\n")
    for error, choices in (
        (VectorsError, {"embedding": str(bad)}),
        (VectorsError, {"embedding": ""}),
        (UsageError, {"embedding": "lsi", "train_options": ["dimm=3"]}),
        (UsageError, {"embedding": str(factory.vectors), "train_options": ["dim=3"]}),
        (UsageError, {"normalize": True}),
        (VectorsError, {"vectors": True, "train_options": ["min_count=99999"]}),
    ):
        arguments: dict[str, Any] = choices
        with pytest.raises(error) as caught:
            trained.refit(**arguments)
        assert "\n" not in str(caught.value)
    assert (trained.search(_QUERY, k=20).hits, _folders(trained)) == (before, folders)
    trained.refit(embedding=str(factory.vectors))
    with pytest.raises(UsageError, match="not trained on the texts"):
        trained.refit(vectors=True)


@pytest.mark.parametrize("step", ["imported_vectors", "assign_rows"])
def test_an_interrupted_change_leaves_the_old_vectors(
    trained: Collection, factory: CollectionFactory, step: str
) -> None:
    before = trained.search(_QUERY, k=20).hits
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"moverank.indexer.indexing.vectors_change.{step}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            trained.refit(embedding=str(factory.vectors))
    with Collection.open(trained.path) as opened:
        assert opened.search(_QUERY, k=20).hits == before
    assert len(_folders(trained)) == 1
    assert check_collection(trained.path).sentences() == ()


@pytest.mark.sqlite("an open collection in PostgreSQL follows the changes of others")
@pytest.mark.usefixtures("always_compact")
def test_open_readers_keep_their_vectors_until_they_refresh(
    trained: Collection, factory: CollectionFactory, expected: dict[str, float]
) -> None:
    with Collection.open(trained.path) as searched, Collection.open(trained.path) as opened:
        before = searched.search(_QUERY, k=20).hits
        trained.refit(embedding=str(factory.vectors))
        assert searched.search(_QUERY, k=20).hits == before
        assert [hit.distance for hit in searched.search("gnu hen", k=3, depth=9).hits]
        check_exact(opened.search(_QUERY, k=20), expected, 20)  # its first search opens the state of now
        searched.refresh()
        check_exact(searched.search(_QUERY, k=20), expected, 20)


def test_mutual_proximity_does_not_mix_two_sets_of_vectors(
    trained: Collection, make_collection: MakeCollection, factory: CollectionFactory
) -> None:
    """Its distances from a sample are kept in a file."""
    rank = "wmd:proximity=empirical"
    trained.search(_QUERY, rank=rank)
    assert list(trained.path.glob("sample-*"))
    trained.refit(embedding=str(factory.vectors))
    fresh = make_collection(_TEXTS)
    totals = [
        {hit.key: round(hit.total or 0.0, 9) for hit in each.search(_QUERY, k=20, rank=rank).hits}
        for each in (trained, fresh)
    ]
    assert totals[0] == totals[1]


def test_what_a_killed_change_leaves_is_removed_by_the_next_writer(trained: Collection) -> None:
    (left,) = trained.path.glob("vectors*")
    for name in ("vectors-0123abcd", ".vectors-0123abcd.12345678"):
        (trained.path / name).mkdir()
    trained.index(_TEXTS)
    assert _folders(trained) == [left.name]
