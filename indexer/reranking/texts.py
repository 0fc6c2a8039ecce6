"""Texts in memory: queries and candidates as documents, and the word counts of documents over one vocabulary."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer import reading
from moverank.indexer.errors import UsageError
from moverank.indexer.search.counted_query import RankedCounts, part_counts
from moverank.indexer.snapshot.content_sample import ContentSample
from moverank.indexer.values.arguments import shown
from moverank.indexer.values.documents import Document, Part
from moverank.indexer.values.queries import check_ranks
from moverank.indexer.values.ranking_spec import Weights
from moverank.indexer.values.word_factors import CorpusVocabulary, WordFactors
from moverank.rerank.bags.bag import TITLE, Bags
from moverank.rerank.bags.weights import PartCounts, document_frequencies, inverse_document_frequency, weigh

Text = str | Mapping[str, Any] | Document
"""A text; a record, `{"title": ..., "text": ...}` or a thread's, of the fields that `index` and `threads` read; or a
document."""

THE_QUERY = "the query"
"""The name of a query in messages; any other name is a candidate's."""

Candidates = Sequence[Text | float | None] | Mapping[str, Text | float | None]
"""Candidates in the order of the engine, or by key; None or NaN, as in a table, is a text without words."""


def candidate_documents(candidates: Candidates) -> list[Document]:
    """Return the candidates as documents; one without a key of its own has its index as the key.

    Raises UsageError for a candidate of another type or with invalid fields.
    """
    if isinstance(candidates, Mapping):
        return [replace(document_of_text(one, f"text {key}", key), key=key) for key, one in candidates.items()]
    return [document_of_text(one, f"text {i}", str(i)) for i, one in enumerate(candidates)]


def document_of_text(text: Text | float | None, name: str, key: str = "") -> Document:
    """Return a text or record as a document, whose key is `key` unless it has one; `name` is for messages.

    A candidate may be missing, None or NaN as in a table: it has no words.
    """
    if isinstance(text, str):
        return Document(key, parts=(Part(text),))
    if isinstance(text, Mapping):
        return _from_record(text, name, key)
    if name != THE_QUERY and (text is None or (isinstance(text, float) and isnan(text))):
        return Document(key)
    if not isinstance(text, Document):
        raise UsageError(f"{name} must be a string, a record or a Document, not {shown(text)}")
    check_ranks(text)
    return text if text.key else replace(text, key=key)


def _from_record(record: Mapping[str, Any], name: str, key: str) -> Document:
    try:
        document = reading.query_of(dict(record), key, "a query" if name == THE_QUERY else "a candidate")
        label = reading.choose_field(record, None, reading.LABEL_FIELDS)
        others = {field: value for field, value in record.items() if field not in {*reading.QUERY_FIELDS, label}}
        return replace(document, label=reading.label_of(record, label), metadata=others)
    except reading.BadRecord as bad:
        raise UsageError(f"{name}: {bad.reason}") from bad


@dataclass(frozen=True, eq=False)
class Texts:
    """Counted texts, over one vocabulary."""

    keys: tuple[str, ...]  # (n,)
    counts: PartCounts  # n rows, which may be empty, of indices of `vocabulary`
    vocabulary: CorpusVocabulary
    labels: tuple[str | None, ...] = ()  # (n,); empty if the texts are not documents
    title_weight: float = 1.0  # how many times the words of a title count
    ids: tuple[int, ...] = ()  # (n,), increasing, of documents in the store
    total: int | None = None  # the number of documents for idf, including documents without words; None: n
    sample: ContentSample | None = None  # the collection's, by which its searches estimate typical distances

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "Texts":
        """Return the texts at `rows` (m,), in that order."""
        chosen = np.asarray(rows, np.int64)
        keys = tuple(self.keys[row] for row in chosen.tolist())
        labels = tuple(self.labels[row] for row in chosen.tolist()) if self.labels else ()
        ids = tuple(self.ids[row] for row in chosen.tolist()) if self.ids else ()
        total, sample = (self.total, self.sample) if len(chosen) == len(self) else (None, None)
        return Texts(keys, self.counts.take(chosen), self.vocabulary, labels, self.title_weight, ids, total, sample)

    @property
    def documents(self) -> int:
        """Return the number of documents that idf counts."""
        return len(self) if self.total is None else self.total

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Return the row of each key."""
        return {key: row for row, key in enumerate(self.keys)}

    def factors(self, weights: Weights) -> NDArray[np.float64] | None:
        """Return the factors (t,) of every word by `weights`, idf among these texts; None: all are 1."""
        factors = WordFactors(lambda *_: self.idf, lambda own, *_: self.vocabulary.factors_of(own))
        return factors.of(weights, np.arange(len(self.vocabulary.known)))

    @cached_property
    def idf(self) -> NDArray[np.float64]:
        """Return the idf (t,) of every word among these texts."""
        return inverse_document_frequency(document_frequencies(self.counts, len(self.vocabulary.known)), self.documents)

    def bags(self, gamma: float, factors: NDArray[np.float64] | None) -> tuple[NDArray[np.int64], Bags]:
        """Return the rows (m,) of the texts that have a known word, and their bags; see `weigh`."""
        known = self.counts.only(self.vocabulary.known)
        rows = np.flatnonzero(np.diff(known.starts))
        return rows, weigh(known.take(rows), gamma, factors, self.title_weight)

    def unknown_words(self, row: int) -> list[str]:
        """Return the words of a text that have no vector."""
        words = np.unique(self.counts.words[self.counts.starts[row] : self.counts.starts[row + 1]])
        return [self.vocabulary.words[word] for word in words[~self.vocabulary.known[words]].tolist()]

    @cached_property
    def digest(self) -> bytes:
        """Return a digest of everything that determines distances."""
        total = hashlib.sha256(self.vocabulary.fingerprint.encode())
        for array in (self.counts.starts, self.counts.words, self.counts.ranks, self.counts.counts):
            total.update(np.ascontiguousarray(array, "<i8").tobytes())
        if np.any(self.counts.ranks == TITLE):
            total.update(np.float64(self.title_weight).tobytes())
        return total.digest()


def query_and_candidates(
    vocabulary: CorpusVocabulary, query: RankedCounts, candidates: Sequence[RankedCounts], title_weight: float
) -> tuple[Texts, Texts]:
    """Return a query, as the only row, and its candidates, over the words of `vocabulary` that they have.

    Words are in the order of their first occurrence: other texts do not change the result.
    """
    texts = [query, *candidates]
    numbers = np.concatenate([np.empty(0, np.int32), *(numbers for text in texts for _, (numbers, _) in text)])
    chosen, places = _in_order_of_occurrence(numbers, len(vocabulary.words))
    counts = part_counts(texts, places)
    if not np.array_equal(chosen, np.arange(len(places))):  # other queries have more words
        vocabulary = vocabulary.take(chosen)
    keys = tuple(map(str, range(len(candidates))))
    own = Texts(("",), counts.take(np.array([0])), vocabulary, title_weight=title_weight)
    return own, Texts(keys, counts.take(np.arange(1, len(texts))), vocabulary, title_weight=title_weight)


def _in_order_of_occurrence(numbers: NDArray[np.int32], v: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct `numbers` (n,) in the order of their first occurrence, and the place (v,) of each number.

    All are below `v`; numbers that do not occur have the place -1.
    """
    first = np.full(v, -1)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    found = np.flatnonzero(first >= 0)
    chosen = found[np.argsort(first[found])]
    places = np.full(v, -1)
    places[chosen] = np.arange(len(chosen))
    return chosen, places
