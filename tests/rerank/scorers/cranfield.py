"""What comparisons of scorers with other implementations share."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from moverank.rerank.testing.sample_counts import CountedSegment, Counts
from tests.benchmarks.retrieval_sets import RetrievalSet

TOLERANCE = 1e-6


def words_of(counts: Counts) -> list[str]:
    return [term for term, count in counts.items() for _ in range(int(count))]


def vocabulary_of(cranfield: RetrievalSet) -> list[str]:
    """Return the terms of all documents and queries."""
    return sorted({term for counts in [*cranfield.documents, *cranfield.queries.values()] for term in counts})


def count_matrix(vocabulary: Sequence[str], texts: Sequence[Counts]) -> Any:
    sklearn = pytest.importorskip("sklearn.feature_extraction.text")
    return sklearn.CountVectorizer(analyzer=words_of, vocabulary=vocabulary, dtype=np.float64).transform(texts)


def scores_of(
    segment: CountedSegment, name: str, options: Mapping[str, str], queries: Sequence[Counts]
) -> NDArray[np.float64]:
    """Return the scores (queries, documents)."""
    scorer = segment.fit(name, options)
    return np.array([scorer.score(segment.query(query)) for query in queries])


def queries_of(cranfield: RetrievalSet) -> Iterator[Counts]:
    """Yield all queries, and some long ones: documents."""
    yield from cranfield.queries.values()
    yield from cranfield.documents[:20]
