"""Distinct words of many documents, against sets."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.indexing.word_counts import EncodedCounts, distinct_words

_PARTS = st.lists(st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 3), max_size=4), max_size=3)


@given(st.lists(_PARTS, max_size=4))
def test_distinct_words_are_those_of_sets(documents: list[list[list[int]]]) -> None:
    stored = [[EncodedCounts(np.array(part, "<i4").tobytes(), b"") for part in parts] for parts in documents]
    words = distinct_words(stored)
    expected = [sorted({id_ for part in parts for id_ in part}) for parts in documents]
    assert list(zip(words.rows.tolist(), words.ids.tolist(), strict=True)) == [
        (row, id_) for row, own in enumerate(expected) for id_ in own
    ]
    frequencies = Counter(id_ for own in expected for id_ in own)
    assert words.frequencies() == frequencies
    assert list(words.frequencies()) == sorted(frequencies)
    assert words.with_any(words.ids > 1) == {row for row, own in enumerate(expected) if any(id_ > 1 for id_ in own)}
