"""Settings that may change later, and those that are permanent."""

from pathlib import Path

import pytest

from moverank import Collection, SettingsError, UsageError
from moverank.indexer.indexing.word_counts import WordCounter
from tests.indexer.world import CollectionFactory, Twin, check_exact, random_documents


@pytest.mark.usefixtures("always_compact")
def test_gamma_weights_and_first_stage_change_without_reading_a_text(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = random_documents(9, "bee ant")
    collection.index(documents)
    collection.search("ant")
    with monkeypatch.context() as patch:
        patch.setattr(WordCounter, "count", lambda *_: pytest.fail("a text was read again"))
        collection.change_settings(gamma=0.6, weights="tfidf", faiss="HNSW16", embedding=collection.settings.embedding)
        assert collection.index([]).revision == 1
    twin = Twin.of(documents, weights="tfidf")
    check_exact(collection.search("ant dog", k=5), twin.distances("ant dog", gamma=0.6), 5)
    with Collection.open(collection.path) as opened:
        assert (opened.settings.gamma, opened.settings.weights, opened.settings.faiss) == (0.6, "tfidf", "HNSW16")
        check_exact(opened.search("ant dog", k=5), twin.distances("ant dog", gamma=0.6), 5)
        opened.change_settings(gamma=0.0, weights="tf")
        twin.weights = "tf"
        check_exact(opened.search("ant dog", k=5), twin.distances("ant dog"), 5)


def test_permanent_settings_and_invalid_values_are_refused(
    collection: Collection, tmp_path: Path, factory: CollectionFactory
) -> None:
    before = collection.settings
    for choices in ({"stop_words": ("x",)}, {"normalize": True}, {"embedding": "lsi"}):
        with pytest.raises(SettingsError, match=r"the collection was made with (an)?other"):
            collection.change_settings(gamma=0.5, **choices)
    for invalid in ({"gamma": -1.0}, {"weights": "bm25"}, {"faiss": "nonsense"}, {"first_stage": "magic"}):
        with pytest.raises(UsageError):
            collection.change_settings(**invalid)
    other = tmp_path / "other.txt"
    other.write_text(factory.vectors.read_text().replace("ant", "ann"))
    with pytest.raises(SettingsError, match="another embedding"):
        collection.change_settings(embedding=str(other))
    assert collection.settings == before
    with Collection.open(collection.path) as opened:
        assert opened.settings == before


def test_the_same_vectors_may_be_named_again(
    collection: Collection, tmp_path: Path, factory: CollectionFactory
) -> None:
    before = collection.settings
    copy = tmp_path / "copy.txt"
    copy.write_bytes(factory.vectors.read_bytes())
    collection.change_settings(embedding=str(factory.vectors))
    collection.change_settings(embedding=str(copy))
    collection.change_settings(stop_words=before.stop_words, embedding=None)
    assert collection.settings == before


def test_changes_of_another_process_are_kept(collection: Collection) -> None:
    collection.index(random_documents(4))
    with Collection.open(collection.path) as other:
        collection.change_settings(gamma=0.5)
        other.change_settings(weights="tfidf")
        assert (other.settings.gamma, other.settings.weights) == (0.5, "tfidf")
        collection.refresh()
        assert collection.settings == other.settings
