"""Collections without vectors of their own train them on their texts."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from moverank import Collection, CollectionError, UsageError
from moverank.indexer.indexing.train_vectors import check_training
from moverank.indexer.vectors import open_vectors
from tests.indexer.world import document, random_documents, store_of

_TEXTS = [*random_documents(30, seed=5, words=8), document("rare", "solitary"), document("stop", "of the")]


@pytest.fixture(autouse=True)
def _no_log() -> Iterator[None]:
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


def _rows(collection: Collection) -> dict[str, int]:
    store = store_of(collection)
    with store.reading() as reader:
        rows = {found.word: found.row for found in reader.all_words()}
    store.close()
    return rows


def test_a_small_corpus_is_trained_by_lsi_and_says_so(make: Callable[..., Collection]) -> None:
    collection = make(embedding="auto")
    assert (collection.info()["dim"], collection.settings.normalize) == (0, None)
    changes = collection.index(_TEXTS)
    assert (changes.added, changes.wordless) == (32, 1)
    assert (collection.settings.embedding, collection.settings.normalize) == ("lsi", True)
    with Collection.open(collection.path) as opened:
        assert opened.settings == collection.settings
        assert opened.info()["vectors"] == len(_rows(collection))
        hits = opened.search("solitary").hits
        assert (hits[0].key, hits[0].distance) == ("rare", 0)
    vectors = open_vectors(collection.path / "vectors")
    assert np.linalg.norm(vectors.vectors, axis=1) == pytest.approx(np.ones(len(vectors.words)))
    assert {word: vectors.words[row] for word, row in _rows(collection).items()} == {w: w for w in _rows(collection)}


def test_a_large_corpus_is_trained_by_word2vec(
    make: Callable[..., Collection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moverank.indexer.indexing.train_vectors.SMALL_CORPUS", 10)
    monkeypatch.setattr("moverank.indexer.indexing.train_vectors._SENTENCE", 3)
    collection = make(embedding="auto", normalize=False)
    told: list[str] = []
    changes = collection.index(_TEXTS, progress=lambda task, *_: told.append(task))
    assert (collection.settings.embedding, collection.settings.normalize) == ("train", False)
    # A word that occurs once has no vector, and its document no known word.
    assert changes.wordless == collection.info()["wordless"] == 2
    assert _rows(collection)["solitary"] == -1
    assert told
    assert len(collection.search("ant bee", k=99).hits) == 30


@pytest.mark.parametrize(
    ("embedding", "options", "dim"),
    [("lsi", ("dim=3", "min_count=2"), 3), ("train", ("method=cbow", "dim=5", "epochs=1"), 5)],
)
def test_training_takes_options(
    make: Callable[..., Collection], embedding: str, options: tuple[str, ...], dim: int
) -> None:
    collection = make(embedding=embedding, train_options=options)
    assert collection.index(_TEXTS).wordless == 2
    assert collection.info()["dim"] == dim
    assert collection.settings.embedding == embedding


@pytest.mark.parametrize(
    ("embedding", "options"),
    [
        ("auto", ("dim=3",)),
        ("vectors.bin", ("dim=3",)),
        ("lsi", ("window=3",)),
        ("lsi", ("dim=none",)),
        ("train", ("method=glove",)),
        ("train", ("dim=0",)),
    ],
)
def test_options_that_cannot_be_meant(embedding: str, options: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        check_training(embedding, options)


def test_documents_added_later_use_the_vectors_that_there_are(make: Callable[..., Collection]) -> None:
    collection = make(embedding="lsi")
    collection.index(_TEXTS)
    fingerprint = open_vectors(collection.path / "vectors").fingerprint
    changes = collection.index([document("later", "ant unheard"), document("strange", "unheard")])
    assert (changes.added, changes.wordless) == (2, 1)
    assert open_vectors(collection.path / "vectors").fingerprint == fingerprint
    assert collection.search("ant", k=1).hits[0].key == "later"


def _interrupted(collection: Collection, at: str) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"moverank.indexer.collection.{at}", interrupt)
        with pytest.raises(KeyboardInterrupt):
            collection.index(_TEXTS)


def test_without_vectors_there_is_no_search(make: Callable[..., Collection]) -> None:
    collection = make(embedding="auto")
    for ask in (
        lambda: collection.search("ant"),
        lambda: collection.similar("d1"),
        lambda: collection.explain("a", "d1"),
    ):
        with pytest.raises(CollectionError, match="has no word vectors yet: index more text"):
            ask()
    assert collection.remove([]).removed == 0


@pytest.mark.parametrize("at", ["train", "assign_rows"])
def test_training_that_was_interrupted_is_made_up_for(make: Callable[..., Collection], at: str) -> None:
    collection = make(embedding="auto")
    _interrupted(collection, at)
    with Collection.open(collection.path) as opened:
        assert opened.info()["documents"] == 32
        with pytest.raises(CollectionError, match="has no word vectors yet"):
            opened.search("ant")
        changes = opened.index(_TEXTS)
        assert (changes.unchanged, changes.wordless) == (32, 1)
        assert opened.search("solitary").hits[0].key == "rare"
        assert opened.settings.embedding == "lsi"


def test_a_corpus_without_words_waits_for_more(make: Callable[..., Collection]) -> None:
    collection = make(embedding="auto")
    changes = collection.index([document("stop", "of the")])
    assert (changes.added, changes.wordless) == (1, 1)
    with pytest.raises(CollectionError, match="no word vectors yet"):
        collection.search("ant")
    assert collection.index(_TEXTS).wordless == 1
    assert collection.index([]).documents == 0


def test_nothing_is_trained_on_nothing(make: Callable[..., Collection]) -> None:
    collection = make(embedding="auto")
    collection.index([])
    assert not (collection.path / "vectors").exists()
