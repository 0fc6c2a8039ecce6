"""`tune` finds rankings by components that are those of a search, and stores only better ones."""

from pathlib import Path

import numpy as np
import pytest

from moverank import Collection, UsageError
from moverank.indexer.evaluation.components import Weighting, components_of
from moverank.indexer.evaluation.corpus import corpus_of
from moverank.indexer.evaluation.tuned_ranking import tune
from moverank.indexer.evaluation.tuning import Setting
from moverank.indexer.progress import silent
from moverank.indexer.reranking.search_pool import SearchPool
from moverank.rerank.evaluation.judgments import Judgments


@pytest.mark.parametrize("weighting", [Weighting(0.0, "tf", 1, None), Weighting(0.5, "tfidf", 3, "english")])
def test_totals_of_components_are_those_of_a_search(indexed: Collection, tmp_path: Path, weighting: Weighting) -> None:
    pool = corpus_of(indexed).documents
    queries, own_rows = pool.take([1, 4, 7]), np.array([1, 4, 7])
    found = components_of(weighting, pool, queries, own_rows, tmp_path / "cache" / "c.npz", silent)
    again = components_of(weighting, pool, queries, own_rows, tmp_path / "cache" / "c.npz", silent)
    np.testing.assert_array_equal(found.rwmd, again.rwmd)
    setting = Setting(weighting.gamma, weighting.title_weight, weighting.weights, weighting.stem, 5.0, 0.5, 1.5, 0.25)
    ranking = setting.ranking
    assert ranking.gamma == weighting.gamma
    # RWMD stands for WMD.
    terms = tuple(
        type(term)(term.weight, "rwmd", gamma=weighting.gamma, weights=term.weights, mu=term.mu)
        if term.name in ("wmd", "pwmd")
        else term
        for term in ranking.terms
    )
    by_search = type(ranking)(terms, ranking.gamma, ranking.weights)
    totals = found.totals(5.0, 0.5, 0.25, 1.5)
    for number, (rows, values) in enumerate(SearchPool(pool).rank(by_search, queries, 99, own_rows, silent)):
        with_bag = [row for row in rows.tolist() if pool.keys[row] != "wordless"]
        expected = dict(zip(rows.tolist(), values.tolist(), strict=True))
        assert totals[number, with_bag] == pytest.approx([expected[row] for row in with_bag], rel=1e-5)


def test_damaged_components_are_computed_again(indexed: Collection, tmp_path: Path) -> None:
    pool, cache = corpus_of(indexed).documents, tmp_path / "c.npz"
    cache.write_bytes(b"broken")
    found = components_of(Weighting(0.0, "tf", 1, None), pool, pool.take([2]), np.array([2]), cache, silent)
    assert found.rwmd.shape == (1, len(pool))
    assert cache.stat().st_size > 1000


def test_the_best_setting_is_found_and_stored_if_it_is_better(indexed: Collection) -> None:
    """The judgments are those of cover: only a sum with much of it finds them."""
    indexed.change_settings(rank="bm25")
    keys = [f"d{i}" for i in range(12)]
    grades = {key: {hit.key: 1 for hit in indexed.similar(key, k=2, rank="chamfer").hits} for key in keys}
    table = tune(indexed.path, Judgments(grades), folds=3, save=True)
    before, held_out, after = (float(row["map"] or 0.0) for row in table.rows)
    assert table.rows[0]["ranking"] == "bm25"
    assert after > before
    assert table.facts["saved"] == (held_out > before)
    with Collection.open(indexed.path) as reopened:
        assert reopened.settings.rank == (table.facts["rank"] if table.facts["saved"] else "bm25")
        assert reopened.search("ant bee").hits


def test_a_ranking_that_is_no_better_is_not_stored(indexed: Collection) -> None:
    keys = [f"d{i}" for i in range(10)]
    grades = {key: {hit.key: 1 for hit in indexed.similar(key, k=1).hits} for key in keys}
    table = tune(indexed.path, Judgments(grades), folds=2, save=True)
    assert table.rows[0]["map"] == 1.0
    assert (table.facts["saved"], len(table.notes)) == (False, 1)
    with Collection.open(indexed.path) as reopened:
        assert reopened.settings.rank == ""


def test_too_few_judgments_are_refused(indexed: Collection) -> None:
    with pytest.raises(UsageError, match="1 judged queries are too few for 5 folds"):
        tune(indexed.path, Judgments({"d1": {"d2": 1}, "gone": {"d3": 1}}))
