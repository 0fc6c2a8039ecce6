"""A collection in shards answers as one collection of the same documents, which brute force checks elsewhere."""

import math
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document, Explanation, SearchOptions, Settings
from moverank.indexer.errors import CollectionError, PruneRefused, RecordError, SettingsError, UnknownKey, UsageError
from moverank.indexer.maintenance.backup import copy_collection
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.plugins.laboratory.evaluating import RetrievalExperiment
from moverank.indexer.plugins.shards.cluster import Cluster
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, ShardPlace, shard_of
from moverank.indexer.search import percentiles
from moverank.indexer.search.view import View
from moverank.indexer.values.documents import NamedSource, Origin, Rejection
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Hit, Ranking
from tests.indexer.plugins.shards.conftest import MakeCluster, Open, contents_of, created, keep_local
from tests.indexer.plugins.shards.local_shards import LocalShards
from tests.indexer.world import (
    NO_VECTOR,
    WORDS,
    CollectionFactory,
    MakeCollection,
    Twin,
    check_exact,
    document,
    random_documents,
    snapshot_above,
)
from tests.samples import examples

pytestmark = pytest.mark.usefixtures("local")

RANKINGS = (
    "wmd",
    "pwmd",
    "rwmd",
    "wcd",
    "chamfer:weights=tfidf",
    "bm25:stem=english",
    "bm25:gamma=0.5",
    "tfidf",
    "bow",
    "pl2",
    "pwmd:weights=tfidf+0.4*bm25",
    "wmd:mu=20,weights=tfidf+0.5*cover+2*bm25:k1=1.6,stem=english+cosine",
    "wmd+0.3*prior:field=votes",
    "0.7*rwmd+0.2*bm25+0.1*tfidf",
    "wmd+2*bm25:ngrams=2,gamma=0.5",
)


def _documents(count: int, seed: int = 5) -> list[Document]:
    """Return threads of random words, some of them without a vector."""
    rng, found = np.random.default_rng(seed), []
    for i in range(count):
        posts = [" ".join(rng.choice([*WORDS, *NO_VECTOR], int(rng.integers(1, 9)))) for _ in range(1 + i % 3)]
        metadata = {"year": 1990 + i % 10} | ({"votes": i * i % 17} if i % 4 else {})
        found.append(document(f"d{i}", *posts, label="red" if i % 3 else "blue", metadata=metadata))
    return [*found, document("none", "zorp"), document("copy", *(part.text for part in found[0].parts))]


def _value(hit: Hit) -> float:
    if hit.total is not None:
        return hit.total
    return hit.distance if math.isfinite(hit.distance) else float(hit.score)


def _check_same(found: Ranking, expected: Ranking) -> None:
    """Check that two rankings have the same values; the order of equal ones is that of the shards."""
    assert [_value(hit) for hit in found.hits] == pytest.approx([_value(hit) for hit in expected.hits], abs=1e-9)
    last = _value(expected.hits[-1]) if expected.hits else 0.0
    mine, theirs = (
        {hit.key: dict(hit.parts) for hit in ranking.hits if abs(_value(hit) - last) > 1e-9}
        for ranking in (found, expected)
    )
    assert mine.keys() == theirs.keys()
    for hit in found.hits:
        assert sum(dict(hit.costs).values()) == pytest.approx(hit.total or 0.0)
    units, expected_units = ([(one.part, one.unit, one.best) for one in each.terms] for each in (found, expected))
    if found.hits:
        expected_flat = [value for term in expected_units for value in term]
        assert [value for term in units for value in term] == pytest.approx(expected_flat)
    for key, parts in mine.items():
        assert parts == pytest.approx(theirs[key], nan_ok=True, abs=1e-9)
    assert (found.certified, found.scope, found.ranked_by) == (expected.certified, expected.scope, expected.ranked_by)
    assert (found.unknown_words, found.ignored_words) == (expected.unknown_words, expected.ignored_words)
    assert found.missing_shards == ()


@pytest.fixture(scope="module", params=[pytest.param("tail", marks=pytest.mark.slow), "snapshot and tail"])
def both(request: pytest.FixtureRequest, factory: CollectionFactory) -> Iterator[tuple[Cluster, Collection]]:
    """Return the same documents in shards and in one collection; tests do not change them."""
    documents = _documents(60)
    with ExitStack() as opened:
        with pytest.MonkeyPatch.context() as patch:
            keep_local(patch)
            cluster = opened.enter_context(closing(created(factory)))
            one = opened.enter_context(factory.empty())
            for each in (cluster, one):
                if request.param == "tail":
                    each.index(documents)
                    continue
                snapshot_above(patch, 0)
                each.index([*documents[:40], document("gone", "ant bee")])
                snapshot_above(patch, 99)
                each.index(documents[30:])
                each.remove(["gone"])
        yield cluster, one


_OF_EACH_KIND = ("wmd", "bm25:stem=english", RANKINGS[11])


@pytest.mark.parametrize(
    "rank", [pytest.param(rank, marks=[] if rank in _OF_EACH_KIND else pytest.mark.slow) for rank in RANKINGS]
)
def test_rankings_are_those_of_one_collection(rank: str, both: tuple[Cluster, Collection]) -> None:
    cluster, one = both
    for query in ("elk elk fox zorp", "quux zorp gnu hen of nowhere"):
        for options in ({}, {"k": 99, "where": ["label=red", "year<1996"]}, {"k": 4, "max_distance": 1.1}):
            if "max_distance" in options and rank.partition(":")[0] in ("bm25", "tfidf", "pl2"):
                continue
            _check_same(cluster.search(query, rank=rank, **options), one.search(query, rank=rank, **options))
    for key in ("d17", "copy"):
        _check_same(cluster.similar(key, rank=rank, k=5), one.similar(key, rank=rank, k=5))


