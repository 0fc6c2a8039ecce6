import numpy as np
import pytest

from moverank import Collection
from moverank.indexer.evaluation.corpus import Corpus, corpus_of
from tests.indexer.evaluation.ranked import QUERY, ranked


def test_the_centroid_encoder_is_wcd(corpus: Corpus) -> None:
    for weights in ("tf", "tfidf"):
        encoded, exact = (
            ranked(f"{name}:weights={weights}", corpus.documents, corpus.queries) for name in ("centroid", "wcd")
        )
        assert encoded == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("name", ["centroid", "wcd", "lsi:dim=3"])
def test_queries_in_blocks_have_the_distances_of_each_alone(
    name: str, indexed: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["ant bee", "zebra", "cat dog", "lark", QUERY, "zebra quux", "bee"]
    corpus = corpus_of(indexed, [(str(i), text) for i, text in enumerate(texts)])
    monkeypatch.setattr("moverank.indexer.evaluation.vector_rankers._BLOCK", 2)
    together = ranked(name, corpus.documents, corpus.queries)
    alone = [ranked(name, corpus.documents, corpus.queries.take([row]))[0] for row in range(len(texts))]
    assert np.isinf(together[[1, 5]]).all()
    assert np.isfinite(together[[0, 2, 3, 4, 6]]).any(axis=1).all()
    np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-9)
