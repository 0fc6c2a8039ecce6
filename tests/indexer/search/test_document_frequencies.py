"""Document frequencies agree with those that scikit-learn counts."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from moverank import Collection, DocumentFrequencies, UsageError
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
    plain = DocumentFrequencies.of([text], tokenizer_version=1)
    assert set(plain.words) == {"\u4e2d\u6587", "\ufb01sh"}


def test_idf_is_that_of_scikit_learn() -> None:
    vectorizer = TfidfVectorizer().fit(TEXTS)
    found = DocumentFrequencies.of(TEXTS, frozenset())
    np.testing.assert_allclose(found.idf(vectorizer.get_feature_names_out().tolist()), vectorizer.idf_)


def test_a_collection_knows_its_frequencies(make_collection: MakeCollection) -> None:
    collection: Collection = make_collection()
    collection.index([document(f"d{i}", text) for i, text in enumerate(TEXTS)])
    found = collection.document_frequencies(["english"])
    expected = DocumentFrequencies.of(TEXTS, frozenset())
    assert found.words == expected.words
    assert (found.documents, found.mean_length) == (5, 12 / 5)
    assert found.stems["english"]["ant"] == 3  # ant, ants
    assert found.words["ant"] == 2


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match="from 0 to the number of documents, 2"):
        DocumentFrequencies(2, {"ant": 3})
    with pytest.raises(UsageError, match="from 0 to the number of documents, 2"):
        DocumentFrequencies(2, {"ant": -1})
    with pytest.raises(UsageError, match="must be a number above 0, not 0"):
        DocumentFrequencies(2, {"ant": 1}, 0.0)
