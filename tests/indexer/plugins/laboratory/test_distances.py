"""All distances of queries from a pool, the nearest documents, and the cache of both."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from moverank import Collection, Document, Part
from moverank.indexer.plugins.laboratory import trial
from moverank.indexer.plugins.laboratory.corpus import Corpus, corpus_of
from moverank.indexer.plugins.laboratory.distances import RowCache
from moverank.indexer.plugins.laboratory.method import parse_method
from moverank.indexer.reranking.pool import SearchPool
from moverank.indexer.reranking.texts import Texts
from moverank.rerank.scorers import scorer_class
from moverank.rerank.scorers.scorer_registry import PLUG_INS
from moverank.rerank.testing.sample_counts import Counted
from tests.indexer.plugins.laboratory.ranked import QUERY, ranked, trial_of
from tests.indexer.world import TABLE, Twin


@pytest.mark.parametrize("weights", ["tf", "tfidf"])
@pytest.mark.parametrize("distance", ["wmd", "pwmd", "rwmd", "wcd"])
def test_distances_equal_their_definition(distance: str, weights: str, corpus: Corpus, twin: Twin) -> None:
    twin.weights = weights
    distances = ranked(f"{distance}:weights={weights}", corpus.documents, corpus.queries)
    expected = twin.distances(QUERY, distance, 0.75 if distance == "pwmd" else 0.0)
    for key, row in corpus.documents.row_of.items():
        assert distances[0, row] == (pytest.approx(expected[key]) if key in expected else np.inf)
    assert np.isinf(distances[2:]).all()


def test_the_centroid_encoder_is_wcd(corpus: Corpus) -> None:
    for weights in ("tf", "tfidf"):
        encoded, exact = (
            ranked(f"{name}:weights={weights}", corpus.documents, corpus.queries) for name in ("centroid", "wcd")
        )
        assert encoded == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("name", PLUG_INS.names())
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
    assert distances[0] == pytest.approx(expected if scorer_class(name).ascending else -expected, rel=1e-6)
    assert np.isinf(distances[3]).all()  # a query without a word


@pytest.mark.parametrize("name", ["wmd", "rwmd", "wcd", "bow", "bm25", "centroid", "random", "bow:proximity=gamma"])
def test_the_nearest_have_the_smallest_of_all_distances(name: str, corpus: Corpus) -> None:
    """Scorers rank no document that shares no word with the query: the distance by `bow` is 2, the score by BM25 0."""
    every, unrelated = ranked(name, corpus.documents, corpus.queries), {"bow": 2.0, "bm25": 0.0}.get(name, np.inf)
    nearest = trial_of(corpus.documents, corpus.queries).nearest(parse_method(name), 5)
    for distances, rows in zip(every, nearest, strict=True):
        present = rows[rows >= 0]
        assert len(present) == min(5, (distances < unrelated).sum())
        assert distances[present] == pytest.approx(np.sort(distances)[: len(present)])


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of queries of each ranking of a pool from now on."""
    counts, rank = list[int](), SearchPool.rank

    def counting(pool: SearchPool, *arguments: object) -> object:
        counts.append(len(arguments[1]))  # type: ignore[arg-type]  # queries
        return rank(pool, *arguments)  # type: ignore[arg-type]  # those of `rank`

    monkeypatch.setattr(SearchPool, "rank", counting)
    return counts


def test_distances_and_neighbours_are_computed_once(pool: Texts, tmp_path: Path, solved: list[int]) -> None:
    first = ranked("wmd", pool, pool, RowCache(tmp_path / "cache"))
    assert np.array_equal(first, first.T)
    nearest = trial_of(pool, pool, RowCache(tmp_path / "cache")).nearest(parse_method("wmd"), 3)
    assert sum(solved) == 2 * len(pool)
    assert np.array_equal(ranked("wmd", pool, pool, RowCache(tmp_path / "cache")), first)
    again = trial_of(pool, pool, RowCache(tmp_path / "cache")).nearest(parse_method("wmd"), 3)
    assert np.array_equal(again, nearest)
    assert sum(solved) == 2 * len(pool)
    others = pool.take([0, 1, 2])
    assert np.array_equal(ranked("wmd", others, others, RowCache(tmp_path / "cache")), ranked("wmd", others, others))


@pytest.mark.parametrize("method", [*trial.SYMMETRIC, "cover", "rwmd:mu=5", "bow", "centroid"])
def test_distances_of_all_pairs_are_those_of_some_queries(method: str, pool: Texts) -> None:
    """Each pair is computed once if the distance is symmetric."""
    some = [3, 0, 7, 12, 13]
    np.testing.assert_allclose(ranked(method, pool, pool)[some], ranked(method, pool, pool.take(some)), rtol=1e-12)


def test_an_interrupted_run_continues(tmp_path: Path) -> None:
    computed = list[int]()

    def compute(rows: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        for row in rows.tolist():
            if len(computed) == 3:
                computed.append(-1)
                raise KeyboardInterrupt
            computed.append(row)
            yield np.array([0.0, row, np.inf])

    with pytest.raises(KeyboardInterrupt):
        RowCache(tmp_path).rows("made", (5, 3), np.float64, compute)
    rows = RowCache(tmp_path).rows("made", (5, 3), np.float64, compute)
    assert computed == [0, 1, 2, -1, 3, 4]
    assert rows.tolist() == [[0, row, np.inf] for row in range(5)]


def test_a_truncated_file_is_replaced(pool: Texts, tmp_path: Path) -> None:
    expected = ranked("rwmd", pool, pool, RowCache(tmp_path))
    (file,) = (path for path in tmp_path.iterdir() if path.is_file())
    file.write_bytes(file.read_bytes()[:50])
    assert np.array_equal(ranked("rwmd", pool, pool, RowCache(tmp_path)), expected)


@pytest.mark.slow
def test_another_title_weight_has_its_own_results(indexed: Collection, tmp_path: Path) -> None:
    indexed.index([Document(f"t{i}", title, (Part("bee cat"),)) for i, title in enumerate(("ant", "lark", "kiwi fox"))])
    light, cache = corpus_of(indexed).documents, RowCache(tmp_path)
    heavy = replace(light, title_weight=5.0)
    for method in ("wmd", "pwmd:gamma=1"):
        distances = [ranked(method, texts, texts, cache) for texts in (light, heavy)]
        assert not np.allclose(distances[0], distances[1])
        np.testing.assert_allclose(distances[1], ranked(method, heavy, heavy), rtol=1e-12)
        nearest = [trial_of(texts, texts, cache).nearest(parse_method(method), 3) for texts in (light, heavy)]
        assert np.array_equal(nearest[1], trial_of(heavy, heavy).nearest(parse_method(method), 3))


def test_the_number_of_distances_is_reported_before_a_long_run(
    pool: Texts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ranked("wmd", pool, pool)
    assert caplog.messages == []
    monkeypatch.setattr(trial, "LONG", 1)
    ranked("wmd", pool, pool)
    assert caplog.messages == [f"{len(pool) * (len(pool) + 1) // 2:,} distances by WMD are to be computed"]
