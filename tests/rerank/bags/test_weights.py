from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.bags.bag import TITLE
from moverank.rerank.bags.weights import (
    PartCounts,
    check_gamma,
    inverse_document_frequency,
    ranked_counts,
    weigh,
    with_factors,
)
from moverank.rerank.errors import BagError
from tests import naive

Document = list[naive.Entry]
GAMMAS = st.one_of(st.just(0.0), st.floats(0, 10))


@dataclass(frozen=True)
class Corpus:
    """Documents, and the same as compressed sparse rows."""

    documents: list[Document]

    @property
    def packed(self) -> PartCounts:
        starts = np.cumsum([0, *(len(document) for document in self.documents)], dtype=np.int64)
        columns = np.array([entry for document in self.documents for entry in document], np.int32).reshape(-1, 3)
        return PartCounts(starts, columns[:, 0], columns[:, 1], columns[:, 2])


def _document(counts: dict[tuple[int, int], int]) -> Document:
    return [(word, rank, count) for (word, rank), count in sorted(counts.items())]


def _corpora(best: int) -> st.SearchStrategy[Corpus]:
    """Return a strategy for corpora with ranks from `best` on."""
    entries = st.tuples(st.integers(0, 9), st.integers(best, 20))
    documents = st.dictionaries(entries, st.integers(1, 100), min_size=1, max_size=15).map(_document)
    return st.lists(documents, max_size=6).map(Corpus)


CORPORA, WITHOUT_TITLES = _corpora(TITLE), _corpora(0)
IDF = st.lists(st.floats(0.1, 10), min_size=10, max_size=10)


@given(CORPORA, GAMMAS, st.none() | IDF, st.sampled_from([1.0, 0.5, 3.0]))
def test_weights_equal_the_naive_ones(
    corpus: Corpus, gamma: float, idf: list[float] | None, title_weight: float
) -> None:
    bags = weigh(corpus.packed, gamma, None if idf is None else np.array(idf), title_weight)
    assert len(bags) == len(corpus.documents)
    for bag, document in zip(bags, corpus.documents, strict=True):
        expected = naive.weights(document, gamma, idf, title_weight)
        assert bag.words.tolist() == list(expected)
        assert bag.weights.tolist() == pytest.approx(list(expected.values()), rel=1e-9)
        assert bag.weights.sum() == pytest.approx(1, abs=1e-12)


@given(CORPORA)
def test_gamma_zero_ignores_ranks(corpus: Corpus) -> None:
    pooled = []
    for document in corpus.documents:
        counts: dict[tuple[int, int], int] = {}
        for word, _, count in document:
            counts[word, 0] = counts.get((word, 0), 0) + count
        pooled.append(_document(counts))
    for bag, plain in zip(weigh(corpus.packed, 0.0), weigh(Corpus(pooled).packed, 7.5), strict=True):
        assert bag.words.tolist() == plain.words.tolist()
        assert bag.weights.tolist() == pytest.approx(plain.weights.tolist(), rel=1e-12)


# Word 0 in the title, in part 0 and in part 2; word 1 in part 2; then word 2 in part 1 of another document.
_TITLED = Corpus([[(0, TITLE, 1), (0, 0, 2), (0, 2, 3), (1, 2, 4)], [(2, 1, 5)]])


def test_counts_are_weighed_by_rank_and_title() -> None:
    starts, words, amounts = ranked_counts(_TITLED.packed, 1.0, 2.5)
    assert (starts.tolist(), words.tolist()) == ([0, 2, 3], [0, 1, 2])
    assert amounts.tolist() == pytest.approx([2.5 + 2 + 3 / 3, 4 / 3, 5])  # ranks relative to the best of a document


def test_counts_that_underflow_are_left_out() -> None:
    starts, words, amounts = ranked_counts(_TITLED.packed, 5000.0, 2.5)
    assert (starts.tolist(), words.tolist(), amounts.tolist()) == ([0, 1, 2], [0, 2], [4.5, 5])


@given(CORPORA, st.sets(st.integers(0, 9)))
def test_counts_of_some_words_leave_documents_that_may_be_empty(corpus: Corpus, some: set[int]) -> None:
    own = corpus.packed.only(np.isin(np.arange(10), sorted(some)))
    columns = [own.words, own.ranks, own.counts]
    found = [list(zip(*(column[a:b].tolist() for column in columns), strict=True)) for a, b in pairwise(own.starts)]
    assert found == [[entry for entry in document if entry[0] in some] for document in corpus.documents]


