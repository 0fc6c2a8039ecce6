import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.measures import (
    DEFAULT_MEASURES,
    GradedRanking,
    Judgments,
    evaluate_measures,
    join_run,
    measure,
)
from tests import naive_evaluation as naive

KEYS = [f"d{i}" for i in range(12)]
GRADES = st.dictionaries(st.sampled_from(KEYS), st.integers(-1, 3), min_size=1).filter(lambda g: max(g.values()) > 0)
RANKED = st.permutations(KEYS).flatmap(lambda keys: st.integers(0, len(keys)).map(lambda n: keys[:n]))
ORACLE = {"map": "AP", "rprec": "Rprec", "mrr": "RR", "ndcg@3": "nDCG@3", "p@5": "P@5", "recall@4": "R@4"}


@given(RANKED, GRADES)
def test_measures_equal_their_definitions(ranked: list[str], grades: dict[str, int]) -> None:
    ranking = GradedRanking.of(ranked, grades)
    relevant = {key for key, grade in grades.items() if grade > 0}
    assert measure("map")(ranking) == pytest.approx(naive.average_precision(ranked, grades))
    assert measure("ndcg@4")(ranking) == pytest.approx(naive.ndcg(ranked, grades, 4))
    assert measure("p@5")(ranking) == len(relevant.intersection(ranked[:5])) / 5
    assert measure("recall@5")(ranking) == len(relevant.intersection(ranked[:5])) / len(relevant)
    assert measure("rprec")(ranking) == len(relevant.intersection(ranked[: len(relevant)])) / len(relevant)
    first = [1 / rank for rank, key in enumerate(ranked, start=1) if key in relevant]
    assert measure("mrr")(ranking) == (first[0] if first else 0)


# ir-measures parses names with what Python 3.12 calls deprecated.
@pytest.mark.filterwarnings("ignore:(ast.Num|Attribute n) is deprecated:DeprecationWarning")
def test_measures_equal_trec_eval() -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="needs ir-measures, of the extra test")
    rng = np.random.default_rng(3)
    qrels = {f"q{i}": {key: int(rng.integers(0, 3)) for key in rng.choice(KEYS, 6, replace=False)} for i in range(40)}
    # Few distinct scores: the order of ties has to be that of trec_eval, too.
    scores = {query: {key: float(rng.integers(0, 4)) for key in rng.choice(KEYS, 10, replace=False)} for query in qrels}
    run = {}
    for query, by_key in scores.items():
        run[query] = [key for _, key in sorted(((score, key) for key, score in by_key.items()), reverse=True)]
    judgments = Judgments(qrels)
    rankings = join_run(judgments, run)
    names = [ir_measures.parse_measure(name) for name in ORACLE.values()]
    expected = {(m.query_id, str(m.measure)): m.value for m in ir_measures.iter_calc(names, qrels, scores)}
    for name, oracle_name in ORACLE.items():
        for query, ranking in rankings.items():
            assert measure(name)(ranking) == pytest.approx(expected[query, oracle_name]), (name, query)


@given(GRADES, st.integers(0, 10**6))
def test_ndcg_and_average_precision_equal_scikit_learn(grades: dict[str, int], seed: int) -> None:
    scores = np.random.default_rng(seed).permutation(len(KEYS)).astype(float)
    ranking = GradedRanking.of([KEYS[i] for i in np.argsort(-scores)], grades)
    truth = np.array([max(0, grades.get(key, 0)) for key in KEYS])
    assert measure("ndcg@10")(ranking) == pytest.approx(ndcg_score([truth], [scores], k=10))
    assert measure("map")(ranking) == pytest.approx(average_precision_score(truth > 0, scores))


def test_an_unranked_relevant_document_has_precision_zero() -> None:
    # The document at rank 2 has precision 1/2; the other relevant one is not ranked.
    assert measure("map")(GradedRanking.of(["d1", "d2", "d3"], {"d2": 1, "d4": 1})) == 0.25
    assert measure("map")(GradedRanking.of(["d1"], {"d2": 1})) == 0


def test_a_query_without_results_counts_as_zero() -> None:
    judgments = Judgments({"a": {"d1": 1}, "b": {"d2": 2}, "c": {"d3": 0}})
    figures = evaluate_measures(join_run(judgments, {"a": ["d1"]}).values(), DEFAULT_MEASURES)
    assert judgments.queries == ("a", "b")
    assert figures["map"].tolist() == [1.0, 0.0]
    assert figures["ndcg@10"].tolist() == [1.0, 0.0]


def test_documents_can_be_removed_from_judgments() -> None:
    judgments = Judgments({"a": {"d1": 1, "d2": 1}, "b": {"d2": 1}})
    assert judgments.without(["d2"]).queries == ("a",)


@pytest.mark.parametrize("name", ["mean", "p", "recall@0", "ndcg@x", "map@5", ""])
def test_an_unknown_measure_is_rejected_with_a_list_of_the_valid_ones(name: str) -> None:
    with pytest.raises(EvaluationError, match="choose map, rprec, mrr, p@K"):
        measure(name)


def test_invalid_judgments_and_rankings_are_rejected() -> None:
    with pytest.raises(EvaluationError, match="no document is judged"):
        Judgments({"a": {"d1": 0}})
    with pytest.raises(EvaluationError, match="ranked twice"):
        GradedRanking.of(["d1", "d1"], {"d1": 1})
