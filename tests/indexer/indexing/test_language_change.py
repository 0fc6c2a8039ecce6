"""Changing the language of a collection: afterwards it is as one that was made with that language."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moverank import Collection, Document, Part, Settings, UsageError
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.store import Writer
from tests.indexer.maintenance.damage import execute
from tests.indexer.stored_state import stored_frequencies
from tests.indexer.world import interrupted
from tests.postgres_store import new_place

_NOUNS = [
    *("Haus", "Häuser", "Hund", "Hunde", "Katze", "Katzen", "Baum", "Bäume"),
    *("Stadt", "Städte", "Straße", "Schule", "Bücher", "Büros", "ﬁnden", "Wörter"),
]
_OTHERS = ["der", "die", "das", "und", "nicht", "ist", "mit", "von", "über", "the", "of", "and", "is"]


def _documents(n: int) -> list[Document]:
    """Return threads of German words; every second has a title, with which the first post begins in every fourth."""
    chosen = np.random.default_rng(5)

    def text(words: int) -> str:
        return " ".join(chosen.choice(_NOUNS + _OTHERS, words))

    documents = []
    for i in range(n):
        title = text(3) if i % 2 else ""
        posts = [f"{title} {text(8)}" if i % 4 == 1 else text(8), *(text(5) for _ in range(i % 3))]
        parts = tuple(Part(post, rank) for rank, post in enumerate(posts))
        documents.append(Document(f"d{i}", title, parts, "even" if i % 2 == 0 else None, {"number": i}))
    return documents


_TEXTS = _documents(60)
_QUERIES = ("Katzen und Hunde", "finden die Häuser")


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    """A file of vectors of the words in lower case, some of them, and of English stop words."""
    lines = [
        f"{word.lower()} {i % 7} {i % 5} {1 + i % 3}\n"
        for i, word in enumerate([*_NOUNS[:12], "finden", "buecher", *_OTHERS])
    ]
    (tmp_path / "vectors.txt").write_text("".join(lines))
    return str(tmp_path / "vectors.txt")


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Any]:
    opened: list[Collection] = []

    def made(settings: Settings, documents: list[Document] | None = None) -> Collection:
        collection = Collection.create(new_place(tmp_path / f"made-{len(opened)}"), settings)
        opened.append(collection)
        collection.index(_TEXTS if documents is None else documents)
        return collection

    yield made
    for collection in opened:
        collection.close()


def _rankings(collection: Collection) -> list[dict[str, float]]:
    """Return the scores of the documents by key, by several rankings, with and without a filter."""
    specifications = (None, "wmd:weights=tfidf", "bm25:stem=german")
    tasks = [(query, rank, None) for query in _QUERIES for rank in specifications]
    found = []
    for query, rank, where in (*tasks, (_QUERIES[0], "pwmd:gamma=0.75", "label=even")):
        hits = collection.search(query, k=60, rank=rank, where=where).hits
        found.append({hit.key: hit.score for hit in hits})
    return found


def _check_same(changed: Collection, fresh: Collection) -> None:
    assert (changed.settings, changed.coverage) == (fresh.settings, fresh.coverage)
    for one, other in zip(_rankings(changed), _rankings(fresh), strict=True):
        assert one == pytest.approx(other, rel=1e-6, abs=1e-9)
    own = ("words", "known_words", "wordless", "documents", "parts", "vectors", "ranking")
    assert [changed.info()[name] for name in own] == [fresh.info()[name] for name in own]
    assert stored_frequencies(changed) == stored_frequencies(fresh)
    assert check_collection(changed.path).sentences() == ()
    assert changed.index(_TEXTS).unchanged == len(_TEXTS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "before"),
    [("file", "en"), ("file", "none"), ("lsi", "none"), ("auto", "fi")],
)
def test_a_changed_collection_equals_a_new_one(make: Any, vectors: str, kind: str, before: str) -> None:
    embedding = vectors if kind == "file" else kind
    options: dict[str, Any] = {"train_options": ("dim=4",)} if kind == "lsi" else {}
    collection = make(Settings(embedding, language=before, gamma=0.5, weights="tfidf", **options))
    collection.search(_QUERIES[0])  # caches of the former words
    collection.refit(language="de")
    fresh = make(Settings(embedding, language="de", gamma=0.5, weights="tfidf", **options))
    assert collection.settings.language == "de"
    assert {"finden", "bücher"} <= stored_frequencies(collection).keys()  # `buecher` has the vector
    assert collection.embedding.fingerprint == fresh.embedding.fingerprint
    _check_same(collection, fresh)


def test_a_collection_without_vectors_may_get_some(make: Any) -> None:
    chinese = [Document(f"d{i}", "", (Part("我们在北京大学学习自然语言处理" * (1 + i % 3)),)) for i in range(60)]
    collection, fresh = make(Settings(), chinese), make(Settings(language="zh"), chinese)
    assert len(collection) == 60
    collection.refit(language="zh")
    assert (collection.settings, collection.info()["words"]) == (fresh.settings, fresh.info()["words"])
    assert collection.search("北京", rank="bm25").hits
    assert check_collection(collection.path).sentences() == ()


@pytest.mark.slow
def test_language_and_vectors_change_together(make: Any, vectors: str) -> None:
    collection = make(Settings("lsi", train_options=("dim=4",)))
    collection.refit(language="de", embedding=vectors)
    _check_same(collection, make(Settings(vectors, language="de", normalize=False)))
    collection.refit(language="none", vectors=False, stop_words=["Hund"])
    assert (collection.settings.language, collection.settings.stop_words) == ("none", ("hund",))


def test_stop_words_of_the_user_stay(make: Any, vectors: str) -> None:
    collection = make(Settings(vectors, stop_words=["Katze", "don't"]))
    collection.refit(language="de")
    assert collection.settings.stop_words == ("don", "katze", "t")
    collection.refit(language="fr", stop_words="auto")
    assert collection.settings.stop_words == Settings(language="fr").stop_words
    for choice in ("english", "none"):
        collection.refit(language="de", stop_words=choice)
        collection.refit(language="ru")
        assert collection.settings.stop_words == Settings(language="ru", stop_words=choice).stop_words


def test_the_language_is_found_from_the_texts(make: Any, vectors: str) -> None:
    collection = make(Settings(vectors))
    collection.refit(language="auto")
    assert (collection.settings.language, collection.detected.code) == ("de", "de")
    empty = make(Settings(vectors), [])
    with pytest.raises(UsageError, match="there is no text yet from which the language could be found"):
        empty.refit(language="auto")
    empty.refit(language="de")
    assert empty.settings == replace(collection.settings)


@pytest.mark.slow
def test_vectors_that_were_not_renewed_are_so_by_the_same_language(
    make: Any, vectors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a process was killed after the first run had stored the language."""
    with monkeypatch.context() as killed:
        killed.setattr(Collection, "_follow_language", lambda _, changes: changes)
        collection = make(Settings(vectors, language="auto"))
    assert (collection.settings.language, collection.embedding.forms.language) == ("de", "none")
    collection.refit(language="de")
    _check_same(collection, make(Settings(vectors, language="de")))