@given(WITHOUT_TITLES, GAMMAS, st.integers(0, 10))
def test_weights_depend_on_ratios_of_ranks(corpus: Corpus, gamma: float, factor: int) -> None:
    # (1 + r) times a constant for every part multiplies b_p by a constant, which the scaling to a sum of 1 cancels.
    shifted = [[(word, (1 + rank) * (1 + factor) - 1, n) for word, rank, n in doc] for doc in corpus.documents]
    for bag, other in zip(weigh(corpus.packed, gamma), weigh(Corpus(shifted).packed, gamma), strict=True):
        assert bag.words.tolist() == other.words.tolist()
        assert bag.weights.tolist() == pytest.approx(other.weights.tolist(), rel=1e-9)


@pytest.mark.parametrize("best", [0, 7, 2**31 - 2])
def test_a_huge_gamma_keeps_only_the_best_part(best: int) -> None:
    document = [(1, best, 1), (1, best + 1, 5), (2, best + 1, 9), (4, best, 3)]
    (bag,) = weigh(Corpus([document]).packed, 1e15)
    assert bag.words.tolist() == [1, 4]
    assert bag.weights.tolist() == pytest.approx([0.25, 0.75])


def test_gamma_of_a_million() -> None:
    documents: list[Document] = [[(0, 3, 1), (5, 4, 1)], [(2, 9, 4)], [(0, 0, 1), (0, 1, 1), (7, 0, 1)]]
    bags = list(weigh(Corpus(documents).packed, 1e6))
    assert [bag.words.tolist() for bag in bags] == [[0], [2], [0, 7]]
    assert [bag.weights.tolist() for bag in bags] == [[1], [1], [0.5, 0.5]]


def test_subnormal_weights_are_kept_and_zero_ones_dropped() -> None:
    # 2^-1070 is subnormal, 3^-1070 underflows to zero.
    (bag,) = weigh(Corpus([[(0, 0, 1), (1, 1, 1), (2, 2, 1)]]).packed, 1070.0)
    assert bag.words.tolist() == [0, 1]
    assert bag.weights.tolist() == [1, 2.0**-1070]


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_idf_equals_the_naive_one_and_is_positive(one: int, other: int) -> None:
    frequency, documents = sorted((one, other))
    (idf,) = inverse_document_frequency(np.array([frequency]), documents)
    assert idf == pytest.approx(naive.idf(frequency, documents), rel=1e-12)
    assert idf >= 1


def test_idf_and_weights_equal_scikit_learn() -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text", reason="needs scikit-learn to compare with")
    rng = np.random.default_rng(0)
    table = rng.integers(0, 3, (30, 12))
    table[:, 0] = 1
    transformer = text.TfidfTransformer(norm="l1", smooth_idf=True).fit(table)
    idf = inverse_document_frequency(np.count_nonzero(table, axis=0), len(table))
    assert idf == pytest.approx(transformer.idf_)
    documents = [[(word, 0, int(row[word])) for word in np.flatnonzero(row).tolist()] for row in table]
    expected = transformer.transform(table).toarray()
    for bag, row in zip(weigh(Corpus(documents).packed, 0.0, idf), expected, strict=True):
        assert bag.weights == pytest.approx(row[bag.words])


@given(CORPORA.filter(lambda corpus: bool(corpus.documents)), st.data())
def test_take_commutes_with_weigh(corpus: Corpus, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(corpus.documents) - 1)))
    chosen = np.array(rows, np.int64)
    taken = corpus.packed.take(chosen)
    assert len(taken) == len(rows)
    for before, after in zip(weigh(taken, 0.75), weigh(corpus.packed, 0.75).take(chosen), strict=True):
        assert before.words.tolist() == after.words.tolist()
        assert before.weights.tolist() == after.weights.tolist()


@pytest.mark.parametrize("gamma", [-1e-9, float("nan"), float("inf"), -float("inf")])
def test_invalid_gamma_is_rejected(gamma: float) -> None:
    with pytest.raises(BagError, match="gamma must be a number of 0 or more"):
        check_gamma(gamma)
    with pytest.raises(BagError, match="gamma"):
        weigh(Corpus([[(0, 0, 1)]]).packed, gamma)


@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_document_without_words_is_rejected(row: int) -> None:
    documents: list[Document] = [[(0, 0, 1)], [(0, 0, 1)]]
    documents.insert(row, [])
    with pytest.raises(BagError, match=f"document {row} has no word"):
        weigh(Corpus(documents).packed)


@given(CORPORA, IDF)
def test_idf_can_be_applied_afterwards(corpus: Corpus, idf: list[float]) -> None:
    plain, once = weigh(corpus.packed, 0.75), weigh(corpus.packed, 0.75, np.array(idf))
    for bag, other in zip(with_factors(plain, np.array(idf)), once, strict=True):
        assert bag.words.tolist() == other.words.tolist()
        assert bag.weights.tolist() == pytest.approx(other.weights.tolist(), rel=1e-9)


def test_no_documents_have_no_bags() -> None:
    assert len(weigh(Corpus([]).packed, 0.75)) == 0
