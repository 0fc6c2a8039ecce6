"""Measures of rankings as trec_eval computes them, each a number from 0 to 1 for one query.

Relevance judgments and ranked lists are TREC's qrels and runs, in memory. Two methods on the same queries are compared
by a test of significance.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError
from moverank.rerank.falling_scores import strictly_falling
from moverank.rerank.options import did_you_mean


@dataclass(frozen=True, eq=False)
class Judgments:
    """Grades by query and document: 1 or more is relevant, 0 or less is judged and not relevant.

    Raises EvaluationError if no document is relevant to any query.
    """

    grades: Mapping[str, Mapping[str, int]]

    def __post_init__(self) -> None:
        if not self.queries:
            raise EvaluationError("no document is judged to be relevant to any query: there is nothing to measure")

    @cached_property
    def queries(self) -> tuple[str, ...]:
        """Return the queries with a relevant document, in the order given: measures are means over these."""
        return tuple(query for query, grades in self.grades.items() if max(grades.values(), default=0) > 0)

    def without(self, documents: Iterable[str]) -> "Judgments":
        """Return the judgments without `documents`; a query that keeps no relevant document is no longer measured.

        Raises EvaluationError if no query is left.
        """
        removed = set(documents)
        return Judgments(
            {
                query: {key: grade for key, grade in grades.items() if key not in removed}
                for query, grades in self.grades.items()
            }
        )


@dataclass(frozen=True, slots=True, eq=False)
class GradedRanking:
    """The `grades` (n,) int64 of one query's ranking, best first; 0 for documents that are not relevant or not judged.

    `ideal` (m,) int64 are the grades of all relevant documents, the highest first, ranked or not.
    """

    grades: NDArray[np.int64]
    ideal: NDArray[np.int64]

    @classmethod
    def of(cls, ranked: Sequence[str], grades: Mapping[str, int]) -> "GradedRanking":
        """Look up the grades of the `ranked` keys. Raises EvaluationError for a document that is ranked twice."""
        if len(set(ranked)) < len(ranked):
            raise EvaluationError("a document is ranked twice for one query: it can be found only once")
        ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
        gains = np.array([max(0, grades.get(key, 0)) for key in ranked], np.int64)
        return cls(gains, np.array(ideal, np.int64))


def join_run(judgments: Judgments, run: Mapping[str, Sequence[str]]) -> dict[str, GradedRanking]:
    """Join a run (ranked keys by query) with judgments; a query that the run does not contain has an empty ranking."""
    return {query: GradedRanking.of(run.get(query, ()), judgments.grades[query]) for query in judgments.queries}


def run_lines(query: str, keys: Sequence[str], name: str, scores: NDArray[np.float64] | None = None) -> list[str]:
    """Return the lines `query Q0 document rank score name` of the ranked `keys` (n,), best first.

    `scores` (n,) decrease; scores that trec_eval could not distinguish are lowered a little. None: n, n - 1, ..., 1.
    """
    query, name = run_field(query), run_field(name)
    falling = np.arange(len(keys), 0, -1.0) if scores is None else strictly_falling(scores)
    return [
        f"{query} Q0 {run_field(key)} {rank} {score:.9g} {name}"
        for rank, (key, score) in enumerate(zip(keys, falling.tolist(), strict=True), start=1)
    ]


def run_field(text: str) -> str:
    """Return a text as a field of a TREC run: white space, which would add columns, becomes an underscore."""
    return "_".join(text.split())


Measure = Callable[[GradedRanking], float]


def average_precision(ranking: GradedRanking) -> float:
    """Return the mean, over all relevant documents, of the precision at the document's rank, 0 if it is not ranked."""
    ranks = np.flatnonzero(ranking.grades > 0) + 1
    return float(np.sum(np.arange(1, len(ranks) + 1) / ranks)) / len(ranking.ideal)


def r_precision(ranking: GradedRanking) -> float:
    """Return the precision at R, the number of relevant documents."""
    return precision(ranking, len(ranking.ideal))


def reciprocal_rank(ranking: GradedRanking) -> float:
    """Return 1 / rank of the first relevant document, 0 if none is ranked."""
    relevant = np.flatnonzero(ranking.grades > 0)
    return 1.0 / float(relevant[0] + 1) if len(relevant) else 0.0


def precision(ranking: GradedRanking, k: int) -> float:
    """Return the number of relevant documents among the first k, divided by k."""
    return float(np.count_nonzero(ranking.grades[:k] > 0)) / k


