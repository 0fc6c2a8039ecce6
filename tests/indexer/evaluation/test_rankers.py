import numpy as np
import pytest

from moverank.indexer.evaluation.corpus import Corpus
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.method import parse_method
from moverank.indexer.progress import silent
from tests.indexer.evaluation.ranked import QUERY, ranked
from tests.indexer.world import Twin


@pytest.mark.parametrize("weights", ["tf", "tfidf"])
@pytest.mark.parametrize("distance", ["wmd", "pwmd", "rwmd", "wcd"])
def test_distances_equal_their_definition(distance: str, weights: str, corpus: Corpus, twin: Twin) -> None:
    twin.weights = weights
    distances = ranked(f"{distance}:weights={weights}", corpus.documents, corpus.queries)
    expected = twin.distances(QUERY, distance, 0.75 if distance == "pwmd" else 0.0)
    for key, row in corpus.documents.row_of.items():
        assert distances[0, row] == (pytest.approx(expected[key]) if key in expected else np.inf)
    assert np.isinf(distances[2:]).all()


@pytest.mark.parametrize("name", ["wmd", "rwmd", "wcd", "bow", "bm25", "centroid", "random"])
def test_the_nearest_have_the_smallest_of_all_distances(name: str, corpus: Corpus) -> None:
    ranker = parse_method(name).ranker(corpus.documents, DistanceCache())
    every = np.array(list(ranker.distances(corpus.queries, silent)))
    nearest = ranker.nearest(corpus.queries, 5, silent)
    for distances, rows in zip(every, nearest, strict=True):
        present = rows[rows >= 0]
        assert len(present) == min(5, np.isfinite(distances).sum())
        assert distances[present] == pytest.approx(np.sort(distances)[: len(present)])
