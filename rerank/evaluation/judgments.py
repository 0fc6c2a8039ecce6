"""What people judged to be relevant, and what a method ranked: TREC's qrels and runs, without their files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.errors import EvaluationError

TIE = 12
"""Decimals that scores are compared to: what differs beyond them is the rounding of sums."""


@dataclass(frozen=True, eq=False)
class Judgments:
    """Grades by query and document: 1 or more is relevant, 0 or less was looked at and is not.

    Raises EvaluationError where no document is relevant to any query.
    """

    grades: Mapping[str, Mapping[str, int]]

    def __post_init__(self) -> None:
        if not self.queries:
            raise EvaluationError("no document is judged to be relevant to any query: there is nothing to measure")

    @cached_property
    def queries(self) -> tuple[str, ...]:
        """Return the queries that have a relevant document, in the order given: measures are means over these."""
        return tuple(query for query, grades in self.grades.items() if max(grades.values(), default=0) > 0)

    def of(self, queries: Iterable[str]) -> "Judgments":
        """Return the judgments of some queries only."""
        chosen = set(queries)
        return Judgments({query: grades for query, grades in self.grades.items() if query in chosen})

    def without(self, documents: Iterable[str]) -> "Judgments":
        """Return the judgments of all documents but these: a query that loses all of its relevant ones drops out."""
        gone = set(documents)
        kept = {
            q: {key: grade for key, grade in grades.items() if key not in gone} for q, grades in self.grades.items()
        }
        return Judgments(kept)


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """One query's ranking with its grades (n,) int64, best first, 0 where nobody judged.

    `ideal` (m,) int64 are the grades of all relevant documents, the highest first, ranked or not.
    """

    grades: NDArray[np.int64]
    ideal: NDArray[np.int64]

    @classmethod
    def of(cls, ranked: Sequence[str], grades: Mapping[str, int]) -> "Judged":
        """Look up the grades of the ranked documents; EvaluationError for one that is ranked twice."""
        if len(set(ranked)) < len(ranked):
            raise EvaluationError("a document is ranked twice for one query: it can be found only once")
        ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
        found = np.array([max(0, grades.get(key, 0)) for key in ranked], np.int64)
        return cls(found, np.array(ideal, np.int64))


def judged(judgments: Judgments, run: Mapping[str, Sequence[str]]) -> dict[str, Judged]:
    """Join a run (ranked keys by query) with judgments: a query that the run has not has found nothing."""
    return {query: Judged.of(run.get(query, ()), judgments.grades[query]) for query in judgments.queries}


def in_order(keys: Sequence[str], scores: NDArray[np.float64], *, ascending: bool) -> list[int]:
    """Return the places of documents with scores (n,), best first; `ascending` says that small is near.

    Equal scores stand by their keys, the last first, as trec_eval has it: a run that is written to a file and measured
    there has the same figures. Scores are equal if they agree to 12 decimals. Infinite ones are left out.
    """
    near = np.round(scores if ascending else -scores, TIE)
    by_key = np.argsort(np.array(keys, dtype=object), kind="stable")[::-1]
    order = by_key[np.argsort(near[by_key], kind="stable")]
    return [place for place in order.tolist() if near[place] < np.inf]
