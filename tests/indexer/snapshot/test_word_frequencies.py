"""The idf of words, from document frequencies over all documents."""

import numpy as np
import pytest

from moverank import Collection
from moverank.indexer.snapshot.encoder_fit import stored_frequencies
from moverank.indexer.state.open_view import open_view
from tests.indexer.world import WORDS, MakeCollection, document, snapshot_above


def test_idf_counts_all_current_documents(collection: Collection) -> None:
    collection.index([document("a", "ant bee"), document("b", "ant"), document("c", "zorp"), document("gone", "fox")])
    collection.remove(["gone"])
    with collection.reading() as reader:
        ids = {word.word: word.id for word in reader.words(["ant", "bee", "fox", "zorp"])}
        word_ids = np.array([ids["ant"], ids["bee"], ids["fox"], ids["zorp"], 0, 99])
        idf = stored_frequencies(reader).idf(word_ids)
    # Three documents: none contains "fox" any more, and words without a vector have no frequency.
    expected = [np.log(4 / 3) + 1, np.log(4 / 2) + 1, *[np.log(4) + 1] * 4]
    assert idf == pytest.approx(expected)


@pytest.mark.parametrize("gamma", [0.0, 0.75])
def test_a_view_counts_the_frequencies_that_the_database_has(
    make_collection: MakeCollection, gamma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of the snapshot's documents some are changed or removed, and the tail has words that the snapshot lacks.
    snapshot_above(monkeypatch, 0)
    collection = make_collection(gamma=gamma)
    collection.index([document(f"d{i}", "ant bee ant", WORDS[i % 9], title="cat") for i in range(12)])
    snapshot_above(monkeypatch, 100)
    collection.index([document("d1", "ant"), document("new", "zorp " + " ".join(WORDS))])
    collection.remove(["d2"])
    with collection.reading() as reader:
        stored = stored_frequencies(reader)
        view = open_view(reader, collection.path, collection.settings, collection.embedding)
        ids = np.arange(2 * len(WORDS))
        assert len(view.segments) == 2
        np.testing.assert_array_equal(view.factors.idf(ids, None), stored.idf(ids))