@pytest.mark.parametrize("rank", ["wmd+bm25", "bm25", RANKINGS[11]])
def test_misspelt_words_become_those_of_any_shard(rank: str, both: tuple[Cluster, Collection]) -> None:
    for query in ("ant zrop", "quxu kiwo"):
        found, expected = (each.search(query, k=9, rank=rank, exact=True) for each in both)
        _check_same(found, expected)
        assert found.respelled_words == expected.respelled_words
        assert found.respelled_words


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["tf", "norm"])
def test_weights_by_the_lengths_of_vectors_are_those_of_one_collection(
    weights: str, make_collection: MakeCollection, make_cluster: MakeCluster
) -> None:
    documents = _documents(40)
    cluster, one = make_cluster(documents, normalize=True, weights=weights), make_collection(normalize=True)
    one.index(documents)
    for rank in ("wmd:weights=norm", "chamfer:weights=norm,gamma=0.5", "pwmd:weights=norm+0.4*bm25+cosine"):
        _check_same(cluster.search("elk fox zorp", rank=rank), one.search("elk fox zorp", rank=rank))
        _check_same(cluster.similar("d17", rank=rank, k=5), one.similar("d17", rank=rank, k=5))
    rank = "wmd:weights=norm"
    first, second = cluster.explain("elk fox", "d3", rank=rank), one.explain("elk fox", "d3", rank=rank)
    assert first.flows == second.flows
    pairs = [[pair.keys for pair in each.pairs(k=5, rank=rank).pairs] for each in (cluster, one)]
    assert pairs[0] == pairs[1]
    with pytest.raises(UsageError, match="static embedding model"):
        cluster.search("elk", rank="wmd:weights=model")
    with pytest.raises(UsageError, match="length 1"):
        make_cluster([], weights="norm")


