import numpy as np
import pytest

from moverank import Collection
from moverank.indexer.evaluation.corpus import Corpus
from moverank.indexer.evaluation.counted_texts import Texts
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.method import parse_method
from moverank.indexer.evaluation.trial import Trial, distances_of
from moverank.indexer.progress import silent
from moverank.rerank.distance.mutual_proximity import DistanceMoments, empirical_proximity, fitted_proximity
from tests.indexer.evaluation.ranked import ranked


def test_documents_as_queries_leave_themselves_out(pool: Texts, indexed: Collection) -> None:
    distances = ranked("wmd", pool, pool.take([3, 0]))
    assert np.isinf(distances[0, 3])
    assert np.isinf(distances[1, 0])
    hits = {hit.key: hit.distance for hit in indexed.similar("d3", k=20, distance="wmd").hits}
    found = {pool.keys[row]: distances[0, row] for row in np.flatnonzero(np.isfinite(distances[0]))}
    assert found == pytest.approx(hits)


def test_only_wanted_distances_are_computed(pool: Texts, solved: list[int]) -> None:
    wanted = np.zeros((2, len(pool)), bool)
    wanted[0, [2, 5]] = wanted[1, 7] = True
    trial = Trial(pool, pool.take([0, 1]), np.array([0, 1]), DistanceCache(), silent, wanted)
    distances = distances_of(parse_method("wmd"), trial)
    assert sum(solved) == 3
    assert np.array_equal(np.isfinite(distances), wanted)
    every = ranked("wmd", pool, pool.take([0, 1]))
    assert distances[wanted] == pytest.approx(every[wanted])
    assert np.array_equal(np.isfinite(distances_of(parse_method("bow:proximity=gaussian"), trial)), wanted)


def test_proximity_is_that_of_the_distances(pool: Texts) -> None:
    queries = pool.take([1, 4])
    plain, among = ranked("bow", pool, queries), ranked("bow", pool, pool)
    assert np.array_equal(ranked("bow:proximity=empirical", pool, queries), empirical_proximity(plain, among))
    spread = DistanceMoments.of(among)
    for kind in ("gaussian", "gamma"):
        proximity = ranked(f"bow:proximity={kind}", pool, queries)
        assert proximity == pytest.approx(fitted_proximity(plain, DistanceMoments.of(plain), spread, kind))


def test_a_blend_is_the_weighted_sum_of_standardised_distances(corpus: Corpus) -> None:
    one, other = (ranked(name, corpus.documents, corpus.queries)[:1] for name in ("bm25", "wcd"))
    blend = ranked("0.25*bm25 + 2*wcd", corpus.documents, corpus.queries)[0]
    finite = np.isfinite(other[0])
    parts = [
        (each - each[np.isfinite(each)].mean()) / each[np.isfinite(each)].std(ddof=1) for each in (one[0], other[0])
    ]
    assert blend[finite] == pytest.approx((0.25 * parts[0] + 2 * parts[1])[finite])
    assert blend[~finite] == pytest.approx(0.25 * parts[0][~finite] + 2 * parts[1][finite].max())
