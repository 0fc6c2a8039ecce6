"""Extreme values: the result is correct, or an error message says why there is none."""

import math
from pathlib import Path

import numpy as np
import pytest

from moverank import Collection, Document, Part, Settings, UsageError, VectorsError
from moverank.rerank.errors import NoKnownWords, RerankError
from tests.indexer.world import WORDS, MakeCollection, Twin, check_exact, document, random_documents


def _settings_with_vectors(path: Path, rows: dict[str, str]) -> Settings:
    path.write_text("".join(f"{word} {numbers}\n" for word, numbers in rows.items()))
    return Settings(embedding=str(path), rank="")


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e300", "1e16"])
def test_vectors_out_of_range_are_refused(tmp_path: Path, number: str) -> None:
    settings = _settings_with_vectors(tmp_path / "v.txt", {"ant": "1 2", "bee": f"0 {number}"})
    with pytest.raises(VectorsError, match="a number is not finite, or beyond 1e15"):
        Collection.create(tmp_path / "c", settings)
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("normalize", [True, False])
def test_zero_tiny_and_huge_vectors(tmp_path: Path, normalize: bool) -> None:
    rows = {"ant": "0 0", "bee": "1e-40 0", "cat": "1e15 0", "dog": "1 1"}
    settings = _settings_with_vectors(tmp_path / "v.txt", rows)
    with Collection.create(tmp_path / "c", Settings(settings.embedding, normalize, rank="")) as collection:
        collection.index([document(word, word) for word in rows])
        for word in rows:
            hits = collection.search(word, k=4).hits
            assert hits[0].distance == 0
            assert word in [hit.key for hit in hits if hit.distance <= 1e-30]
            assert all(math.isfinite(hit.distance) for hit in hits)


@pytest.mark.parametrize("gamma", [1e6, 1e300, 5e-324])
def test_huge_and_tiny_gamma(make_collection: MakeCollection, gamma: float) -> None:
    collection, twin = make_collection(gamma=0.75), Twin.of(random_documents(20, "ant bee", "cat"))
    collection.index(twin.documents.values())
    check_exact(collection.search("ant bee", k=9, gamma=gamma), twin.distances("ant bee", gamma=gamma), 9)


@pytest.mark.parametrize("gamma", [math.nan, math.inf, -1.0])
def test_an_invalid_gamma_is_refused(collection: Collection, gamma: float) -> None:
    collection.index([document("a", "ant")])
    with pytest.raises(UsageError, match="gamma must be a number of 0 or more"):
        collection.search("ant", gamma=gamma)


def test_a_weight_that_underflows_is_left_out_of_the_bag(collection: Collection) -> None:
    parts = (Part("ant ant", 0), Part("bee", 2**31 - 1))
    collection.index([Document("a", "", parts), document("b", "ant")])
    distances = {hit.key: hit.distance for hit in collection.search("ant", k=2, gamma=200.0).hits}
    assert distances == pytest.approx({"a": 0, "b": 0}, abs=1e-12)


def test_200_000_occurrences_of_a_word(collection: Collection) -> None:
    twin = Twin.of([document("a", "ant " * 200_000 + "bee"), document("b", "bee")])
    collection.index(twin.documents.values())
    check_exact(collection.search("bee", k=2), twin.distances("bee"), 2)


def test_queries_without_known_words_are_refused(collection: Collection) -> None:
    collection.index(random_documents(5))
    for query in ("", " ", "\0", "\x1b[31m", "of the", "\ud800", "a" * 100_000):
        with pytest.raises((NoKnownWords, RerankError)):
            collection.search(query)


@pytest.mark.slow
def test_a_document_of_30_000_distinct_words(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(30_000)]
    numbers = np.random.default_rng(0).standard_normal((len(words), 2)).astype(np.float32)
    rows = dict(zip(words, (" ".join(map(str, row)) for row in numbers.tolist()), strict=True))
    with Collection.create(tmp_path / "c", _settings_with_vectors(tmp_path / "v.txt", rows)) as collection:
        collection.index([document("all", " ".join(words)), document("one", "w7"), document("two", "w8 w9")])
        near, far = (collection.search(query, k=3).hits for query in ("w7", "w8 w9 w10"))
        assert (near[0].key, near[0].distance) == ("one", 0)
        assert {hit.key for hit in far} == {"all", "one", "two"}
        expected = float(np.linalg.norm(numbers.astype(float) - numbers[7].astype(float), axis=1).mean())
        assert {hit.key: hit.distance for hit in near}["all"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_500_ties_at_distance_0(collection: Collection) -> None:
    collection.index(document(f"d{i}", WORDS[i % len(WORDS)]) for i in range(6000))
    ranking = collection.search("ant", k=600)
    assert ranking.certified
    assert [hit.distance for hit in ranking.hits[:500]] == [0.0] * 500
    assert ranking.hits[500].distance > 0
