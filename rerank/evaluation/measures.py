"""Measures of rankings as trec_eval computes them: each a number from 0 to 1 for one query."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.judgments import GradedRanking
from moverank.rerank.options import did_you_mean

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
    """Return the discounted gain of the first k divided by that of the ideal ranking (Järvelin & Kekäläinen 2002).

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
    similar = "" if name in similar else similar  # the number is wrong
    raise EvaluationError(
        f"there is no measure {name!r}{similar}: choose {', '.join(known)}, with a whole number K above 0"
    )


def evaluate_measures(rankings: Iterable[GradedRanking], names: Iterable[str]) -> dict[str, NDArray[np.float64]]:
    """Return the values (q,) of each measure for q rankings, by the measure's name."""
    queries, functions = list(rankings), {name: measure(name) for name in names}
    return {name: np.array([function(query) for query in queries]) for name, function in functions.items()}
