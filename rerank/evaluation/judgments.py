"""Relevance judgments and ranked lists: TREC's qrels and runs, in memory."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError
from moverank.rerank.falling_scores import strictly_falling

TIE = 12
"""Scores that agree to this many decimals are tied: smaller differences are rounding errors of sums."""


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
        """Return the judgments of all other documents; a query without a relevant one left is no longer measured.

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


def ranked_indices(keys: Sequence[str], scores: NDArray[np.float64], *, ascending: bool) -> list[int]:
    """Return the indices of documents in the order of their scores, best first.

    `keys` and `scores` (n,) are those of the documents; `ascending` means that smaller scores are better. Ties are in
    descending order of keys, as in trec_eval, so that both compute the same figures. Scores that agree to 12 decimals
    are tied. Documents with an infinitely bad score are dropped.
    """
    rounded = np.round(scores if ascending else -scores, TIE)
    by_key = np.argsort(np.array(keys, dtype=object), kind="stable")[::-1]
    order = by_key[np.argsort(rounded[by_key], kind="stable")]
    return [index for index in order.tolist() if rounded[index] < np.inf]


def run_lines(query: str, keys: Sequence[str], name: str, scores: NDArray[np.float64] | None = None) -> list[str]:
    """Return the lines `query Q0 document rank score name` of the ranked `keys` (n,), best first.

    `scores` (n,) decrease; those that trec_eval could not tell apart are lowered a little. None: they fall to 1.
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
