"""Word vectors trained on the texts of a collection, if its settings name no source."""

import numpy as np
import pytest

from moverank import Collection, CollectionError
from moverank.indexer.indexing import training
from moverank.indexer.vectors.lsi_training import OWN_DIMENSIONS
from moverank.indexer.vectors.open_vectors import open_vectors
from tests.indexer.stored_state import vector_rows
from tests.indexer.world import MakeCollection, document, interrupted, random_documents, vectors_in

_TEXTS = [*random_documents(30, seed=5, words=8), document("rare", "solitary"), document("stop", "of the")]


@pytest.fixture(autouse=True)
def few_texts_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "FEW_TEXTS", 2)


pytestmark = pytest.mark.usefixtures("no_log")


def test_a_small_corpus_is_trained_by_lsi(make_collection: MakeCollection) -> None:
    collection = make_collection(embedding="auto")
    assert (collection.info()["dim"], collection.settings.normalize) == (0, None)
    changes = collection.index(_TEXTS)
    assert (changes.added, changes.wordless) == (32, 1)
    assert (collection.settings.embedding, collection.settings.normalize) == ("lsi", True)
    rows = vector_rows(collection)
    with Collection.open(collection.path) as opened:
        assert opened.settings == collection.settings
        assert opened.info()["vectors"] == len(rows)
        hits = opened.search("solitary").hits
        assert (hits[0].key, hits[0].distance) == ("rare", 0)
    vectors = open_vectors(vectors_in(collection.path))
    assert np.linalg.norm(vectors.vectors, axis=1) == pytest.approx(np.ones(len(vectors.words)))
    assert {word: vectors.words[row] for word, row in rows.items()} == {word: word for word in rows}


def test_a_large_corpus_is_trained_by_word2vec(
    make_collection: MakeCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moverank.indexer.indexing.training.SMALL_CORPUS", 10)
    monkeypatch.setattr("moverank.indexer.indexing.training._SENTENCE", 3)
    collection = make_collection(embedding="auto", normalize=False)
    tasks: list[str] = []
    changes = collection.index(_TEXTS, progress=lambda task, *_: tasks.append(task))
    assert (collection.settings.embedding, collection.settings.normalize) == ("train", False)
    # A word that occurs once has no vector, so its document is wordless.
    assert changes.wordless == collection.info()["wordless"] == 2
    assert vector_rows(collection)["solitary"] == -1
    assert tasks
    assert len(collection.search("ant bee", k=99).hits) == 30


@pytest.mark.parametrize(
    ("embedding", "options", "dim"),
    [("lsi", ("dim=3", "min_count=2"), 3 + OWN_DIMENSIONS), ("train", ("method=cbow", "dim=5", "epochs=1"), 5)],
)
def test_training_options_are_applied(
    make_collection: MakeCollection, embedding: str, options: tuple[str, ...], dim: int
) -> None:
    collection = make_collection(embedding=embedding, train_options=options)
    assert collection.index(_TEXTS).wordless == 2
    assert collection.info()["dim"] == dim
    assert collection.settings.embedding == embedding


def test_later_documents_use_the_trained_vectors(make_collection: MakeCollection) -> None:
    collection = make_collection(_TEXTS, embedding="lsi")
    fingerprint = open_vectors(vectors_in(collection.path)).fingerprint
    changes = collection.index([document("later", "ant unheard"), document("strange", "unheard")])
    assert (changes.added, changes.wordless) == (2, 1)
    assert open_vectors(vectors_in(collection.path)).fingerprint == fingerprint
    assert collection.search("ant", k=1).hits[0].key == "later"


def test_a_search_before_training_is_refused(make_collection: MakeCollection) -> None:
    collection = make_collection(embedding="auto")
    for search in (
        lambda: collection.search("ant"),
        lambda: collection.similar("d1"),
        lambda: collection.explain("a", "d1"),
    ):
        with pytest.raises(CollectionError, match="has no word vectors yet: index more text"):
            search()
    assert collection.remove([]).removed == 0


@pytest.mark.parametrize("step", ["train", "assign_rows"])
def test_interrupted_training_is_done_by_the_next_run(make_collection: MakeCollection, step: str) -> None:
    collection = make_collection(embedding="auto")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"moverank.indexer.indexing.vectors_change.{step}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            collection.index(_TEXTS)
    with Collection.open(collection.path) as opened:
        assert opened.info()["documents"] == 32
        with pytest.raises(CollectionError, match="has no word vectors yet"):
            opened.search("ant")
        changes = opened.index(_TEXTS)
        assert (changes.unchanged, changes.wordless) == (32, 1)
        assert opened.search("solitary").hits[0].key == "rare"
        assert opened.settings.embedding == "lsi"


def test_training_waits_for_enough_words(make_collection: MakeCollection) -> None:
    collection = make_collection(embedding="auto")
    changes = collection.index([document("stop", "of the")])
    assert (changes.added, changes.wordless) == (1, 1)
    with pytest.raises(CollectionError, match="no word vectors yet"):
        collection.search("ant")
    assert collection.index(_TEXTS).wordless == 1
    assert collection.index([]).documents == 0


def test_nothing_is_trained_without_documents(make_collection: MakeCollection) -> None:
    collection = make_collection([], embedding="auto")
    assert not list(collection.path.glob("vectors*"))
