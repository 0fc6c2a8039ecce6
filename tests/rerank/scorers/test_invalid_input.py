"""Invalid input of scorers, and the messages of the errors."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moverank.rerank.errors import RerankError, ScorerError
from moverank.rerank.scorers import Statistics, TermQuery, WordVectors, choose_scorer, is_scorer, scorer_class
from moverank.rerank.scorers.bm25 import Bm25
from moverank.rerank.scorers.scorer_registry import PLUG_INS
from moverank.rerank.testing.sample_counts import Counted

ROOT = Path(__file__).resolve().parents[3]
SEGMENT = Counted([{"a": 1.0, "b": 2.0}, {"b": 1.0}], {"a": np.ones(3, np.float32)}).segment()


def test_importing_scorers_imports_no_heavy_package() -> None:
    program = "import sys, moverank.rerank.scorers; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"faiss", "gensim", "numba", "ot", "scipy", "sklearn"}


def test_scorers_by_name() -> None:
    assert PLUG_INS.names()[:3] == ("bow", "tfidf", "bm25")
    assert choose_scorer("bm25", {"k1": "2"}) is Bm25
    assert issubclass(ScorerError, RerankError)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("okapi", {}, r"there is no scorer 'okapi': choose bow, tfidf, bm25, "),
        ("bm25", {"k2": "1"}, r"bm25 has no option 'k2': choose k1 \(a number from 0 to 1000, default 1.2\), b \("),
        ("bow", {"k1": "1"}, r"bow has no option 'k1': choose norm \(l1 or l2, default l1\)$"),
        ("bow", {"norm": "l3"}, r"norm must be l1 or l2, not 'l3'"),
        ("bm25", {"b": "1.01"}, r"b must be a number from 0 to 1, not '1.01'"),
        ("bm25", {"b": "0_1"}, r"b must be a number from 0 to 1, not '0_1'"),
        ("bm25", {"k1": " 1 "}, r"k1 must be a number from 0 to 1000, not ' 1 '"),
        ("bm25", {"k1": "inf"}, r"k1 must be a number from 0 to 1000, not 'inf'"),
        ("bm25", {"k3": "nan"}, r"k3 must be a number from 0 to inf, not 'nan'"),
    ],
)
def test_invalid_options_are_rejected(name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(ScorerError, match=f"^{message}"):
        choose_scorer(name, options)
    if is_scorer(name):
        with pytest.raises(ScorerError, match=f"^{message}"):
            scorer_class(name).fit(SEGMENT.counts, SEGMENT.statistics, options)


def _statistics(**changes: Any) -> Callable[[], Statistics]:
    return lambda: replace(SEGMENT.statistics, **changes)


@pytest.mark.parametrize("name", PLUG_INS.names())
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_statistics(documents=1), "cannot hold more than its collection"),
        (_statistics(document_frequencies=np.array([0, 2])), "cannot hold more than its collection"),
        (_statistics(document_frequencies=np.array([1, 3])), "cannot hold more than its collection"),
        (_statistics(collection_frequencies=np.array([0.0, 3.0])), "no collection frequency"),
        (
            _statistics(document_frequencies=np.array([1]), collection_frequencies=np.array([1.0])),
            "term ids must be from 0 to 0: the statistics cover 1 terms",
        ),
        (_statistics(document_frequencies=np.array([1])), "a collection frequency for each term"),
    ],
)
def test_inconsistent_statistics_are_rejected(name: str, make: Callable[[], Statistics], message: str) -> None:
    with pytest.raises(ScorerError, match=message):
        scorer_class(name).fit(SEGMENT.counts, make(), {})


@pytest.mark.parametrize("name", PLUG_INS.names())
def test_statistics_without_the_segments_documents_are_rejected(name: str) -> None:
    segment = Counted([{"a": 1.0}, {}], {}).segment()
    with pytest.raises(ScorerError, match="cannot hold more than its collection"):
        scorer_class(name).fit(segment.counts, replace(segment.statistics, documents=1), {})


@pytest.mark.parametrize("name", PLUG_INS.names())
def test_inconsistent_rows_are_rejected(name: str) -> None:
    with pytest.raises(ScorerError, match="the last of `starts` must be the number of terms"):
        scorer_class(name).fit(replace(SEGMENT.counts, starts=np.array([0, 2])), SEGMENT.statistics, {})


@pytest.mark.parametrize("name", PLUG_INS.names())
@pytest.mark.parametrize("term", [2, -2])
def test_term_ids_out_of_range_are_rejected(name: str, term: int) -> None:
    query = replace(SEGMENT.query({"a": 1.0}), terms=np.array([term], np.int32))
    with pytest.raises(ScorerError, match="a query's term ids must be from -1 to 1: the segment has 2 terms"):
        SEGMENT.fit(name, {}).score(query)


def test_invalid_queries_are_rejected() -> None:
    def query(terms: list[int], counts: list[float], vectors: WordVectors | None = None) -> TermQuery:
        size = len(terms)
        return TermQuery(np.array(terms, np.int32), np.array(counts), np.ones(size, np.int64), np.ones(size), vectors)

    assert len(query([-1, 0, -1], [1.0, 2.0, 3.0])) == 3
    with pytest.raises(ScorerError, match="one number of each kind for a term"):
        query([0, 1], [1.0])
    with pytest.raises(ScorerError, match="a term occurs twice in a query"):
        query([1, 1], [1.0, 1.0])
    for invalid in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ScorerError, match="must be finite and positive"):
            query([0], [invalid])
    with pytest.raises(ScorerError, match="a query of 1 terms has 2 vectors"):
        query([0], [1.0], WordVectors(np.ones((2, 3), np.float32), np.ones(2, bool)))
    with pytest.raises(ScorerError, match="need as many `known` as rows"):
        WordVectors(np.ones((2, 3), np.float32), np.ones(3, bool))
