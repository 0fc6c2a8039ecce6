"""The translation model beyond the contract: it is a distribution, and its normalisers are additive."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from moverank.rerank.errors import ScorerError
from moverank.rerank.plugins.methods import interpolation, translation
from moverank.rerank.plugins.methods.translation import Translation, translation_normalisers
from moverank.rerank.scorers import WordVectors, word_vectors
from moverank.rerank.testing.sample_counts import Counted
from tests.naive import cosine
from tests.rerank.problems import make_vectors
from tests.rerank.scorers.test_contract import collections

SMOOTHINGS = [{}, {"mu": "2"}, {"smoothing": "jelinek-mercer"}, {"smoothing": "jelinek-mercer", "self": "0.9"}]


def _words(seed: int, size: int) -> WordVectors:
    rng = np.random.default_rng(seed)
    return WordVectors(make_vectors(rng, size, 6, "zeros", 1.0), rng.random(size) < 0.8)


@pytest.mark.parametrize("options", SMOOTHINGS)
@given(collection=collections())
def test_the_likelihoods_of_all_words_sum_to_one(options: Mapping[str, str], collection: Counted) -> None:
    segment = collection.segment()
    scorer = segment.fit("translation", options)
    likelihoods = np.array([np.exp(scorer.score(segment.query({term: 1.0}))) for term in segment.terms])
    full = np.array([bool(document) for document in collection.documents], bool)
    if segment.terms:
        np.testing.assert_allclose(likelihoods.sum(axis=0)[full], 1, rtol=1e-9)


def _naive_sums(words: WordVectors, over: WordVectors) -> NDArray[np.float64]:
    vocabulary = over.vectors[over.known].astype(np.float64).tolist()
    sums = [sum(max(cosine(row, other), 0.0) for other in vocabulary) for row in words.vectors.astype(float).tolist()]
    return np.where(words.known, sums, 0.0)


@pytest.mark.parametrize("block", [1, 3, 1000])
def test_normalisers_are_sums_of_clipped_cosines(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(translation, "_BLOCK", block)
    monkeypatch.setattr(word_vectors, "_BLOCK", block)
    words, others = _words(1, 11), _words(2, 7)
    over = translation_normalisers(words, others)
    np.testing.assert_allclose(over, _naive_sums(words, others), rtol=1e-12)
    own = translation_normalisers(words)
    expected = _naive_sums(words, words)
    assert np.any(expected == 0)
    np.testing.assert_allclose(own, np.where(expected > 0, expected, 1.0), rtol=1e-12)


def test_normalisers_are_additive_over_vocabularies() -> None:
    first, second = _words(3, 20), _words(4, 9)
    whole = WordVectors(np.concatenate([first.vectors, second.vectors]), np.concatenate([first.known, second.known]))
    both = translation_normalisers(whole)
    parts = [
        translation_normalisers(own) + translation_normalisers(own, other)
        for own, other in ((first, second), (second, first))
    ]
    np.testing.assert_allclose(np.concatenate(parts), both, rtol=1e-12)


def test_normalisers_are_computed_once_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(words: WordVectors) -> NDArray[np.float64]:
        calls.append(len(words))
        return translation_normalisers(words)

    monkeypatch.setattr(translation, "translation_normalisers", counted)
    segment = Counted([{"cat": 1.0}], {"cat": np.ones(2, np.float32)}).segment()
    scorer = segment.fit("translation", {})
    assert calls == []
    for _ in range(2):
        scorer.score(segment.query({"cat": 1.0}))
    assert calls == [1]


def test_blocks_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    names = [f"w{i}" for i in range(30)]
    documents = [{names[i]: float(rng.integers(1, 4)) for i in rng.choice(30, 5, replace=False)} for _ in range(11)]
    collection = Counted([*documents, {}], dict(zip(names, make_vectors(rng, 30, 4, "normal", 1.0), strict=True)))
    whole = {name: collection.segment().score(name, {}, documents[0]) for name in ("translation", "interpolation")}
    for module in (translation, interpolation):
        monkeypatch.setattr(module, "_DOCUMENTS", 4)
    monkeypatch.setattr(translation, "_TERMS", 2)
    monkeypatch.setattr(interpolation, "_AXES", 3)
    monkeypatch.setattr(word_vectors, "_BLOCK", 4)
    for name, scores in whole.items():
        np.testing.assert_allclose(collection.segment().score(name, {}, documents[0]), scores, rtol=1e-12)


def test_an_unseen_query_word_is_translated() -> None:
    vectors = {"car": [1, 0], "law": [0, 1], "auto": [0.9, 0.1]}
    collection = Counted(
        [{"law": 1.0}, {"car": 1.0}], {word: np.array(row, np.float32) for word, row in vectors.items()}
    )
    scores = collection.segment().score("translation", {}, {"auto": 1.0})
    assert scores[1] > scores[0]


def test_invalid_normalisers_are_rejected() -> None:
    segment = Counted([{"cat": 1.0}], {"cat": np.ones(2, np.float32)}).segment()
    for invalid in (np.ones(2), np.zeros(1), np.array([np.nan])):
        with pytest.raises(ScorerError, match="a positive normaliser for each of the 1 terms"):
            Translation.fit(segment.counts, segment.statistics, {}, invalid)
