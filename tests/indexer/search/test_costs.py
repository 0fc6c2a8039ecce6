"""The costs of the terms add up to the total, and are what the manual's formula makes of the values."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from moverank import Collection, Embedding, Reranker
from moverank.rerank.ranking import Hit, Ranking, TermScale
from tests.indexer.search.test_by_sum import _documents
from tests.indexer.world import STOP_WORDS, TABLE, VECTORS, WORDS, CollectionFactory, document, typical
from tests.installed import installed

TERMS = installed(
    (
        *("wmd", "wmd:mu=5", "pwmd:gamma=0.5", "wmd:proximity=empirical", "wmd:proximity=gamma"),
        *("rwmd:mu=3", "rwmd", "chamfer", "chamfer:mu=2", "cover", "wcd", "wcd:mu=4", "cosine"),
        *("bm25", "bm25:stem=english", "bm25:ngrams=2", "bm25:k1=2", "tfidf", "bow", "pl2", "translation"),
        *("lsi:dim=3", "vector", "prior:field=votes", "prior:field=votes,scale=linear"),
    )
)
TRANSPORT = ("wmd", "pwmd")
DOCUMENTS = _documents(60)
KEYS = [one.key for one in DOCUMENTS[::3]]


def _has_one_transport(terms: list[str]) -> bool:
    """Return whether a sum of these terms is allowed: one transport problem, one gamma."""
    names = [term.partition(":")[0] for term in terms]
    return sum(name in TRANSPORT for name in names) < 2


RANKINGS = st.lists(st.sampled_from(TERMS), min_size=1, max_size=5, unique=True).filter(_has_one_transport)
WEIGHTS = st.lists(st.floats(0.01, 9), min_size=5, max_size=5)
QUERIES = st.sampled_from(["ant bee zorp", "elk elk fox", "quux gnu hen cat", "lark", "zorp quux ant"])


@pytest.fixture(scope="module")
def filled(factory: CollectionFactory) -> Iterator[Collection]:
    """Return a collection that is partly in a snapshot, partly in the tail; tests do not change it."""
    with factory.partly_stored(_documents(40), DOCUMENTS, weights="tfidf") as collection:
        yield collection


def _scaled(scale: TermScale, value: float) -> float:
    """Return the cost of a value by the manual's formula."""
    if scale.best is None:
        return scale.weight
    if scale.term.startswith("prior") and "linear" not in scale.term:
        value, best = math.log1p(value), scale.best
    else:
        best = scale.best
    return scale.weight * abs(value - best) / (1.0 if scale.unit is None else scale.unit)


def _check(ranking: Ranking, hit: Hit) -> None:
    assert hit.total is not None
    assert math.fsum(dict(hit.costs).values()) == pytest.approx(hit.total, rel=1e-9, abs=1e-12)
    names = [scale.part for scale in ranking.terms]
    assert [name for name, _ in hit.costs] == [name for name, _ in hit.parts] == names
    for scale, (_, value), (_, cost) in zip(ranking.terms, hit.parts, hit.costs, strict=True):
        assert cost >= 0
        if not math.isnan(value) and "mu=" not in scale.term and "proximity=" not in scale.term:
            assert cost == pytest.approx(_scaled(scale, value), rel=1e-9, abs=1e-9)


def _check_ranking(ranking: Ranking, terms: list[str], weights: list[float], k: int | None = None) -> None:
    """Check the first `k` hits; later candidates have totals, or bounds of these, without parts."""
    assert [(scale.term, scale.weight) for scale in ranking.terms] == [
        (_sorted(term), float(f"{weight:g}")) for term, weight in zip(terms, weights, strict=False)
    ]
    assert len({scale.name for scale in ranking.terms}) == len({scale.part for scale in ranking.terms}) == len(terms)
    for hit in ranking.hits[:k]:
        if hit.total is not None:
            _check(ranking, hit)


def _sorted(term: str) -> str:
    name, colon, options = term.partition(":")
    return name + colon + ",".join(sorted(options.split(",")))


@given(RANKINGS, WEIGHTS, QUERIES, st.integers(1, 70), st.sampled_from([None, 12]))
def test_costs_add_up_in_a_search_and_in_stored_candidates(
    filled: Collection, terms: list[str], weights: list[float], query: str, k: int, depth: int | None
) -> None:
    rank = "+".join(f"{weight:g}*{term}" for term, weight in zip(terms, weights, strict=False))
    _check_ranking(filled.search(query, k=min(k, depth or k), rank=rank, depth=depth), terms, weights)
    _check_ranking(filled.rerank(query, KEYS, k, rank=rank), terms, weights, k)


@given(RANKINGS, WEIGHTS, QUERIES)
def test_costs_add_up_in_reranked_texts(terms: list[str], weights: list[float], query: str) -> None:
    terms = [term for term in terms if not term.startswith(("lsi", "translation"))] or ["cover", "bm25"]
    rank = "+".join(f"{weight:g}*{term}" for term, weight in zip(terms, weights, strict=False))
    reranker = Reranker(Embedding.of(WORDS, VECTORS), frozenset(STOP_WORDS))
    scores = [None if i % 7 == 3 else float(i * i % 11) for i in range(len(KEYS))]
    ranking = reranker.rank(query, DOCUMENTS[: len(KEYS)], scores=scores, rank=rank)
    _check_ranking(ranking, terms, weights)
    names = {scale.part: scale.name for scale in ranking.terms}
    assert names.get("vector", "engine's score") == "engine's score"


