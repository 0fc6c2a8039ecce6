"""Document frequencies agree with those that scikit-learn counts."""

from collections import Counter

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from moverank import DocumentFrequencies, UsageError
from moverank.rerank.scorers import Statistics
from tests.indexer.world import MakeCollection, document

TEXTS = ["ant bee bee", "bee cat ants", "dog", "", "ant ant ant dog zorp"]


def test_words_are_counted_once_a_document() -> None:
    found = DocumentFrequencies.of(TEXTS, frozenset())
    counter = CountVectorizer(binary=True)
    counts = counter.fit_transform(TEXTS).sum(axis=0).tolist()[0]
    assert found.words == dict(zip(counter.get_feature_names_out(), counts, strict=True))
    assert (found.documents, found.mean_length) == (5, 12 / 5)


def test_texts_are_split_as_a_reranker_does() -> None:
    text = "\u4e2d\u6587 \ufb01sh"
    found = DocumentFrequencies.of([text], language="zh", segmentation="characters")
    assert set(found.words) == {"\u4e2d", "\u6587", "fish"}


def test_idf_is_that_of_scikit_learn() -> None:
    vectorizer = TfidfVectorizer().fit(TEXTS)
    found = DocumentFrequencies.of(TEXTS, frozenset())
    np.testing.assert_allclose(found.idf(vectorizer.get_feature_names_out().tolist()), vectorizer.idf_)


def test_a_collection_knows_its_frequencies(make_collection: MakeCollection) -> None:
    collection = make_collection([document(f"d{i}", text) for i, text in enumerate(TEXTS)])
    found = collection.document_frequencies(["english"])
    expected = DocumentFrequencies.of(TEXTS, frozenset())
    assert found.words == expected.words
    assert (found.documents, found.mean_length) == (5, 12 / 5)
    assert found.stems["english"]["ant"] == 3  # ant, ants
    assert found.words["ant"] == 2


def test_frequencies_of_letters_follow_from_those_of_words(make_collection: MakeCollection) -> None:
    collection = make_collection([document(f"d{i}", text) for i, text in enumerate(TEXTS)])
    found = collection.document_frequencies(["ngrams=2"])
    expected, tokens = Counter[str](), 0
    for text in TEXTS:
        pairs = [word[i : i + 2] for word in text.split() for i in range(max(1, len(word) - 1))]
        expected.update({*pairs})
        tokens += len(pairs)
    assert found.stems == {"ngrams=2": expected}
    assert found.mean_lengths == {"ngrams=2": pytest.approx(tokens / len(TEXTS))}
    with pytest.raises(UsageError, match="ngrams must be a whole number"):
        collection.document_frequencies(["ngrams=x"])


def test_unknown_frequencies_of_letters_are_sums_over_words() -> None:
    nothing = Statistics(1, 2.0, np.zeros(3, np.int64), np.zeros(3))
    found = DocumentFrequencies(10, {"ants": 4, "giant": 3, "bee": 6}, 5.0)
    statistics = found.widened(nothing, ["ant", "bee", "zor"], "ngrams=3", 0.0)
    assert statistics.document_frequencies.tolist() == [7, 6, 0]
    assert statistics.tokens == pytest.approx(10 * 5.0 * (4 * 2 + 3 * 3 + 6 * 1) / 13)
    assert found.widened(nothing, ["ant", "bee", "be"], "english", 0.0).tokens == 50.0
    with pytest.raises(UsageError, match="must be a number above 0, not 0"):
        DocumentFrequencies(2, {"ant": 1}, 2.0, {"ngrams=2": {"an": 1}}, {"ngrams=2": 0.0})


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match="from 0 to the number of documents, 2"):
        DocumentFrequencies(2, {"ant": 3})
    with pytest.raises(UsageError, match="from 0 to the number of documents, 2"):
        DocumentFrequencies(2, {"ant": -1})
    with pytest.raises(UsageError, match="must be a number above 0, not 0"):
        DocumentFrequencies(2, {"ant": 1}, 0.0)
