"""Terms that become one: their counts are added up, and each document's stay sorted."""

import numpy as np

from moverank.rerank.scorers import Postings, TermCounts
from moverank.rerank.words.term_rules import WordTerms


def test_counts_of_terms_that_become_one_are_added_up() -> None:
    starts, terms = np.array([0, 3, 3, 5]), np.array([0, 1, 3, 0, 2], np.int32)
    counts = TermCounts(starts, terms, np.array([1.0, 2.0, 4.0, 8.0, 0.5]))
    postings = Postings.transposed(counts, 4, WordTerms(np.array([2, 0, 2, 2], np.int32)))
    assert postings.starts.tolist() == [0, 1, 1, 3, 3]
    assert postings.documents.tolist() == [0, 0, 2]
    merged = postings.by_document()
    assert merged.starts.tolist() == [0, 2, 2, 3]
    assert merged.terms.tolist() == [0, 2, 2]
    assert merged.counts.tolist() == [2.0, 5.0, 8.5]