def test_an_explanation_has_the_costs_of_the_hit(filled: Collection) -> None:
    rank = "wmd:mu=5+0.5*cover+1.5*bm25+cosine"
    found = filled.search("ant bee zorp", k=9, rank=rank)
    for hit in found.hits:
        if not math.isnan(hit.distance):
            explanation = filled.explain("ant bee zorp", hit.key, rank=rank)
            assert explanation.terms == found.terms
            assert dict(explanation.costs) == pytest.approx(dict(hit.costs))


def test_terms_have_names_in_words(filled: Collection) -> None:
    rank = "wmd:mu=20+0.5*cover+2*bm25:k1=1.6+cosine+0.1*prior:field=votes"
    names = [scale.name for scale in filled.search("ant", rank=rank).terms]
    assert names == ["distance", "covered", "shared words", "topic", "votes"]
    several = [scale.name for scale in filled.search("ant", rank="bm25+tfidf+bm25:k1=2").terms]
    assert several == ["shared words (bm25)", "shared words (tfidf)", "shared words (bm25:k1=2)"]
    for rank in ("wmd", "bm25"):
        (scale,) = filled.search("ant", rank=rank).terms
        assert (scale.term, scale.weight, scale.unit, scale.best) == (rank, 1.0, None, None)


def test_a_term_that_is_written_twice_counts_twice(filled: Collection) -> None:
    twice, once = (filled.search("ant bee", k=9, rank=rank) for rank in ("cover+bm25+cover", "2*cover+bm25"))
    assert twice.terms == once.terms
    assert twice.to_dict()["hits"] == once.to_dict()["hits"]


def _bag(text: str) -> tuple[Any, Any]:
    known = sorted({word for word in text.split() if word in TABLE})
    counts = np.array([text.split().count(word) for word in known], float)
    return counts / counts.sum(), np.array([TABLE[word] for word in known])


def test_a_total_is_that_of_pot_and_bm25s_by_the_formula_of_the_manual(factory: CollectionFactory) -> None:
    bm25s = pytest.importorskip("bm25s")
    rng = np.random.default_rng(4)
    texts = [" ".join(rng.choice([*WORDS, "zorp"], int(rng.integers(3, 12)))) for _ in range(40)]
    query, mu, weights = "ant bee zorp zorp elk", 20, (1.0, 0.5, 2.0, 0.7)
    (own, vectors), bags = _bag(query), [_bag(text) for text in texts]
    costs = [cdist(vectors, others) for _, others in bags]
    covers = [float(own @ cost.min(axis=1)) for cost in costs]
    relaxed = [
        max(cover, float(bag @ cost.min(axis=0))) for cover, cost, (bag, _) in zip(covers, costs, bags, strict=True)
    ]
    unit = typical(relaxed)
    distances = [float(ot.emd2(own, bag, cost)) for cost, (bag, _) in zip(costs, bags, strict=True)]
    index = bm25s.BM25(k1=1.6, b=0.75, method="atire", idf_method="lucene", dtype="float64")
    index.index([text.split() for text in texts], show_progress=False)
    scores = np.array(index.get_scores(query.split()))
    means = [float(1 - _cosine(own @ vectors, bag @ others)) for bag, others in bags]
    mean = typical(means)

    rank = f"{weights[0]}*wmd:mu={mu}+{weights[1]}*cover+{weights[2]}*bm25:k1=1.6+{weights[3]}*cosine"
    with factory.filled([document(f"d{i}", text) for i, text in enumerate(texts)]) as collection:
        found = collection.search(query, k=40, rank=rank)
    assert len(found.hits) == 40
    for hit in found.hits:
        i = int(hit.key[1:])
        n = sum(word in TABLE for word in texts[i].split())
        share = n / (n + mu)
        expected = [
            weights[0] * (share * distances[i] / unit + (1 - share)),
            weights[1] * covers[i] / unit,
            weights[2] * (1 - scores[i] / scores.max()),
            weights[3] * means[i] / mean,
        ]
        assert [cost for _, cost in hit.costs] == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert hit.total == pytest.approx(sum(expected), rel=1e-6)
    assert [scale.unit for scale in found.terms] == pytest.approx([unit, unit, scores.max(), mean], rel=1e-6)


def test_the_costs_of_a_small_ranking_computed_by_hand() -> None:
    """`wmd:mu=8` costs .2 * 2 / 5 + .8, since s = 2 / (2 + 8); `0.5*cover` .5 * 2 / 5; `2*bm25` 2 * .37 / 1.277."""
    vectors = np.array([[0, 0], [6, 0], [10, 0]], np.float32)
    reranker = Reranker(Embedding.of(["plug", "socket", "train"], vectors), rank="wmd:mu=8+0.5*cover+2*bm25")
    ranking = reranker.rank("plug train", {"a": "plug socket", "b": "socket", "c": "train train"})
    (hit,) = [hit for hit in ranking.hits if hit.key == "a"]
    names = [(term.name, term.weight) for term in ranking.terms]
    assert names == [("distance", 1), ("covered", 0.5), ("shared words", 2)]
    assert [(name, round(value, 3)) for name, value in hit.parts] == [("wmd", 2), ("cover", 2), ("bm25", 0.907)]
    assert [round(term.unit or 0, 3) for term in ranking.terms] == [5, 5, 1.277]
    assert [round(cost, 3) for _, cost in hit.costs] == [0.88, 0.2, 0.58]
    assert hit.total == pytest.approx(1.66, abs=5e-4) == sum(cost for _, cost in hit.costs)


def _cosine(one: Any, other: Any) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
