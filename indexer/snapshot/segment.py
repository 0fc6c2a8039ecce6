"""Word counts of many documents as arrays, in memory or mapped from files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import lookup, run_heads
from moverank.rerank.bags.weights import PartCounts

if TYPE_CHECKING:  # it would load SQLAlchemy
    from moverank.indexer.store import CountedPart

_CHUNK = 8000  # parts in a portion: larger arrays get new memory each time, which takes as long as filling them
_PIECE = 2000  # parts assembled together: larger arrays leave the processor's cache, and take three times as long
_KEY_BITS = 63
_NONE = np.empty(0, np.int64)

Portion = tuple[NDArray[np.int64], PartCounts]
"""Document ids (n,), and counts with a row for each."""


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Documents by their words."""

    ids: NDArray[np.int64]
    """The ids (n,) of the documents in the store, increasing; row i of `counts` belongs to `ids[i]`."""
    source: PartCounts | Callable[[], PartCounts]
    """The counts, or a function that loads them: they may be large, and not every search needs them."""
    word_ids: NDArray[np.int64]
    """The ids (v,) of the words, increasing; words of `counts` are positions in this array."""

    @classmethod
    def stored(cls, parts: Sequence["CountedPart"], others: NDArray[np.int64] = _NONE) -> "Terms":
        """Return the documents of stored parts by all of their words and by `others` (m,), which they may lack."""
        words = np.sort(np.append(np.frombuffer(b"".join(part.words for part in parts), "<i4"), others))
        distinct = words[np.diff(words, prepend=-1) != 0]  # sorting takes a tenth of the time of NumPy's hashing
        return cls(*concatenated(list(assemble(parts, distinct))), distinct)

    @property
    def counts(self) -> PartCounts:
        """Return the counts; DamagedFile if their files are damaged."""
        return self.source if isinstance(self.source, PartCounts) else self.source()


@dataclass(frozen=True, slots=True, eq=False)
class Segment(Terms):
    """Documents by their words with a vector, for bags, and by all of their words, for scorers."""

    vectors: NDArray[np.float32]
    """The vectors (v, d) of the words `word_ids`."""
    terms: Terms
    """The documents by all of their words, also documents without a word that has a vector."""
    state: str = ""
    """Identifies the content; empty if nothing is cached for it."""

    @classmethod
    def of(cls, terms: Terms, word_ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> Self:
        """Return documents in memory; the words `word_ids` (v,) of `terms` have `vectors` (v, d)."""
        return cls(*keep_words(terms.ids, terms.counts, terms.word_ids, word_ids), word_ids, vectors, terms)


def keep_words(
    ids: NDArray[np.int64], counts: PartCounts, word_ids: NDArray[np.int64], kept: NDArray[np.int64]
) -> Portion:
    """Keep only the words `kept` (v,) of `counts` over `word_ids` (t,), both increasing; drop documents left empty.

    `ids` (n,) are the documents of the counts. Words of the returned counts are positions in `kept`.
    """
    positions, present = lookup(word_ids, kept)
    own = counts.only(present)
    rows = np.flatnonzero(np.diff(own.starts))
    words = positions.astype(np.int32)[own.words]
    return ids[rows], PartCounts(np.append(own.starts[rows], own.starts[-1]), words, own.ranks, own.counts)


def assemble(parts: Iterable["CountedPart"], word_ids: NDArray[np.int64]) -> Iterator[Portion]:
    """Assemble stored parts, ordered by document, into portions whose words are positions in `word_ids` (t,).

    Words that are not in `word_ids` are dropped, and documents left without a word.
    """
    position_of = np.full(int(word_ids[-1]) + 1 if len(word_ids) else 1, -1, np.int32)
    position_of[word_ids] = np.arange(len(word_ids), dtype=np.int32)
    for portion in documents_of(parts, _CHUNK):
        yield concatenated([_assembled(piece, position_of) for piece in documents_of(portion, _PIECE)])


def documents_of(parts: Iterable["CountedPart"], size: int) -> Iterator[list["CountedPart"]]:
    """Split parts, ordered by document, into lists of at least `size` (the last: fewer) of whole documents."""
    some: list[CountedPart] = []
    for part in parts:
        if len(some) >= size and part.document_id != some[-1].document_id:
            yield some
            some = []
        some.append(part)
    if some:
        yield some


def _assembled(parts: list["CountedPart"], position_of: NDArray[np.int32]) -> Portion:
    """Assemble whole documents."""
    lengths = np.array([len(part.words) // 4 for part in parts])
    stored = np.frombuffer(b"".join(part.words for part in parts), "<i4")
    counts = np.frombuffer(b"".join(part.counts for part in parts), "<i4")
    documents = np.repeat(np.array([part.document_id for part in parts], np.int64), lengths)
    ranks = np.repeat(np.array([part.rank for part in parts], np.int32), lengths)
    # Words stored after the vocabulary was read have larger ids.
    words = position_of[np.minimum(stored, len(position_of) - 1)]
    words[stored >= len(position_of)] = -1
    known = np.flatnonzero(words >= 0)
    documents = documents[known]
    first = np.diff(documents, prepend=-1) != 0
    ids, rows = documents[first], np.cumsum(first) - 1
    return ids, packed_rows(rows, words[known], ranks[known], counts[known], len(ids))


def packed_rows(
    rows: NDArray[np.int64], words: NDArray[np.int32], ranks: NDArray[np.int32], counts: NDArray[Any], n: int
) -> PartCounts:
    """Return counts (nnz,) as `n` rows, which may be empty; `rows` (nnz,) increase; the order within a row is free."""
    order = _order(rows, words, ranks)
    starts = np.searchsorted(rows, np.arange(n + 1)).astype(np.int64)
    return _merge_equal(PartCounts(starts, words[order], ranks[order], counts[order].astype(np.int32)))


def _order(rows: NDArray[np.int64], words: NDArray[np.int32], ranks: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the order (nnz,) by rows, which are ordered already, then words, then ranks (-1 and above)."""
    bits = [(int(array.max(initial=0)) + 1).bit_length() for array in (rows, words, ranks)]
    if sum(bits) > _KEY_BITS:
        return np.lexsort((ranks, words, rows))
    # Parts are ordered by word: a stable sort only merges the runs of each document.
    return np.argsort((rows << bits[1] | words) << bits[2] | (ranks.astype(np.int64) + 1), kind="stable")


def _merge_equal(counts: PartCounts) -> PartCounts:
    """Sum the counts of a word in several parts of the same rank."""
    first = run_heads(counts.starts, counts.words, counts.ranks)
    if first.all():
        return counts
    heads = np.flatnonzero(first)
    return PartCounts(
        np.searchsorted(heads, counts.starts).astype(np.int64),
        counts.words[heads],
        counts.ranks[heads],
        np.add.reduceat(counts.counts, heads).astype(np.int32),
    )


def concatenated(portions: list[Portion]) -> Portion:
    """Concatenate portions."""
    if not portions:
        empty = np.empty(0, np.int32)
        return np.empty(0, np.int64), PartCounts(np.zeros(1, np.int64), empty, empty, empty)
    if len(portions) == 1:  # of a large collection, a copy would take much memory
        return portions[0]
    sizes = np.concatenate([np.diff(counts.starts) for _, counts in portions])
    return np.concatenate([ids for ids, _ in portions]), PartCounts(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([counts.words for _, counts in portions]),
        np.concatenate([counts.ranks for _, counts in portions]),
        np.concatenate([counts.counts for _, counts in portions]),
    )
