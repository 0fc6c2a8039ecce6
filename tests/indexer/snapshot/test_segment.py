"""Segments assembled from stored parts, against sums in dictionaries."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.indexer.snapshot.segment import _order, assemble, concatenated
from moverank.indexer.store import CountedPart
from moverank.rerank.bags.weights import PartCounts

_COUNTS = st.dictionaries(st.integers(1, 9), st.integers(1, 5), max_size=4)
_PARTS = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 2), _COUNTS), max_size=8)

Entries = dict[int, list[tuple[int, int, int]]]
"""Document id -> (word id, rank, count) of each entry."""


def _stored(parts: list[tuple[int, int, dict[int, int]]]) -> Iterator[CountedPart]:
    for document, rank, counts in sorted(parts, key=lambda part: part[0]):
        words = sorted(counts)
        amounts = [counts[word] for word in words]
        yield CountedPart(document, rank, np.array(words, "<i4").tobytes(), np.array(amounts, "<i4").tobytes())


def _entries(ids: NDArray[np.int64], counts: PartCounts, word_ids: list[int]) -> Entries:
    entries: Entries = {}
    for row, id_ in enumerate(ids.tolist()):
        rows = slice(counts.starts[row], counts.starts[row + 1])
        columns = [column[rows].tolist() for column in (counts.words, counts.ranks, counts.counts)]
        entries[id_] = [(word_ids[word], rank, count) for word, rank, count in zip(*columns, strict=True)]
    return entries


def _naive_entries(parts: list[tuple[int, int, dict[int, int]]], word_ids: list[int]) -> Entries:
    sums: dict[int, dict[tuple[int, int], int]] = defaultdict(lambda: defaultdict(int))
    for document, rank, counts in parts:
        for word, count in counts.items():
            if word in word_ids:
                sums[document][word, rank] += count
    return {id_: [(*key, sums[id_][key]) for key in sorted(sums[id_])] for id_ in sorted(sums)}


@given(_PARTS, st.sets(st.integers(1, 9)).map(sorted), st.sampled_from([1, 2, 100]))
def test_parts_are_summed_over_known_words(
    parts: list[tuple[int, int, dict[int, int]]], word_ids: list[int], chunk: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("moverank.indexer.snapshot.segment._CHUNK", chunk)
        portions = list(assemble(_stored(parts), np.array(word_ids, np.int64)))
    ids, counts = concatenated(portions)
    assert len(counts) == len(ids)
    assert _entries(ids, counts, word_ids) == _naive_entries(parts, word_ids)
    if chunk == 1:
        assert len(portions) == len({document for document, _, _ in parts})


def test_a_segment_may_be_empty() -> None:
    ids, counts = concatenated([])
    assert (len(ids), len(counts), counts.starts.tolist()) == (0, 0, [0])


@given(st.integers(0, 2**31 - 1), st.integers(0, 30), st.sampled_from([1, 40]))
def test_entries_are_ordered_by_document_word_and_rank(largest: int, size: int, documents: int) -> None:
    rng = np.random.default_rng(largest)
    rows = np.sort(rng.integers(0, documents, size))
    words, ranks = rng.integers(0, 3, size).astype(np.int32), rng.integers(-1, 2, size).astype(np.int32)
    words[ranks == 0] = largest
    ranks[words == 1] = largest
    expected = np.lexsort((ranks, words, rows))
    np.testing.assert_array_equal(_order(rows, words, ranks), expected)
