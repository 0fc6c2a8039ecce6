"""Measures of rankings as trec_eval computes them: each a number from 0 to 1 for one query."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError
from moverank.rerank.evaluation.judgments import Judged

Measure = Callable[[Judged], float]


def average_precision(ranking: Judged) -> float:
    """Return the mean over all relevant documents of the precision at the rank of each, 0 for those not ranked."""
    ranks = np.flatnonzero(ranking.grades > 0) + 1
    return float(np.sum(np.arange(1, len(ranks) + 1) / ranks)) / len(ranking.ideal)


def r_precision(ranking: Judged) -> float:
    """Return the precision among the first R, R being the number of relevant documents."""
    return precision(ranking, len(ranking.ideal))


def reciprocal_rank(ranking: Judged) -> float:
    """Return 1 / rank of the first relevant document, 0 where there is none."""
    found = np.flatnonzero(ranking.grades > 0)
    return 1.0 / float(found[0] + 1) if len(found) else 0.0


def precision(ranking: Judged, k: int) -> float:
    """Return the share of relevant documents among the first k places, filled or not."""
    return float(np.count_nonzero(ranking.grades[:k] > 0)) / k


def recall(ranking: Judged, k: int) -> float:
    """Return the share of the relevant documents that is among the first k."""
    return float(np.count_nonzero(ranking.grades[:k] > 0)) / len(ranking.ideal)


def ndcg(ranking: Judged, k: int) -> float:
    """Return the discounted gain of the first k by that of the best possible ranking (Järvelin & Kekäläinen 2002).

    The gain is the grade itself, the discount log2(1 + rank): trec_eval's ndcg_cut, not the 2^grade - 1 of others.
    """
    return _gain(ranking.grades[:k]) / _gain(ranking.ideal[:k])


def _gain(grades: NDArray[np.int64]) -> float:
    return float(np.sum(grades / np.log2(np.arange(2, len(grades) + 2))))


_WHOLE: Mapping[str, Measure] = {"map": average_precision, "rprec": r_precision, "mrr": reciprocal_rank}
_CUT: Mapping[str, Callable[[Judged, int], float]] = {"p": precision, "recall": recall, "ndcg": ndcg}

USUAL = ("map", "rprec", "mrr", "ndcg@10", "p@10", "recall@1", "recall@5", "recall@10", "recall@100")
"""Measures that a table shows where nobody chooses."""


def measure(name: str) -> Measure:
    """Return a measure by name: map, rprec, mrr, p@K, recall@K or ndcg@K. Raises EvaluationError for any other."""
    kind, at, cut = name.partition("@")
    if not at and kind in _WHOLE:
        return _WHOLE[kind]
    if at and kind in _CUT and cut.isdecimal() and int(cut) > 0:
        at_cut, k = _CUT[kind], int(cut)
        return lambda ranking: at_cut(ranking, k)
    known = [*_WHOLE, *(f"{each}@K" for each in _CUT)]
    raise EvaluationError(f"there is no measure {name!r}: choose {', '.join(known)}, with a whole number K above 0")


def measured(rankings: Iterable[Judged], names: Iterable[str]) -> dict[str, NDArray[np.float64]]:
    """Return each measure of each query's ranking, by name, (queries,)."""
    each = list(rankings)
    return {name: np.array([function(ranking) for ranking in each]) for name, function in _named(names)}


def _named(names: Iterable[str]) -> list[tuple[str, Measure]]:
    return [(name, measure(name)) for name in names]