@pytest.mark.slow
def test_a_failure_leaves_the_former_words(make: Any, vectors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for embedding in (vectors, "lsi"):
        collection = make(Settings(embedding))
        before, hits = collection.settings, collection.search(_QUERIES[0], k=60).hits
        with monkeypatch.context() as patch:
            patch.setattr(Writer, "set_settings", interrupted)
            with pytest.raises(KeyboardInterrupt):
                collection.refit(language="de")
        with Collection.open(collection.path) as opened:
            assert (opened.settings, opened.search(_QUERIES[0], k=60).hits) == (before, hits)
        assert check_collection(collection.path).sentences() == ()
        collection.refit(language="de")
        assert collection.settings.language == "de"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "lsi"])
def test_a_killed_process_leaves_the_former_words(make: Any, vectors: str, kind: str) -> None:
    collection = make(Settings(vectors if kind == "file" else "lsi"))
    before, hits = collection.settings, collection.search(_QUERIES[0], k=60).hits
    run = subprocess.run([sys.executable, "-c", _KILLED, str(collection.path)], check=False)
    assert run.returncode == -signal.SIGKILL
    with Collection.open(collection.path) as opened:
        assert (opened.settings, opened.search(_QUERIES[0], k=60).hits) == (before, hits)
        opened.refit(language="de")
        assert opened.settings.language == "de"
    assert check_collection(collection.path).sentences() == ()


_KILLED = """
import os, signal, sys
from moverank import Collection
from moverank.indexer.indexing import vectors_change
vectors_change.Writer.set_settings = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
Collection.open(sys.argv[1]).refit(language="de")
"""
"""The process is killed after all has been written, before it is committed."""


@pytest.mark.sqlite("damages a file")
def test_a_damaged_document_stays_marked(make: Any, vectors: str) -> None:
    collection = make(Settings(vectors))
    execute(collection.path, "UPDATE documents SET digest = x'' WHERE key = 'd3'")
    collection.refit(language="de")
    (sentence,) = check_collection(collection.path).sentences()
    assert "d3" in sentence
    assert collection.index(_TEXTS).updated == 1
    assert check_collection(collection.path).sentences() == ()


@pytest.mark.sqlite("an open collection in PostgreSQL follows the changes of others")
def test_open_searches_keep_the_former_language(make: Any, vectors: str) -> None:
    collection = make(Settings(vectors))
    before = collection.search(_QUERIES[1], k=60).hits
    with Collection.open(collection.path) as other:
        other.refit(language="de")
    assert collection.search(_QUERIES[1], k=60).hits == before
    collection.refresh()
    assert collection.settings.language == "de"
    assert collection.search(_QUERIES[1], k=60).hits != before