def recall(ranking: GradedRanking, k: int) -> float:
    """Return the share of the relevant documents that are among the first k."""
    return float(np.count_nonzero(ranking.grades[:k] > 0)) / len(ranking.ideal)


def ndcg(ranking: GradedRanking, k: int) -> float:
    """Return the discounted gain of the first k divided by the gain of the ideal ranking (Järvelin & Kekäläinen 2002).

    The gain is the grade itself, the discount log2(1 + rank), as in trec_eval's ndcg_cut; some tools use 2^grade - 1.
    """
    return _gain(ranking.grades[:k]) / _gain(ranking.ideal[:k])


def _gain(grades: NDArray[np.int64]) -> float:
    return float(np.sum(grades / np.log2(np.arange(2, len(grades) + 2))))


_WHOLE: Mapping[str, Measure] = {"map": average_precision, "rprec": r_precision, "mrr": reciprocal_rank}
_CUT: Mapping[str, Callable[[GradedRanking, int], float]] = {"p": precision, "recall": recall, "ndcg": ndcg}

DEFAULT_MEASURES = ("map", "ndcg@10", "recall@100")
"""The default measures of a table."""
RECALLS = ("recall@1", "recall@5", "recall@10", "recall@100")
"""The measures of a recall curve."""


def measure(name: str) -> Measure:
    """Return a measure by name: map, rprec, mrr, p@K, recall@K or ndcg@K. Raises EvaluationError for any other name."""
    kind, at, cut = name.partition("@")
    if not at and kind in _WHOLE:
        return _WHOLE[kind]
    if at and kind in _CUT and cut.isdecimal() and int(cut) > 0:
        at_cut, k = _CUT[kind], int(cut)
        return lambda ranking: at_cut(ranking, k)
    known = [*_WHOLE, *(f"{each}@K" for each in _CUT)]
    similar = did_you_mean(name, [*_WHOLE, *(f"{each}@{cut or 'K'}" for each in _CUT)])
    similar = "" if name in similar else similar  # the name is right, the number is wrong
    raise EvaluationError(
        f"there is no measure {name!r}{similar}: choose {', '.join(known)}, with a whole number K above 0"
    )


def evaluate_measures(rankings: Iterable[GradedRanking], names: Iterable[str]) -> dict[str, NDArray[np.float64]]:
    """Return the values (q,) of each measure for q rankings, by the measure's name."""
    queries, functions = list(rankings), {name: measure(name) for name in names}
    return {name: np.array([function(query) for query in queries]) for name, function in functions.items()}


RESAMPLES = 9999


def randomisation(
    one: NDArray[np.float64], other: NDArray[np.float64], resamples: int = RESAMPLES, seed: int = 0
) -> float:
    """Return the two-sided p value of Fisher's paired randomisation test of the difference of two means.

    `one` (n,) and `other` (n,) are the figures of two methods for the same queries. Under the null hypothesis they are
    exchangeable, so the sign of each difference is random (Smucker et al. 2007). The test takes all sign vectors if
    there are at most `resamples`, and otherwise draws `resamples` of them by `seed`. Raises EvaluationError if the
    shapes differ.
    """
    from scipy.stats import permutation_test

    differences = _differences(one, other)
    if not differences.any() or len(differences) == 1:
        return 1.0
    result = permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        random_state=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def holm(values: Sequence[float]) -> list[float]:
    """Return p `values` adjusted for multiple tests by Holm's step-down method, which bounds the family-wise error."""
    order = np.argsort(values, kind="stable")
    scaled = np.asarray(values, np.float64)[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(value) for value in adjusted]


def p_values(figures: Mapping[str, NDArray[np.float64]], reference: str) -> dict[str, float]:
    """Return the p value of every method but the `reference`, by name: `randomisation`, adjusted by `holm`.

    `figures` (n,) belong to one method each. Raises EvaluationError if their shapes differ.
    """
    others = [name for name in figures if name != reference]
    adjusted = holm([randomisation(figures[name], figures[reference]) for name in others])
    return dict(zip(others, adjusted, strict=True))


def _differences(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the differences (n,) of figures for the same queries; differences within 1e-12 are set to 0."""
    if one.shape != other.shape or one.ndim != 1 or not len(one):
        raise EvaluationError(f"two methods need a figure each for the same queries, not {one.shape} and {other.shape}")
    differences: NDArray[np.float64] = one - other
    return np.where(np.abs(differences) > 1e-12, differences, 0.0)
