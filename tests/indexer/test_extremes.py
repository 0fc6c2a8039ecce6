"""Numbers at the edge of what can be: the answer is right, or one sentence says why there is none."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from moverank import Collection, Part, Settings, UsageError, VectorsError
from moverank.indexer.documents import Document
from moverank.rerank.errors import NoKnownWords, RerankError
from tests.indexer.world import WORDS, Twin, check_exact, document, random_documents

Make = Callable[..., Collection]


def _vectors(path: Path, rows: dict[str, str]) -> Settings:
    path.write_text("".join(f"{word} {numbers}\n" for word, numbers in rows.items()))
    return Settings(embedding=str(path))


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e300", "1e16"])
def test_vectors_that_are_no_numbers(tmp_path: Path, number: str) -> None:
    with pytest.raises(VectorsError, match="a number is not finite, or beyond 1e15"):
        Collection.create(tmp_path / "c", _vectors(tmp_path / "v.txt", {"ant": "1 2", "bee": f"0 {number}"}))
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("normalize", [True, False])
def test_zero_and_tiny_and_huge_vectors(tmp_path: Path, normalize: bool) -> None:
    rows = {"ant": "0 0", "bee": "1e-40 0", "cat": "1e15 0", "dog": "1 1"}
    settings = _vectors(tmp_path / "v.txt", rows)
    with Collection.create(tmp_path / "c", Settings(settings.embedding, normalize)) as collection:
        collection.index([document(word, word) for word in rows])
        for word in rows:
            hits = collection.search(word, k=4).hits
            assert hits[0].distance == 0
            assert word in [hit.key for hit in hits if hit.distance <= 1e-30]
            assert all(math.isfinite(hit.distance) for hit in hits)


@pytest.mark.parametrize("gamma", [1e6, 1e300, 5e-324])
def test_any_gamma(make: Make, gamma: float) -> None:
    collection, twin = make(gamma=0.75), Twin()
    twin.add([document(found.key, found.parts[0].text, "ant bee", "cat") for found in random_documents(20)])
    collection.index(twin.documents.values())
    expected = twin.distances("ant bee", gamma=gamma)
    check_exact(collection.search("ant bee", k=9, gamma=gamma), expected, 9)


@pytest.mark.parametrize("gamma", [math.nan, math.inf, -1.0])
def test_a_gamma_that_is_none(make: Make, gamma: float) -> None:
    collection = make()
    collection.index([document("a", "ant")])
    with pytest.raises(UsageError, match="gamma must be a number of 0 or more"):
        collection.search("ant", gamma=gamma)


def test_weights_that_vanish(make: Make) -> None:
    """Of a word in the last rank nothing is left: the others are the bag."""
    collection = make()
    parts = (Part("ant ant", 0), Part("bee", 2**31 - 1))
    collection.index([Document("a", "", parts), document("b", "ant")])
    found = {hit.key: hit.distance for hit in collection.search("ant", k=2, gamma=200.0).hits}
    assert found == pytest.approx({"a": 0, "b": 0}, abs=1e-12)


def test_a_word_very_often(make: Make) -> None:
    collection, twin = make(), Twin()
    twin.add([document("a", "ant " * 200_000 + "bee"), document("b", "bee")])
    collection.index(twin.documents.values())
    check_exact(collection.search("bee", k=2), twin.distances("bee"), 2)


def test_a_query_of_nothing(collection: Collection) -> None:
    collection.index(random_documents(5))
    for query in ("", " ", "\0", "\x1b[31m", "of the", "\ud800", "a" * 100_000):
        with pytest.raises((NoKnownWords, RerankError)):
            collection.search(query)


def test_a_document_of_very_many_different_words(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(30_000)]
    numbers = np.random.default_rng(0).standard_normal((len(words), 2)).astype(np.float32)
    rows = dict(zip(words, (" ".join(map(str, row)) for row in numbers.tolist()), strict=True))
    with Collection.create(tmp_path / "c", _vectors(tmp_path / "v.txt", rows)) as collection:
        collection.index([document("all", " ".join(words)), document("one", "w7"), document("two", "w8 w9")])
        near, far = (collection.search(query, k=3).hits for query in ("w7", "w8 w9 w10"))
        assert (near[0].key, near[0].distance) == ("one", 0)
        assert {hit.key for hit in far} == {"all", "one", "two"}
        expected = float(np.linalg.norm(numbers.astype(float) - numbers[7].astype(float), axis=1).mean())
        assert {hit.key: hit.distance for hit in near}["all"] == pytest.approx(expected, rel=1e-6)


def test_very_many_documents_of_one_word(collection: Collection) -> None:
    collection.index(document(f"d{i}", WORDS[i % len(WORDS)]) for i in range(6000))
    ranking = collection.search("ant", k=600)
    assert ranking.certified
    assert [hit.distance for hit in ranking.hits[:500]] == [0.0] * 500
    assert ranking.hits[500].distance > 0
