"""Percentiles of hits: those of the complete ranking where known, and intervals that contain them elsewhere."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from moverank import Collection, Hit, Ranking, UsageError
from moverank.indexer.search import percentiles
from moverank.indexer.search.view import View
from tests.indexer.search.conftest import Searchable
from tests.indexer.world import WORDS, CollectionFactory, document, random_documents

QUERY = "ant bee fox"
RANKINGS = (
    *("wmd", "pwmd:gamma=0.5", "rwmd", "chamfer", "wcd", "bow", "bm25", "cosine"),
    *("wmd:weights=tfidf,mu=5+0.5*cover+1.5*bm25+cosine", "wmd:proximity=empirical", "tfidf+bm25"),
)
RED = {"year": ["1991", "1994", "1998"]}


def _value(hit: Hit) -> float:
    if hit.total is not None:
        return hit.total
    return hit.distance if np.isfinite(hit.distance) else -hit.score


def _true_shares(collection: Collection, found: Ranking, documents: int, **options: Any) -> list[float]:
    """Return the share of documents above each hit, by the complete ranking."""
    ranked = collection.search(QUERY, k=999, exact=True, **options).hits
    values = np.array([_value(hit) for hit in ranked])
    return [float(np.sum(values < _value(hit) - 1e-7)) / documents for hit in found.hits]


def _shares(found: Ranking) -> list[float]:
    return [hit.percentile.share for hit in found.hits if hit.percentile is not None]


@pytest.mark.parametrize("rank", RANKINGS)
def test_places_are_percentiles(searchable: Searchable, rank: str) -> None:
    collection, twin = searchable.flat()
    found = collection.search(QUERY, k=9, exact=True, rank=rank, percentile=True)
    expected = _true_shares(collection, found, len(twin.documents), rank=rank)
    assert len(expected) > 0
    for hit, share in zip(found.hits, expected, strict=True):
        assert hit.percentile is not None
        assert hit.percentile.low == hit.percentile.share == hit.percentile.high == pytest.approx(share)
    plain = collection.search(QUERY, k=9, exact=True, rank=rank)
    assert [hit.key for hit in plain.hits] == [hit.key for hit in found.hits]
    assert all(hit.percentile is None for hit in plain.hits)


@pytest.mark.parametrize("rank", RANKINGS)
def test_a_sample_of_all_documents_gives_the_shares_despite_a_filter(searchable: Searchable, rank: str) -> None:
    collection, twin = searchable.flat()
    for options in ({"where": RED}, {"depth": 20}, {"where": RED, "group_by": "year"}):
        found = collection.search(QUERY, k=9, rank=rank, percentile=True, **options)
        expected = _true_shares(collection, found, len(twin.documents), rank=rank)
        assert len(expected) > 0
        assert _shares(found) == pytest.approx(expected)
        assert all(hit.percentile and hit.percentile.low == hit.percentile.high for hit in found.hits)


@pytest.mark.parametrize("rank", ["wmd:mu=5+0.5*cover+2*bm25+cosine", "bm25+cosine", "lsi:dim=3+tfidf"])
def test_a_filter_changes_no_value_of_the_sample(factory: CollectionFactory, rank: str) -> None:
    with factory.empty() as collection:
        documents = random_documents(400, seed=8)
        collection.index(replace(each, label=f"l{i % 40}") for i, each in enumerate(documents))
        found = collection.search(QUERY, k=9, rank=rank, where={"label": ["l7"]}, percentile=True)
        expected = _true_shares(collection, found, 400, rank=rank)
        assert len(expected) == 9
        assert _shares(found) == pytest.approx(expected)


@pytest.fixture(scope="module")
def large(factory: CollectionFactory) -> Iterator[Collection]:
    """Return a collection of 250 documents, some of which occur twice."""
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(240)]
    with factory.empty() as collection:
        years = ({"year": str(1990 + i % 10)} for i in range(250))
        collection.index(document(f"d{i}", texts[i % 240], metadata=year) for i, year in enumerate(years))
        yield collection


@pytest.fixture
def other_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each query draw samples of its own, of 20 and of 60 documents."""
    rng, order = np.random.default_rng(5), np.zeros(250, np.uint64)

    def draw(view: View, _without: int | None, size: int) -> percentiles.Population:
        if size == 20:
            order[:] = rng.permutation(250)
        ids, chosen = np.sort(view.scores.ids), np.sort(np.argsort(order)[:size])
        return percentiles.Population(250, ids[chosen], order[chosen])

    for name, number in {"FEW": 20, "SAMPLED": 60, "_FEW_ABOVE": 2}.items():
        monkeypatch.setattr(percentiles, name, number)
    monkeypatch.setattr(percentiles.Population, "of", draw)


@pytest.mark.slow
@pytest.mark.usefixtures("other_samples")
@pytest.mark.parametrize("rank", ["wmd", "rwmd", "bm25", "wmd:mu=5+0.5*cover+2*bm25+cosine"])
def test_intervals_contain_the_true_shares(large: Collection, rank: str) -> None:
    covered = total = 0
    for query in np.random.default_rng(6).choice(WORDS, (12, 4)).tolist():
        text = " ".join(query)
        every = np.array([_value(hit) for hit in large.search(text, k=250, exact=True, rank=rank).hits])
        found = large.search(text, k=15, rank=rank, where={"year": ["1993", "1997"]}, percentile=True)
        last = (0.0, 0.0, 0.0)
        for hit in found.hits:
            true, own = float(np.sum(every < _value(hit) - 1e-7)) / 250, hit.percentile
            assert own is not None
            assert 0 <= own.low <= own.share <= own.high <= 1
            assert last <= (own.share, own.low, own.high)
            last, total = (own.share, own.low, own.high), total + 1
            covered += own.low <= true <= own.high
    assert total > 100
    assert covered >= 0.95 * total


