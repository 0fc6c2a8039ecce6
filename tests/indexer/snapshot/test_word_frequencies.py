"""The idf of words, from document frequencies over all documents."""

import numpy as np
import pytest

from moverank import Collection
from moverank.indexer.snapshot.word_frequencies import WordFrequencies
from tests.indexer.world import document


def test_idf_counts_all_current_documents(collection: Collection) -> None:
    collection.index([document("a", "ant bee"), document("b", "ant"), document("c", "zorp"), document("gone", "fox")])
    collection.remove(["gone"])
    with collection.reading() as reader:
        ids = {word.word: word.id for word in reader.words(["ant", "bee", "fox", "zorp"])}
        word_ids = np.array([ids["ant"], ids["bee"], ids["fox"], ids["zorp"], 0, 99])
        idf = WordFrequencies(reader).idf(word_ids)
    # Three documents: none contains "fox" any more, and words without a vector have no frequency.
    expected = [np.log(4 / 3) + 1, np.log(4 / 2) + 1, *[np.log(4) + 1] * 4]
    assert idf == pytest.approx(expected)
