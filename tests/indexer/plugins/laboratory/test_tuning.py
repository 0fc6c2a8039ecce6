"""`tune` finds rankings by components that are those of a search, and stores only better ones."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from moverank import Collection, Document, UsageError
from moverank.indexer.files.arrays import is_intact
from moverank.indexer.plugins.laboratory.corpus import corpus_of
from moverank.indexer.plugins.laboratory.evaluating import RetrievalExperiment
from moverank.indexer.plugins.laboratory.tuner import Figures, TriedRanking, Tuner, Weighting, components_of
from moverank.indexer.plugins.laboratory.tuning import TuningExperiment
from moverank.indexer.reranking.pool import PoolQueries, SearchPool
from moverank.indexer.values.search_options import silent
from tests.indexer.world import MakeCollection


@pytest.mark.parametrize("weighting", [Weighting(0.0, "tf", 1, None), Weighting(0.5, "tfidf", 3, "english")])
def test_totals_of_components_are_those_of_a_search(indexed: Collection, tmp_path: Path, weighting: Weighting) -> None:
    pool = corpus_of(indexed).documents
    queries, own_rows = pool.take([1, 4, 7]), np.array([1, 4, 7])
    found = components_of(weighting, pool, queries, own_rows, tmp_path / "cache" / "c.npz", silent)
    again = components_of(weighting, pool, queries, own_rows, tmp_path / "cache" / "c.npz", silent)
    np.testing.assert_array_equal(found.rwmd, again.rwmd)
    setting = TriedRanking(
        weighting.gamma, weighting.title_weight, weighting.weights, weighting.rule, 5.0, 0.5, 1.5, 0.25
    )
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
    asked = PoolQueries(queries, own_rows)
    for number, (rows, values) in enumerate(SearchPool(pool).rank(by_search, asked, 99, silent)):
        with_bag = [row for row in rows.tolist() if pool.keys[row] != "wordless"]
        expected = dict(zip(rows.tolist(), values.tolist(), strict=True))
        assert totals[number, with_bag] == pytest.approx([expected[row] for row in with_bag], rel=1e-5)


def test_damaged_components_are_computed_again(indexed: Collection, tmp_path: Path) -> None:
    pool, cache = corpus_of(indexed).documents, tmp_path / "c.npz"
    cache.write_bytes(b"broken")
    found = components_of(Weighting(0.0, "tf", 1, None), pool, pool.take([2]), np.array([2]), cache, silent)
    assert found.rwmd.shape == (1, len(pool))
    assert is_intact(cache)


def qrels_of(collection: Collection, grades: Mapping[str, Mapping[str, int]]) -> str:
    """Write grades to a file beside a collection, and return its path."""
    path = collection.path.parent / "judged.tsv"
    path.write_text("".join(f"{query} 0 {key} {one}\n" for query, own in grades.items() for key, one in own.items()))
    return str(path)


@pytest.mark.slow
def test_the_best_setting_is_found_and_stored_if_it_is_better(indexed: Collection) -> None:
    """The judgments are those of cover: only a sum with much of it finds them."""
    indexed.change_settings(rank="bm25")
    keys = [f"d{i}" for i in range(12)]
    grades = {key: {hit.key: 1 for hit in indexed.similar(key, k=2, rank="chamfer").hits} for key in keys}
    table = TuningExperiment(qrels=qrels_of(indexed, grades), folds=3, save=True).run(indexed.path)
    plain, stemmed, before, held_out, after = (float(row["map"] or 0.0) for row in table.rows)
    assert [row["ranking"] for row in table.rows][:3] == ["bm25", "bm25:stem=english", "bm25"]
    assert plain == before
    assert (table.rows[1]["p_bm25"], 0 < float(table.rows[3]["p_bm25"] or 0) <= 1) == (None, True)
    assert stemmed > 0
    assert after > before
    assert table.facts["saved"] == (held_out > before)
    with Collection.open(indexed.path) as reopened:
        assert reopened.settings.rank == (table.facts["rank"] if table.facts["saved"] else "bm25")
        assert reopened.search("ant bee").hits


@pytest.mark.slow
def test_weights_by_the_lengths_of_vectors_are_tried_where_there_are_any(
    make_collection: MakeCollection, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: set[str] = set()
    estimated = Tuner.estimated

    def recorded(tuner: Tuner, setting: TriedRanking) -> Figures:
        tried.add(setting.weights)
        return estimated(tuner, setting)

    monkeypatch.setattr(Tuner, "estimated", recorded)
    judged = {f"d{i}": {f"d{(i + 3) % 12}": 1} for i in range(12)}
    for normalize, expected in ((False, {"tf", "tfidf"}), (True, {"tf", "tfidf", "norm"})):
        collection = make_collection(documents, normalize=normalize)
        tried.clear()
        TuningExperiment(qrels=qrels_of(collection, judged), folds=3).run(collection.path)
        assert tried == expected


@pytest.mark.slow
def test_a_ranking_that_is_no_better_is_not_stored(indexed: Collection) -> None:
    keys = [f"d{i}" for i in range(10)]
    grades = {key: {hit.key: 1 for hit in indexed.similar(key, k=1).hits} for key in keys}
    table = TuningExperiment(qrels=qrels_of(indexed, grades), folds=2, save=True).run(indexed.path)
    assert table.rows[2]["map"] == 1.0
    assert table.facts["saved"] is False
    assert sum("nothing is stored" in note for note in table.notes) == 1
    with Collection.open(indexed.path) as reopened:
        assert reopened.settings.rank == ""


def test_too_few_judgments_are_refused(indexed: Collection) -> None:
    with pytest.raises(UsageError, match="1 judged queries are too few for 5 folds"):
        TuningExperiment(qrels=qrels_of(indexed, {"d1": {"d2": 1}, "gone": {"d3": 1}})).run(indexed.path)


@pytest.mark.slow
def test_the_baseline_has_the_stems_that_are_tried(indexed: Collection) -> None:
    grades = {f"d{i}": {f"d{(i + 5) % 12}": 1} for i in range(12)}
    indexed.change_settings(rank="wmd")
    for language, stem in (("de", "german"), ("porter", "porter"), (None, "english")):
        table = TuningExperiment(qrels=qrels_of(indexed, grades), folds=2, language=language).run(indexed.path)
        assert [row["ranking"] for row in table.rows][:3] == ["bm25", f"bm25:stem={stem}", "wmd"]
    table = TuningExperiment(qrels=qrels_of(indexed, grades), folds=2, language="none").run(indexed.path)
    assert [row["ranking"] for row in table.rows][:2] == ["bm25", "wmd"]


@pytest.mark.slow
def test_the_scores_of_candidates_are_a_term(indexed: Collection, tmp_path: Path) -> None:
    """The relevant documents are those with the best scores, which no word tells: only the term finds them."""
    rng, keys = np.random.default_rng(3), [f"d{i}" for i in range(12)]
    grades, lines = {}, []
    for key in keys:
        others = [other for other in rng.permutation(keys).tolist() if other != key]
        grades[key] = {others[0]: 1, others[1]: 1}
        lines += [f"{key} Q0 {other} {rank} {20 - rank} engine" for rank, other in enumerate(others, start=1)]
    (tmp_path / "run").write_text("\n".join(lines))
    table = TuningExperiment(qrels=qrels_of(indexed, grades), candidates=str(tmp_path / "run"), folds=3).run(
        indexed.path
    )
    assert "*vector" in str(table.facts["rank"])
    rows = {row["figures"]: float(row["map"] or 0.0) for row in table.rows}
    assert rows["before"] < rows["cross-validated"]
    path, rank = str(tmp_path / "qrels"), str(table.facts["rank"])
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} 1\n" for q, own in grades.items() for d in own))
    evaluated = RetrievalExperiment(qrels=path, candidates=str(tmp_path / "run"), methods=[rank, "bm25"]).run(
        indexed.path
    )
    assert evaluated.rows[1]["map"] == pytest.approx(rows["on the same queries"])
    assert evaluated.rows[2]["map"] == pytest.approx(rows["baseline"])  # stems of these words are the words
    assert any("stands for the scores of the candidates" in note for note in table.notes)


@pytest.mark.slow
def test_progress_is_that_of_the_whole(indexed: Collection) -> None:
    """It rises from one report to the next, and ends with all steps done."""
    seen = list[tuple[str, int, int | None]]()

    def progress(task: str, done: int, total: int | None, unit: str) -> None:
        assert unit == "queries"
        seen.append((task, done, total))

    keys = [f"d{i}" for i in range(12)]
    grades = {key: {hit.key: 1 for hit in indexed.similar(key, k=2).hits} for key in keys}
    TuningExperiment(qrels=qrels_of(indexed, grades), folds=3).run(indexed.path, progress)
    assert {task for task, _, _ in seen} == {"Tuning"}
    done = [done for _, done, _ in seen]
    assert done == sorted(done)
    assert seen[-1][1] == seen[-1][2]
    totals = [total for _, _, total in seen]
    assert max(totals) <= 2 * min(totals)  # type: ignore[type-var, operator]  # none is None