def test_the_query_itself_does_not_count(searchable: Searchable) -> None:
    collection, twin = searchable.flat()
    found = collection.similar("d3", k=5, rank="wmd", percentile=True)
    own, filtered = len(twin.documents) - 1, collection.similar("d3", k=5, rank="wmd", percentile=True, where=RED)
    assert _shares(found) == pytest.approx([i / own for i in range(5)])
    whole = [hit.key for hit in collection.similar("d3", k=99, rank="wmd").hits]
    assert _shares(filtered) == pytest.approx([whole.index(hit.key) / own for hit in filtered.hits])


@pytest.mark.parametrize("rank", ["wmd", "bm25", "wmd+bm25"])
def test_a_share_ends_the_list(searchable: Searchable, rank: str, subtests: pytest.Subtests) -> None:
    collection, _ = searchable.flat()
    for options in ({}, {"where": RED}, {"depth": 45}, {"group_by": "label"}):
        whole = collection.search(QUERY, k=40, rank=rank, percentile=True, **options)
        for share in ("0%", ".5%", "7%", "25.0 %", "100.0%"):
            found = collection.search(QUERY, k=40, rank=rank, max_distance=share, **options)
            most = float(share.rstrip(" %")) / 100
            with subtests.test(share=share, options=options):
                assert [hit.key for hit in found.hits] == [
                    hit.key for hit in whole.hits if hit.percentile and hit.percentile.share <= most + 1e-9
                ]
                assert _shares(found) == _shares(whole)[: len(found.hits)]
                assert not whole.certified or found.certified
                assert not found.certified or found.scope == "collection"


def test_candidates_below_a_share_have_an_honest_error(searchable: Searchable) -> None:
    collection, _ = searchable.flat()
    best = collection.search(QUERY, k=1, rank="wmd", exact=True).hits[0].distance
    for depth in (5, 10, 20):
        whole = collection.search(QUERY, k=5, depth=depth, rank="wmd", percentile=True)
        found = collection.search(QUERY, k=5, depth=depth, rank="wmd", max_distance="3%")
        if len(found.hits) < len(whole.hits) and not found.certified:
            assert whole.hits[len(found.hits)].distance - best <= found.largest_error + 1e-9


def test_percentiles_survive_json(searchable: Searchable) -> None:
    collection, _ = searchable.flat()
    found = collection.search(QUERY, k=3, percentile=True)
    assert Ranking.from_dict(found.to_dict()).to_dict() == found.to_dict()
    assert found.to_dict()["hits"][0]["percentile"] == {"share": 0.0, "low": 0.0, "high": 0.0}
    assert "percentile" not in collection.search(QUERY, k=3).to_dict()["hits"][0]


@pytest.mark.parametrize("share", ["0.1", "%", "-1%", "101%", "100.1%", "1e1%", "1%\n", "nan%", "0.1 percent", "١%"])
def test_what_is_no_share_is_refused(searchable: Searchable, share: str) -> None:
    collection, _ = searchable.flat()
    with pytest.raises(UsageError, match=r"or a share such as 0\.1%, not"):
        collection.search(QUERY, max_distance=share)


def test_what_does_not_go_with_percentiles_is_refused(searchable: Searchable) -> None:
    collection, _ = searchable.flat()
    with pytest.raises(UsageError, match="percentiles go without --budget"):
        collection.search(QUERY, percentile=True, budget=1.0)
    with pytest.raises(UsageError, match="a limit in percent goes with search and similar"):
        collection.why_not(QUERY, "d3", max_distance="1%")
    assert collection.why_not(QUERY, "d3", percentile=True).k == 10


def test_no_hits_have_no_percentiles(searchable: Searchable) -> None:
    collection, _ = searchable.flat()
    assert collection.search(QUERY, percentile=True, where={"label": ["none"]}).hits == ()
    assert collection.search(QUERY, percentile=True, max_distance=0.0, rank="wmd").hits == ()


def test_intervals_are_those_of_clopper_and_pearson() -> None:
    above = np.array([0, 1, 7, 40, 59, 60])
    low, high = percentiles.interval(above, 60)
    for count, *own in zip(above.tolist(), low.tolist(), high.tolist(), strict=True):
        expected = binomtest(count, 60).proportion_ci(0.975, "exact")
        assert own == pytest.approx([expected.low, expected.high], abs=1e-9)


def test_shards_draw_different_ids() -> None:
    ids = np.arange(50_000)
    one, other = (percentiles.Population.drawn(ids, shard).ids for shard in ("s1", "s2"))
    assert len(np.intersect1d(one, other)) == pytest.approx(500, abs=100)
    assert percentiles.Population.drawn(ids, "s1").ids.tolist() == one.tolist()


def test_an_added_document_replaces_at_most_one_of_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(percentiles, "SAMPLED", 500)
    ids = np.arange(3, 9003)
    one, other = (percentiles.Population.drawn(own) for own in (ids, np.append(ids, 9003)))
    assert len(one.ids) == len(other.ids) == 500
    assert len(np.setdiff1d(one.ids, other.ids)) <= 1
    places = np.searchsorted(ids, one.ids)
    assert np.all(np.diff(places) > 0)
    assert np.abs(np.histogram(places, 10, (0, 9000))[0] - 50).max() < 30
