"""Terms that become one, or several: counts are added up, and each document's stay sorted."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.scorers import Postings, TermCounts
from moverank.rerank.words.term_rules import WordTerms


def test_counts_of_terms_that_become_one_are_added_up() -> None:
    starts, terms = np.array([0, 3, 3, 5]), np.array([0, 1, 3, 0, 2], np.int32)
    counts = TermCounts(starts, terms, np.array([1.0, 2.0, 4.0, 8.0, 0.5]))
    postings = Postings.transposed(counts, 4, WordTerms(np.array([2, 0, 2, 2], np.int32), np.arange(5)))
    assert postings.starts.tolist() == [0, 1, 1, 3, 3]
    assert postings.documents.tolist() == [0, 0, 2]
    merged = postings.by_document()
    assert merged.starts.tolist() == [0, 2, 2, 3]
    assert merged.terms.tolist() == [0, 2, 2]
    assert merged.counts.tolist() == [2.0, 5.0, 8.5]


@given(st.lists(st.dictionaries(st.integers(0, 4), st.integers(1, 9)), max_size=6), st.data())
def test_counts_of_terms_that_become_several_are_added_up(documents: list[dict[int, int]], data: st.DataObject) -> None:
    new = data.draw(st.lists(st.lists(st.integers(0, 6), max_size=4), min_size=5, max_size=5))
    starts = np.cumsum([0, *map(len, documents)])
    terms = np.array([term for one in documents for term in sorted(one)], np.int32)
    values = np.array([one[term] for one in documents for term in sorted(one)], np.float64)
    several = WordTerms(
        np.array([term for row in new for term in row], np.int32), np.cumsum([0, *map(len, new)]).astype(np.int64)
    )
    found = Postings.transposed(TermCounts(starts.astype(np.int64), terms, values), 7, several).by_document()
    for row, one in enumerate(documents):
        expected = Counter[int]()
        for term, count in one.items():
            for replacement in new[term]:
                expected[replacement] += count
        own = slice(found.starts[row], found.starts[row + 1])
        assert dict(zip(found.terms[own].tolist(), found.counts[own].tolist(), strict=True)) == expected
        assert found.terms[own].tolist() == sorted(expected)
