from collections import Counter

import numpy as np
import pytest

from moverank import Document
from moverank.indexer.evaluation.corpus import Corpus
from moverank.rerank.scorers import SCORERS
from moverank.rerank.testing.sample_counts import Counted
from tests.indexer.evaluation.ranked import QUERY, ranked
from tests.indexer.world import TABLE


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("gamma", [0.0, 0.75])
def test_distances_are_the_scores_over_all_words(
    name: str, gamma: float, corpus: Corpus, documents: list[Document]
) -> None:
    def counted(document: Document) -> dict[str, float]:
        amounts: dict[str, float] = {}
        for part in document.parts:
            for word in part.text.split():
                amounts[word] = amounts.get(word, 0.0) + (1 / (1 + part.rank)) ** gamma
        return amounts

    vectors = {word: vector.astype(np.float32) for word, vector in TABLE.items()}
    whole = Counted([counted(document) for document in documents], vectors)
    expected = whole.segment().score(name, {}, dict(Counter(QUERY.split())))
    distances = ranked(f"{name}:gamma={gamma}", corpus.documents, corpus.queries)
    assert corpus.documents.keys == tuple(document.key for document in documents)
    assert distances[0] == pytest.approx(expected if SCORERS[name].ascending else -expected, rel=1e-6)
    assert np.ptp(distances[3]) == 0  # a query without a word