@pytest.mark.slow
def test_what_is_kept_of_a_shard_follows_changes_of_the_others(
    make_collection: MakeCollection, make_cluster: MakeCluster, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words of all shards weight those of a shard, whose own documents and snapshot stay as they are."""
    snapshot_above(monkeypatch, 0)
    documents, rank = _documents(60), "wmd:weights=tfidf+cosine"
    cluster, one = make_cluster(documents), make_collection()
    one.index(documents)
    _check_same(cluster.search("ant bee elk", rank=rank), one.search("ant bee elk", rank=rank))
    first, *_ = names = [place.name for place in cluster.file.shards]
    added = [key for key in (f"new{i}" for i in range(60)) if shard_of(key, names) == first]
    for each in (cluster, one):
        each.index([document(key, "ant bee") for key in added])
    _check_same(cluster.search("ant bee elk", rank=rank), one.search("ant bee elk", rank=rank))
    _check_same(opened(cluster.path).search("ant bee elk", rank=rank), one.search("ant bee elk", rank=rank))


def test_distances_are_those_of_brute_force(make_cluster: MakeCluster) -> None:
    documents = _documents(40)
    twin = Twin.of([each for each in documents if each.key != "none"])
    check_exact(make_cluster(documents, 4).search("ant fox gnu", rank="wmd", k=7), twin.distances("ant fox gnu"), 7)


@pytest.mark.slow
@examples(0.1)
@given(data=st.data())
def test_any_changes_leave_what_one_collection_has(
    data: st.DataObject, make_collection: MakeCollection, make_cluster: MakeCluster
) -> None:
    documents = {each.key: each for each in _documents(12, seed=9)}
    cluster, one = make_cluster([], data.draw(st.integers(1, 4))), make_collection()
    for _ in range(data.draw(st.integers(1, 4))):
        chosen = data.draw(st.lists(st.sampled_from(sorted(documents)), unique=True))
        texts = data.draw(st.sampled_from(["ant bee", "cat cat dog", "zorp", "lark quux elk"]))
        changed = [document(key, texts) if i % 2 else documents[key] for i, key in enumerate(chosen)]
        mine, theirs = cluster.index(changed), one.index(changed)
        assert (mine.added, mine.updated, mine.unchanged) == (theirs.added, theirs.updated, theirs.unchanged)
        gone = chosen[::3]
        assert cluster.remove(gone).removed == one.remove(gone).removed == len(gone)
    assert len(cluster) == len(one)
    for rank in ("wmd", "pwmd:weights=tfidf+0.4*bm25"):
        try:
            expected = one.search("ant bee elk", rank=rank)
        except NoKnownWords:
            continue
        _check_same(cluster.search("ant bee elk", rank=rank), expected)


@pytest.mark.slow
def test_few_more_problems_are_solved_than_in_one_collection(both: tuple[Cluster, Collection]) -> None:
    cluster, one = both
    solved = [
        (cluster.search(query, rank="wmd", k=5).counts.solved, one.search(query, rank="wmd", k=5).counts.solved)
        for query in ("ant bee cat", "elk fox", "lark gnu", "hen dog ibis")
    ]
    assert sum(mine for mine, _ in solved) <= 1.5 * sum(theirs for _, theirs in solved)


@pytest.mark.parametrize("rank", ["wmd", "bm25", "tfidf+0.5*bm25+0.1*pl2", RANKINGS[11]])
def test_a_search_takes_three_phases_and_a_message_for_the_hits(rank: str, make_cluster: MakeCluster) -> None:
    cluster = make_cluster(_documents(60))
    shards = cast(LocalShards, cluster.shards)
    cluster.search("ant bee", k=3, rank=rank)
    before = shards.calls
    cluster.search("elk fox gnu", k=3, rank=rank)
    assert shards.calls - before == 4


@pytest.mark.slow
def test_a_budget_ends_a_search_with_an_honest_error(make_cluster: MakeCluster) -> None:
    documents = _documents(60)
    cluster = make_cluster(documents)
    full = cluster.search("ant bee cat dog", rank="wmd", k=5)
    short = cluster.search("ant bee cat dog", rank="wmd", k=5, budget=1e-6)
    assert len(short.hits) == 5
    assert short.hits[-1].distance - full.hits[-1].distance <= short.largest_error + 1e-9
    stopped = cluster.search("ant bee cat dog", rank="wmd", k=5, stop=lambda: True)
    assert len(stopped.hits) == 5


def test_candidates_of_a_sum_are_also_those_of_its_scorer(both: tuple[Cluster, Collection]) -> None:
    cluster, one = both
    options: dict[str, Any] = {"rank": "pwmd:gamma=0.5+0.4*bm25:stem=english", "k": 3}
    found, whole = cluster.search("ant bee cat", depth=5, **options), one.search("ant bee cat", **options | {"k": 99})
    totals = {hit.key: hit.total for hit in whole.hits}
    assert [hit.total for hit in found.hits] == pytest.approx([totals[hit.key] for hit in found.hits], abs=1e-9)


def test_candidates_are_chosen_in_each_shard(both: tuple[Cluster, Collection]) -> None:
    cluster, one = both
    found = cluster.search("ant bee cat", rank="wmd", k=3, depth=5)
    best = [hit.distance for hit in one.search("ant bee cat", rank="wmd", k=3).hits]
    assert all(hit.distance >= least - 1e-9 for hit, least in zip(found.hits, best, strict=True))
    assert found.counts.candidates <= 15
    proven = cluster.search("ant bee cat", rank="wmd", k=3, depth=5, exact=True)
    assert proven.certified
    assert [hit.distance for hit in proven.hits] == pytest.approx(best)


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["bm25", "pl2", "tfidf"])
def test_few_hits_among_candidates_of_a_scorer_prove_nothing(
    rank: str, make_cluster: MakeCluster, make_collection: MakeCollection
) -> None:
    common = [document(f"d{i}", f"lark {'gnu ' * 3}") for i in range(2)]
    rare = [document(f"e{i}", f"lark {'ant bee cat ' * 9}") for i in range(9)]
    others = [document(f"o{i}", "gnu hen") for i in range(40)]
    documents = [*common, *rare, *others]
    cluster, one = make_cluster(documents), make_collection()
    one.index(documents)
    options: dict[str, Any] = {"rank": rank, "k": 9, "depth": 9}
    found, whole = cluster.search("lark gnu gnu", **options), one.search("lark gnu gnu", **options | {"depth": None})
    assert len(whole.hits) == 9
    few = cluster.search("lark", **options)
    assert len(few.hits) < 9
    for ranking in (found, few, one.search("lark", **options)):
        assert (ranking.certified, ranking.scope) == (False, "candidates")


@pytest.mark.slow
@pytest.mark.parametrize("idle", [False, True])
def test_a_shard_that_is_lost_is_asked_again(idle: bool, make_cluster: MakeCluster) -> None:
    cluster = make_cluster(_documents(30))
    expected = cluster.search("ant bee", k=4)
    shards = cast(LocalShards, cluster.shards)
    shards.idle = idle
    for later in range(1, 12):
        shards.restart_at = {shards.calls + later: "s2"}
        _check_same(cluster.search("ant bee", k=4), expected)
        cluster.refresh()


def test_a_missing_shard_is_named_and_nothing_is_certified(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(_documents(30))
    shards = cast(LocalShards, cluster.shards)
    shards.killed = {"s2"}
    cluster.refresh()
    found = cluster.search("ant bee", rank="wmd", k=4)
    assert (found.missing_shards, found.certified, found.scope) == (("s2",), False, "shards")
    assert found.largest_error == pytest.approx(found.hits[-1].distance)
    shards.killed, before = {"s1", "s2", "s3"}, shards.calls
    cluster.refresh()
    with pytest.raises(CollectionError, match="the shard s1, s2, s3 cannot be reached"):
        cluster.search("ant bee")
    assert shards.calls - before < 20  # they are waited for once
    shards.killed = set()
    cluster.refresh()
    assert cluster.search("ant bee", k=4).certified


@pytest.mark.slow
def test_another_process_changes_a_shard(make_cluster: MakeCluster, opened: Open) -> None:
    cluster = make_cluster(_documents(10))
    other = opened(cluster.path)
    assert cluster.search("kiwi kiwi", rank="wmd", k=1).hits[0].distance > 0
    other.index([document("new", "kiwi")])
    assert cluster.search("kiwi kiwi", rank="wmd", k=1).hits[0].distance > 0  # as of the first search
    cluster.refresh()
    assert cluster.search("kiwi kiwi", rank="wmd", k=1).hits[0].key == "new"


@pytest.mark.slow
def test_explanations_are_those_of_one_collection(both: tuple[Cluster, Collection]) -> None:
    cluster, one = both
    for rank in ("wmd", "wmd:mu=20,weights=tfidf+0.5*cover+2*bm25+cosine"):
        for key in ("d1", "d2", "d3", "d4"):
            mine, theirs = cluster.explain("ant bee cat", key, rank=rank), one.explain("ant bee cat", key, rank=rank)
            assert mine.distance == pytest.approx(theirs.distance, abs=1e-9)
            assert mine.total == pytest.approx(theirs.total, abs=1e-9)
            assert _places(mine) == _places(theirs)
            own, other = (each.why_not("ant bee cat", key, rank=rank, k=2) for each in (cluster, one))
            assert own.stage == other.stage
            assert own.kth == pytest.approx(other.kth, abs=1e-9)
            assert own.bounds == pytest.approx(other.bounds, abs=1e-9)
        for key in ("d2", "d3", "d4"):
            mine, theirs = (each.explain(similar="d1", key=key, rank=rank) for each in (cluster, one))
            assert mine.distance == pytest.approx(theirs.distance, abs=1e-9)
            assert mine.total == pytest.approx(theirs.total, abs=1e-9)
            assert _places(mine) == _places(theirs)
            own, other = (each.why_not(similar="d1", key=key, rank=rank, k=2) for each in (cluster, one))
            assert own.stage == other.stage
            assert own.kth == pytest.approx(other.kth, abs=1e-9)
    assert "d1" in cluster
    assert "nobody" not in cluster
    with pytest.raises(UnknownKey, match="no document with the key 'nobody'"):
        cluster.explain("ant", "nobody")
    with pytest.raises(UnknownKey, match="no document with the key 'nobody'"):
        cluster.explain(similar="nobody", key="d1")


def _places(explanation: Explanation) -> tuple[object, object]:
    """Return the spans of each flow, of which there must be some, and the places of highlights."""
    spans = {(flow.source, flow.target, flow.source_spans, flow.target_spans) for flow in explanation.flows}
    assert all(source and target for *_, source, target in spans)
    return spans, [(one.part, one.start, one.end, one.word, one.source) for one in explanation.highlights]


@pytest.mark.slow
def test_places_are_those_of_one_collection(both: tuple[Cluster, Collection]) -> None:
    cluster, one = both
    for explained in (False, True):
        options = SearchOptions(rank="wmd", k=9, explained=explained, highlight=True, passage=4)
        for mine, theirs in (
            (cluster.search("ant bee cat", options), one.search("ant bee cat", options)),
            (cluster.similar("d1", options), one.similar("d1", options)),
        ):
            found, expected = ({hit.key: hit for hit in each.hits} for each in (mine, theirs))
            assert len(found.keys() & expected.keys()) >= 8  # of equally near ones, others may be last
            for key in found.keys() & expected.keys():
                assert found[key].highlights == expected[key].highlights
                assert found[key].snippet_highlights == expected[key].snippet_highlights
                assert found[key].passage == expected[key].passage
                assert all(flow.source_spans and flow.target_spans for flow in found[key].flows)


def test_many_queries_are_answered_in_order(both: tuple[Cluster, Collection]) -> None:
    cluster, one = both
    queries = ["ant bee", "of the", "gnu", "", "elk fox lark"]
    for mine, theirs in zip(cluster.search_many(queries, k=3), one.search_many(queries, k=3), strict=True):
        assert (mine.problem is None) == (theirs.problem is None)
        assert [_value(hit) for hit in mine.hits] == pytest.approx([_value(hit) for hit in theirs.hits], abs=1e-9)
    found = list(cluster.similar_many(["d1", "nobody"], k=2))
    assert len(found[0].hits) == 2
    assert found[1].problem == "the collection has no document with the key 'nobody'"


def test_whole_texts_come_from_all_shards(both: tuple[Cluster, Collection]) -> None:
    cluster, one = both
    texts = {document.key: "\n\n".join(part.text for part in document.parts) for document in one}
    hits = cluster.search("ant bee", k=20, full=True).hits
    assert len({shard_of(hit.key, cluster.file.names) for hit in hits}) > 1
    assert [hit.text for hit in hits] == [texts[hit.key] for hit in hits]


@pytest.mark.slow
def test_groups_are_those_of_one_collection(both: tuple[Cluster, Collection]) -> None:
    cluster, one = both
    for rank in ("wmd", "wmd:mu=20,weights=tfidf+0.5*cover+2*bm25+cosine"):
        for field, k in (("label", 2), ("label", 9), ("year", 7)):
            mine, theirs = (each.search("ant bee cat", k=k, rank=rank, group_by=field) for each in (cluster, one))
            _check_same(mine, theirs)
            mine, theirs = (each.similar("d1", k=k, rank=rank, group_by=field) for each in (cluster, one))
            _check_same(mine, theirs)
    whole = SearchOptions(k=7, rank="wmd", group_by="year", explained=True, full=True, highlight=True)
    mine, theirs = (each.search("ant bee cat", whole) for each in (cluster, one))
    assert [(hit.key, hit.text, hit.highlights, hit.flows) for hit in mine.hits] == [
        (hit.key, hit.text, hit.highlights, hit.flows) for hit in theirs.hits
    ]
    assert all(hit.text and hit.highlights and hit.flows for hit in mine.hits)


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["wmd", "chamfer", "bm25", "wmd:mu=20,weights=tfidf+0.5*cover+2*bm25+cosine"])
def test_percentiles_are_those_of_one_collection(rank: str, both: tuple[Cluster, Collection]) -> None:
    cluster, one = both
    options: dict[str, Any]
    few = {"depth": 9, "max_distance": "5%"}
    for options in (
        {},
        {"where": ["label=red"]},
        {"depth": 9},
        {"max_distance": "12%"},
        few,
        {**few, "group_by": "label"},
    ):
        chosen = SearchOptions(k=9, rank=rank, percentile=True, **options)
        mine, theirs = (each.search("elk elk fox zorp", chosen) for each in (cluster, one))
        assert all(each.scope == "collection" for each in (mine, theirs) if each.certified)
        shares = [[hit.percentile for hit in each.hits] for each in (mine, theirs)]
        assert None not in shares[0]
        assert len(shares[0]) > 0
        if "depth" not in options:  # each shard has so many candidates
            assert shares[0] == shares[1]
            _check_same(mine, theirs)


def test_shards_without_a_word_of_the_query_count_in_percentiles(make_cluster: MakeCluster) -> None:
    documents = [*random_documents(40), *(document(f"z{i}", " ".join(["zorp"] * i), "ant") for i in (1, 2, 3))]
    cluster = make_cluster(documents)
    found = cluster.search("zorp", rank="wmd+bm25", percentile=True)
    assert [hit.percentile and hit.percentile.high for hit in found.hits] == pytest.approx([0, 1 / 43, 2 / 43])


def test_a_sample_of_shards_contains_the_true_shares(
    both: tuple[Cluster, Collection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(percentiles, "FEW", 20)
    monkeypatch.setattr(percentiles, "SAMPLED", 40)
    cluster, one = both
    whole = [_value(hit) for hit in one.search("elk fox", k=99, rank="wmd").hits]
    found = cluster.search("elk fox", k=9, rank="wmd", percentile=True, where=["label=blue"])
    for hit in found.hits:
        assert hit.percentile is not None
        true = sum(value < _value(hit) - 1e-9 for value in whole) / 62
        assert hit.percentile.low - 1e-9 <= true <= hit.percentile.high + 1e-9
    assert any(hit.percentile and hit.percentile.low < hit.percentile.high for hit in found.hits)


def test_documents_sorted_by_topic_are_sampled_at_random(
    make_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, population_of = list[percentiles.Population](), percentiles.Population.of

    def recorded(view: View, without: int | None, size: int) -> percentiles.Population:
        drawn.append(population_of(view, without, size))
        return drawn[-1]

    for name in ("FEW", "SAMPLED"):
        monkeypatch.setattr(percentiles, name, 60)
    monkeypatch.setattr(percentiles.Population, "of", recorded)
    topics = [WORDS[i // 30] for i in range(300)]
    cluster = make_cluster(document(f"d{i}", topic, label=f"l{i % 4}") for i, topic in enumerate(topics))
    found = cluster.search("ant bee", k=60, rank="wmd", percentile=True, where=["label=l1"])
    assert found.hits[-1].percentile
    ids, order = (np.concatenate([getattr(own, name) for own in drawn[-3:]]) for name in ("ids", "order"))
    sample = ids[np.argsort(order)[:60]]
    assert len(np.unique(sample)) > 40  # 25 if all shards sampled the same ids


def test_words_that_no_shard_knows_are_reported(make_cluster: MakeCluster) -> None:
    with pytest.raises(NoKnownWords, match="no word that the collection has a vector for"):
        make_cluster(_documents(10)).search("nothing known", rank="wmd")


@pytest.mark.parametrize("rank", ["lsi:dim=2", "wmd:proximity=gaussian", "translation", "vector"])
def test_rankings_that_shards_cannot_compute_are_refused(rank: str, make_cluster: MakeCluster) -> None:
    with pytest.raises(UsageError, match="shards cannot rank by"):
        make_cluster(_documents(4)).search("ant", rank=rank)


def test_numbers_that_only_one_shard_has_count_for_all(
    make_cluster: MakeCluster, make_collection: MakeCollection
) -> None:
    documents = [*_documents(20), document("voted", "ant bee elk", metadata={"likes": 3})]
    cluster, one = make_cluster(documents), make_collection()
    one.index(documents)
    for rank in ("wmd+0.3*prior:field=likes", "bm25+prior:field=likes"):
        _check_same(cluster.search("ant bee", rank=rank, k=5), one.search("ant bee", rank=rank, k=5))
        _check_same(cluster.similar("d3", rank=rank, k=5), one.similar("d3", rank=rank, k=5))
        explained = cluster.explain("ant bee", "d4", rank=rank)
        assert explained.total == pytest.approx(one.explain("ant bee", "d4", rank=rank).total)
    for each in (cluster, one):
        with pytest.raises(UsageError, match="no document has a number in the field 'likings'"):
            each.search("ant bee", rank="wmd+prior:field=likings")


@pytest.mark.slow
def test_filters_by_fields_that_only_one_shard_has(make_cluster: MakeCluster, make_collection: MakeCollection) -> None:
    documents = [*_documents(20), document("voted", "ant bee elk", metadata={"likes": 3})]
    cluster, one = make_cluster(documents), make_collection()
    one.index(documents)
    keys = ("key^=d1", "key=d3", "key!=d3", "key=nowhere", "!source", "source")
    for where in ("likes>2", "likes!=3", "likes", "!likes", "likes=nothing", *keys):
        found, expected = (each.search("ant bee", k=5, where=[where]) for each in (cluster, one))
        _check_same(found, expected)
        assert (found.why_empty is None, found.certified) == (expected.why_empty is None, True)
        assert (found.why_empty is None) == bool(found.hits)
        with one.contents([where]) as contents:
            assert len(contents_of(cluster, [where])) == len(contents)
            assert {entry.key for entry in contents_of(cluster, [where]).entries()} == set(contents.keys())
    for each in (cluster, one):
        with pytest.raises(UsageError, match="no document has a field 'likings': the fields are label, likes"):
            each.search("ant bee", where=["likings>2"])
    with pytest.raises(UsageError, match="no document has a field 'likings'"):
        len(contents_of(cluster, ["likings>2"]))


@pytest.mark.slow
def test_removal_by_what_only_one_shard_has(make_cluster: MakeCluster, tmp_path: Path) -> None:
    cluster = make_cluster([*_documents(20), document("voted", "ant bee elk", metadata={"likes": 3})])
    notes = str(tmp_path.resolve() / "notes.jsonl")
    cluster.index([replace(document("noted", "gnu"), origin=Origin(NamedSource(notes, "notes.jsonl")))])
    with pytest.raises(CollectionError, match="no document came from 'others'"):
        cluster.remove(source="others")
    with pytest.raises(UsageError, match="either by keys, or by conditions"):
        cluster.remove(["d1"], where=["likes>2"])
    with pytest.raises(UsageError, match="no document has a field 'likings'"):
        cluster.remove(where=["likings>2"])
    assert len(cluster) == 24
    assert cluster.remove(where=["likes>2"], source=notes).removed == 0
    assert cluster.remove(source=notes, dry_run=True).removed == 1
    assert cluster.remove(source=notes).removed == 1
    assert cluster.remove(where=["likes>2"]).removed == 1
    assert len(cluster) == 22


def test_rejections_go_to_the_caller_and_a_strict_run_writes_nothing(make_cluster: MakeCluster) -> None:
    cluster, seen = make_cluster([]), list[Rejection]()
    bad = Rejection("file.jsonl", 3, "no text")
    changes = cluster.index([document("a", "ant"), bad], rejected=seen.append)
    assert (changes.added, changes.rejected, seen) == (1, 1, [bad])
    with pytest.raises(RecordError, match=r"file.jsonl:3: no text; nothing was written"):
        cluster.index([*_documents(3), bad], strict=True)
    assert len(cluster) == 1


@pytest.mark.slow
def test_an_error_of_the_records_ends_the_run_in_all_shards(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(_documents(3))

    def broken() -> Any:
        yield document("new", "ant")
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        cluster.index(broken())
    assert cluster.index(_documents(3)).unchanged == 5  # no lock is left


def test_pruning_removes_what_is_no_longer_there(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(_documents(20))
    changes = cluster.index(_documents(16), prune=True)
    assert (changes.removed, changes.unchanged) == (4, 18)
    with pytest.raises(PruneRefused, match=r"s\d: nothing was changed"):
        cluster.index([], prune=True)
    planned = list[tuple[str, str]]()
    cluster.index([document("d0", "ant")], dry_run=True, changed=lambda kind, key: planned.append((kind, key)))
    assert planned == [("updated", "d0")]
    assert len(cluster) == 18


def test_removal_is_refused_as_in_one_collection(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(_documents(9))
    with pytest.raises(UnknownKey, match="nothing was removed: no document has the key 'x'"):
        cluster.remove(["d1", "x"])
    with pytest.raises(UsageError, match="nothing was removed: all 11 documents pass the filter"):
        cluster.remove(where=["label!=green"])
    assert cluster.remove(where=["label=red"], dry_run=True).removed == cluster.remove(where=["label=red"]).removed
    assert "d1" not in {hit.key for hit in cluster.search("ant bee cat dog elk", k=20).hits}


@pytest.mark.slow
def test_shards_are_added_dropped_and_moved_while_others_search(
    make_cluster: MakeCluster, factory: CollectionFactory, opened: Open
) -> None:
    documents = _documents(40)
    cluster = make_cluster(documents, 2)
    expected = cluster.search("ant bee cat", k=8)
    moved = cluster.add_shard(ShardPlace("s3", str(factory.path())))
    assert 5 < moved < 25
    _check_same(cluster.search("ant bee cat", k=8), expected)
    assert cluster.index(documents).unchanged == 42
    target = factory.path()
    copy_collection(cluster.file.place_of(cluster.file.shard("s1")), target)
    cluster.move_shard(ShardPlace("s1", str(target)))
    _check_same(cluster.search("ant bee cat", k=8), expected)
    other = factory.path()
    copy_collection(target, other)
    with pytest.raises(CollectionError, match="is not a copy of the current state of the shard s2"):
        cluster.move_shard(ShardPlace("s2", str(other)))
    cluster.refresh()
    assert cluster.drop_shard("s2") > 0
    again = opened(cluster.path)
    assert [shard.name for shard in again.file.shards] == ["s1", "s3"]
    _check_same(again.search("ant bee cat", k=8), expected)
    assert again.index(documents).unchanged == 42
    for shard in again.file.shards:
        assert not check_collection(Path(again.file.place_of(shard))).sentences()


def test_a_shard_that_cannot_be_started_elsewhere_stays(
    make_cluster: MakeCluster, factory: CollectionFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = make_cluster(_documents(20), 2)
    expected = cluster.search("ant bee cat", k=8)
    target, add = factory.path(), cluster.shards.add
    copy_collection(cluster.file.place_of(cluster.file.shard("s1")), target)

    def without_machine(file: ClusterFile, shard: ShardPlace) -> None:
        if shard.node:
            raise CollectionError(f"the Ray cluster has no machine {shard.node}")
        add(file, shard)

    monkeypatch.setattr(cluster.shards, "add", without_machine)
    with pytest.raises(CollectionError, match=r"no machine 198\.51\.100\.7"):
        cluster.move_shard(ShardPlace("s1", str(target), "198.51.100.7"))
    _check_same(cluster.search("ant bee cat", k=8), expected)
    assert len(cluster) == 22


def test_a_document_that_is_in_two_shards_is_one_hit(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(_documents(30), 2)
    expected = cluster.search("ant bee cat", rank="wmd", k=5)
    keys = [hit.key for hit in expected.hits[:2]]
    for key in keys:  # as an interrupted move leaves them
        described = contents_of(cluster).describe(key)
        for shard in cluster.file.shards:
            with Collection.open(cluster.file.place_of(shard)) as one:
                one.index([described.document])
    cluster.refresh()
    found = cluster.search("ant bee cat", rank="wmd", k=5)
    assert [hit.distance for hit in found.hits] == pytest.approx([hit.distance for hit in expected.hits])
    few = cluster.search("ant bee cat", rank="wmd", k=2, depth=2, exact=True)
    assert [hit.distance for hit in few.hits] == pytest.approx([hit.distance for hit in expected.hits[:2]])
    assert cluster.balance() == len(keys)
    assert len(cluster) == 32


def test_a_shard_at_the_place_of_another_is_refused(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(_documents(20), 2)
    with pytest.raises(UsageError, match="s1 and s9 have the same place"):
        cluster.add_shard(ShardPlace("s9", cluster.file.shards[0].place))
    assert len(cluster) == 22


@pytest.mark.slow
@pytest.mark.plugin("watching")
def test_moved_documents_yield_no_events_of_watches(make_cluster: MakeCluster, factory: CollectionFactory) -> None:
    cluster = make_cluster([*_documents(20), document("near", "ant bee")], 2)
    third = str(factory.path())
    cluster.add_shard(ShardPlace("s3", third))
    for shard in cluster.file.shards:
        with Collection.open(cluster.file.place_of(shard)) as one:
            one.watch("all", "ant bee", 99)
    assert cluster.index([document("new", "ant")]).events == 1
    assert cluster.drop_shard("s3") > 0
    places = [cluster.file.place_of(shard) for shard in cluster.file.shards]
    events = list[str]()
    for place in (*map(str, places), third):
        with Collection.open(place) as one:
            events += [event.document for event in one.events()]
    assert events == ["new"]


def test_balancing_keeps_the_newer_document(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(_documents(20), 2)
    key = next(key for key in (f"d{i}" for i in range(20)) if shard_of(key, ["s1", "s2"]) == "s2")
    with Collection.open(cluster.file.place_of(cluster.file.shard("s1"))) as other:
        other.index([document(key, "ant")])  # an old copy, which an interrupted move has left
    cluster.index([document(key, "kiwi lark")])
    assert cluster.balance() == 1
    assert contents_of(cluster).describe(key).document.parts[0].text == "kiwi lark"
    assert len(cluster) == 22


@pytest.mark.slow
def test_a_shard_that_another_process_adds_is_searched(make_cluster: MakeCluster, opened: Open, tmp_path: Path) -> None:
    cluster = make_cluster(_documents(40), 2)
    expected = cluster.search("ant bee", k=40)
    opened(cluster.path).add_shard(ShardPlace("s3", str(tmp_path / "third")))
    assert len(cluster.search("ant bee", k=40).hits) == len(expected.hits)
    cluster.refresh()
    _check_same(cluster.search("ant bee", k=40), expected)
    opened(cluster.path).drop_shard("s1")
    cluster.refresh()
    _check_same(cluster.search("ant bee", k=40), expected)


@pytest.mark.slow
def test_views_are_closed_when_others_take_their_place(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(_documents(10), 1)
    shards = cast(LocalShards, cluster.shards)
    for i in range(8):
        cluster.index([document(f"new{i}", "ant bee")])
        cluster.search("ant", k=2)
        cluster.refresh()
        cluster.search("ant", k=2)
    assert shards.users("s1") == 2  # the state that is open, and its version


def test_only_searches_open_states(make_cluster: MakeCluster, opened: Open) -> None:
    path = make_cluster(_documents(10), 2).path
    cluster = opened(path)
    shards = cast(LocalShards, cluster.shards)
    cluster.index([document("new", "ant bee")])
    assert len(cluster) == 13
    assert len(cluster.revision) == 2
    assert cluster.changed()
    assert not len(contents_of(cluster, ["label=nothing"]))
    assert [shards.users(name) for name in shards.names] == [0, 0]
    assert cluster.search("ant bee", k=1).hits[0].key == "new"
    assert [shards.users(name) for name in shards.names] == [2, 2]
    assert not cluster.changed()


def test_shards_with_different_vectors_are_refused(
    make_cluster: MakeCluster, factory: CollectionFactory, opened: Open
) -> None:
    cluster = make_cluster(_documents(4), 2)
    other = factory.path()
    Collection.create(other, factory.settings(normalize=True)).close()
    file = cluster.file.with_shard(ShardPlace("odd", str(other)))
    file.write()
    with pytest.raises(CollectionError, match="have different word vectors"):
        opened(file.path).search("ant")


def test_a_place_with_other_settings_is_no_shard(make_cluster: MakeCluster, factory: CollectionFactory) -> None:
    cluster = make_cluster(_documents(9), 2)
    before = cluster.path.read_text(encoding="utf-8")
    for choices, reason in (({"normalize": True}, "word vectors"), ({"gamma": 0.5}, "settings")):
        other = factory.path()
        Collection.create(other, factory.settings(**choices)).close()
        with pytest.raises(CollectionError, match=f"have different {reason}"):
            cluster.add_shard(ShardPlace("odd", str(other)))
    copied = factory.path()
    copy_collection(cluster.file.place_of(cluster.file.shard("s1")), copied)
    with Collection.open(copied) as one:
        one.change_settings(gamma=0.5)
    with pytest.raises(CollectionError, match="is not a copy of the current state of the shard s1"):
        cluster.move_shard(ShardPlace("s1", str(copied)))
    assert cluster.path.read_text(encoding="utf-8") == before
    assert cluster.search("ant bee", k=3).certified


def test_changed_settings_are_those_of_the_next_version(make_cluster: MakeCluster, opened: Open) -> None:
    path = make_cluster(_documents(30), 2).path
    cluster, other = opened(path), opened(path)
    assert cluster.search("ant bee", k=3).certified
    other.change_settings(weights="tfidf")
    cast(LocalShards, cluster.shards).restart("s1")
    _check_same(cluster.search("ant bee", k=3), other.search("ant bee", k=3))


@pytest.mark.slow
def test_an_interrupted_change_of_settings_is_completed_by_the_same_call(
    make_cluster: MakeCluster, make_collection: MakeCollection, opened: Open
) -> None:
    documents = _documents(30)
    cluster, one = make_cluster(documents, 3), make_collection(weights="tfidf", gamma=0.25)
    one.index(documents)
    cast(LocalShards, cluster.shards).killed = {"s2"}
    with pytest.raises(CollectionError, match="s2 cannot be reached; only the shards before s2 have the new settings"):
        cluster.change_settings(weights="tfidf", gamma=0.25)
    other = opened(cluster.path)
    with pytest.raises(CollectionError, match=r"different settings \(weights, gamma\): .* the same command"):
        other.search("ant bee", k=3)
    other.change_settings(weights="tfidf", gamma=0.25)
    _check_same(opened(cluster.path).search("ant bee", k=5), one.search("ant bee", k=5))


@pytest.mark.slow
def test_the_language_of_shards_changes_as_that_of_one_collection(
    make_cluster: MakeCluster, make_collection: MakeCollection
) -> None:
    documents = [*_documents(30), *(document(f"the{i}", "the ant of the bee", "the fox") for i in range(3))]
    cluster, one = make_cluster(documents, 3), make_collection(language="none")
    one.index(documents)
    assert cluster.search("the ant", k=5, rank="bm25").hits != one.search("the ant", k=5, rank="bm25").hits
    cluster.refit(language="none")
    assert cluster.settings == one.settings
    for rank in (None, "bm25", "wmd:weights=tfidf"):
        _check_same(cluster.search("the ant", k=9, rank=rank), one.search("the ant", k=9, rank=rank))
    assert all(not check_collection(Path(cluster.file.place_of(shard))).sentences() for shard in cluster.file.shards)
    assert cluster.index(documents).unchanged == len(documents)
    for choices in ({}, {"language": "auto"}, {"vectors": True}, {"language": "de", "embedding": "lsi"}):
        with pytest.raises(UsageError, match="refit changes only the language of shards"):
            cluster.refit(**choices)


def test_shards_are_made_for_a_language_that_is_named(tmp_path: Path, factory: CollectionFactory) -> None:
    places = (ShardPlace("s1", str(tmp_path / "s1")), ShardPlace("s2", str(tmp_path / "s2")))
    with pytest.raises(UsageError, match="before their texts are read: name the language"):
        Cluster.create(ClusterFile(tmp_path / "made.toml", places), Settings(str(factory.vectors), language="auto"))
    assert list(tmp_path.iterdir()) == []


def test_settings_that_the_first_shard_refuses_change_nothing(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(_documents(9), 2)
    with pytest.raises(SettingsError, match="another normalize"):
        cluster.change_settings(normalize=True)
    assert cluster.search("ant bee", k=3).certified


def test_what_one_shard_committed_is_searched_though_another_failed(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(_documents(9), 2)
    assert len(cluster.search("ant bee", rank="wmd", k=99).hits) == 10
    shards = cast(LocalShards, cluster.shards)
    new = [document(f"new{i}", "ant bee") for i in range(20)]
    ask = shards.ask

    def failing(calls: Any, *how: Any) -> dict[str, Any]:
        if "end_feed" in [call.method for call in calls.values()]:
            shards.restart_at = {shards.calls + 1: "s2"}
        return ask(calls, *how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "ask", failing)
        with pytest.raises(CollectionError, match="the shard s2 cannot be reached"):
            cluster.index(new)
    mine = [one for one in new if shard_of(one.key, cluster.file.names) == "s1"]
    assert len(cluster.search("ant bee", rank="wmd", k=99).hits) == 10 + len(mine)


@pytest.mark.slow
def test_pairs_are_those_of_one_collection(both: tuple[Cluster, Collection]) -> None:
    cluster, one = both
    for options in (
        {"k": 7},
        {"within": 0.4},
        {"k": 5, "rank": "pwmd:gamma=0.5,weights=tfidf"},
        {"k": 9, "unknown": "far"},
    ):
        mine, theirs = (each.pairs(**options) for each in (cluster, one))
        assert [pair.distance for pair in mine.pairs] == pytest.approx([pair.distance for pair in theirs.pairs])
        assert {frozenset(pair.keys) for pair in mine.pairs if pair.distance < mine.pairs[-1].distance - 1e-9} <= {
            frozenset(pair.keys) for pair in theirs.pairs
        }
        assert (mine.compared, mine.ranked_by) == (theirs.compared, theirs.ranked_by)
    words = [
        {tuple(sorted(zip(pair.keys, pair.unknown_words, strict=True))) for pair in each.pairs(k=9999).pairs}
        for each in both
    ]
    assert words[0] == words[1]
    assert any(unknown for pair in words[0] for _, unknown in pair)
    with pytest.raises(UsageError, match="leave --where out"):
        cluster.pairs(k=3, where=["label=red"])


@pytest.mark.slow
def test_what_is_deduplicated_is_what_one_collection_keeps(both: tuple[Cluster, Collection]) -> None:
    cluster, one = both
    lengths = {each.key: sum(len(part.text.split()) for part in each.parts) for each in one}
    every: list[dict[str, Any]] = [
        {"unknown": "ignored"}, {"rank": "pwmd:gamma=0.5,weights=tfidf", "unknown": "ignored"}, {"unknown": "far"}
    ]  # fmt: skip
    for options in every:
        mine, theirs = (each.dedupe(0.4, keep="longest", **options) for each in (cluster, one))
        assert [(each.key, each.of, each.differences) for each in mine.differing] == []
        assert (mine.compared, mine.ranked_by) == (theirs.compared, theirs.ranked_by)
        assert {*mine.kept, *(each.key for each in mine.removed)} == {
            *theirs.kept,
            *(each.key for each in theirs.removed),
        }
        assert [lengths[key] for key in mine.kept] == sorted((lengths[key] for key in mine.kept), reverse=True)
        near = {frozenset(pair.keys): pair.distance for pair in one.pairs(0.4, **options).pairs}
        assert not any(frozenset(pair) in near for pair in combinations(mine.kept, 2))
        assert all(near[frozenset((each.key, each.of))] == pytest.approx(each.distance) for each in mine.removed)
    unusable: list[dict[str, Any]] = [
        {"keep": "newest"},
        {"keep_where": "label=red"},
        {"where": "label=red"},
        {"explained": True},
    ]
    for refused in unusable:
        with pytest.raises(UsageError, match="leave filters, fields and flows out"):
            cluster.dedupe(0.4, **refused)


@pytest.mark.slow
def test_shards_remove_what_is_not_kept(make_cluster: MakeCluster) -> None:
    cluster = make_cluster([document(f"d{i}", ("ant", "bee", "kiwi lark")[i % 3]) for i in range(9)])
    found = cluster.dedupe(0.0, remove=True, confirmed=True)
    assert (len(found.kept), found.changes and found.changes.removed) == (3, 6)
    assert len(cluster) == 3

    def progress(task: str, done: int, total: int | None, unit: str) -> None:
        _ = task, done, total, unit
        cluster.index([document("new", "fox")])

    cluster.index([document("again", "ant")])
    with pytest.raises(CollectionError, match="nothing was removed: the collection was changed"):
        cluster.dedupe(0.0, remove=True, progress=progress)
    assert len(cluster) == 5


@pytest.mark.slow
def test_experiments_are_those_of_one_collection(both: tuple[Cluster, Collection], tmp_path: Path) -> None:
    cluster, one = both
    qrels = tmp_path / "qrels"
    qrels.write_text("".join(f"d{i} 0 d{(i * 7 + 3) % 50} 1\n" for i in range(12)))
    names = ("bm25", "wmd", "pwmd:weights=tfidf+0.4*bm25+0.2*prior:field=votes")
    tables = [
        RetrievalExperiment(qrels=str(qrels), methods=names, measures=("map", "p@5")).run(each.path)
        for each in (cluster, one)
    ]
    for mine, theirs in zip(tables[0].rows, tables[1].rows, strict=True):
        assert {name: mine[name] for name in ("map", "p@5")} == pytest.approx(
            {name: theirs[name] for name in ("map", "p@5")},
            abs=0.001,  # documents of equal distance have another order
        )


@pytest.mark.slow
def test_experiments_have_the_units_of_a_search(make_cluster: MakeCluster, tmp_path: Path) -> None:
    """Of more documents than a sample has: totals are those of a search in the same shards."""
    cluster = make_cluster(_documents(330), 3)
    (tmp_path / "qrels").write_text("q 0 d1 1\n")
    (tmp_path / "queries").write_text('{"id": "q", "text": "ant bee cat zorp"}\n')
    rank = "wmd:mu=5+bm25+cosine"
    queries = str(tmp_path / "queries")
    RetrievalExperiment(
        qrels=str(tmp_path / "qrels"),
        queries=queries,
        methods=[rank],
        measures=["map"],
        cutoff=20,
        run_file=tmp_path / "run",
    ).run(cluster.path)
    lines = [line.split() for line in (tmp_path / "run").read_text().splitlines()]
    hits = cluster.search("ant bee cat zorp", k=20, rank=rank).hits
    assert [-float(line[4]) for line in lines] == pytest.approx([hit.total for hit in hits], rel=1e-5)


def test_trained_vectors_are_refused(make_cluster: MakeCluster) -> None:
    with pytest.raises(UsageError, match="shards need word vectors of a file"):
        make_cluster([], embedding="train")


def test_a_second_creation_is_refused(make_cluster: MakeCluster, factory: CollectionFactory) -> None:
    cluster = make_cluster([])
    with pytest.raises(CollectionError, match="describes shards already"):
        Cluster.create(cluster.file, factory.settings())


def test_a_command_for_one_collection_names_the_mend(make_cluster: MakeCluster) -> None:
    cluster = make_cluster([])
    with pytest.raises(CollectionError, match="describes shards, which cannot be used together here"):
        Collection.open(cluster.path)


@pytest.mark.slow
def test_a_damaged_file_of_a_shard_is_rebuilt(
    make_cluster: MakeCluster, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_above(monkeypatch, 0)
    path = make_cluster(_documents(60)).path
    ranks = ("wmd", "bm25", "pwmd:weights=tfidf+0.4*bm25")
    intact = opened(path)
    expected = [intact.search("ant bee cat", rank=rank, k=5) for rank in ranks]
    names = {file.name for file in path.with_suffix(".shards").glob("*/snapshot-*/*")}
    assert "meta.json" in names
    for number, name in enumerate(sorted(names)):
        for file in path.with_suffix(".shards").glob(f"*/snapshot-*/{name}"):
            content = bytearray(file.read_bytes() or b"x")
            content[len(content) // 2] ^= 1
            file.write_bytes(content)
        damaged = opened(path)
        for i in range(3):  # each ranking meets the damage of some files
            place = (number + i) % 3
            found = damaged.search("ant bee cat", rank=ranks[place], k=5)
            assert found.certified
            assert [hit.key for hit in found.hits] == [hit.key for hit in expected[place].hits]
