"""Document frequencies of a collection, which weight its candidates elsewhere."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.values.arguments import finite_number, items, shown, text, whole_number
from moverank.rerank.bags.weights import inverse_document_frequency
from moverank.rerank.scorers import Statistics
from moverank.rerank.words.languages import DEFAULT
from moverank.rerank.words.segmentation import AUTO
from moverank.rerank.words.term_rules import is_ngrams, terms_of
from moverank.rerank.words.tokenizer import AUTO_WORDS, StopWords, tokenizer_of

_RULES = 4  # with cached frequencies of terms

_Sums = tuple[Mapping[str, int], float]
"""The numbers of documents by term, summed over words, and the mean number of terms of a word."""


@dataclass(frozen=True, slots=True)
class DocumentFrequencies:
    """The number of `documents`, and how many of them contain each of the `words`, which are in lower case.

    `mean_length` is the mean number of tokens of a document, for BM25; None: the candidates' mean. `stems` counts
    documents by stem for each language, by sequence of letters for a name such as "ngrams=4", or by word of a phrase
    for "parts", and `mean_lengths` has the mean number of these of a document, where it is not that of words; without
    them, the frequency of a term is the sum over its words, at most `documents`, and the mean length follows from the
    words. Raises UsageError for a number out of its range.
    """

    documents: int
    words: Mapping[str, int]
    mean_length: float | None = None
    stems: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    mean_lengths: Mapping[str, float] = field(default_factory=dict)
    _summed: dict[str, "_Sums"] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        whole_number("the number of documents", self.documents, least=0)
        if not isinstance(self.stems, Mapping):
            raise UsageError(f"stems must be a mapping of languages to document frequencies, not {shown(self.stems)}")
        for words in (self.words, *self.stems.values()):
            self._check(words)
        if not isinstance(self.mean_lengths, Mapping):
            raise UsageError(f"mean_lengths must be a mapping of names to numbers, not {shown(self.mean_lengths)}")
        for length in (self.mean_length, *self.mean_lengths.values()):
            if length is not None:
                finite_number("the mean length of a document", length, above=True)

    def _check(self, words: object) -> None:
        """Raise UsageError unless all words have a number of documents."""
        if not isinstance(words, Mapping):
            raise UsageError(f"document frequencies must be a mapping of words to numbers, not {shown(words)}")
        try:
            fits = self.documents >= max(words.values(), default=0) and min(words.values(), default=0) >= 0
        except TypeError as error:
            raise UsageError(f"document frequencies must be numbers: {error}") from error
        if not fits:
            raise UsageError(f"document frequencies must be from 0 to the number of documents, {shown(self.documents)}")

    @classmethod
    def of(
        cls,
        texts: Iterable[str],
        stop_words: StopWords = AUTO_WORDS,
        *,
        language: str = DEFAULT,
        segmentation: str = AUTO,
        vocabulary: Collection[str] | None = None,
        phrases: Collection[str] | None = None,
    ) -> "DocumentFrequencies":
        """Count the words of `texts`, which are split as by a `Reranker` with the same options."""
        tokenizer = tokenizer_of(stop_words, language, segmentation, vocabulary, phrases)
        documents, tokens, words = 0, 0, Counter[str]()
        for one in items("texts", texts):
            counts = tokenizer.count(text("a text", one))
            words.update(counts.keys())
            documents, tokens = documents + 1, tokens + counts.total()
        return cls(documents, words, tokens / documents if tokens else None)

    def idf(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return the idf (n,) of words; see `inverse_document_frequency`."""
        return inverse_document_frequency(self._found(words, self.words), self.documents)

    def of_query(self, _terms: Sequence[str], _rule: str | None, _gamma: float) -> None:
        """Return None: the words of a query that no candidate has cannot matter."""
        return

    @property
    def all_words(self) -> None:
        """Return None: the words of a query that no candidate has stay as they are."""
        return

    def widened(self, own: Statistics, terms: Sequence[str], rule: str | None, _gamma: float) -> Statistics:
        """Return the statistics of `terms` (t,), words or terms of a rule, in the collection.

        `own` are the candidates' statistics; the larger of both frequencies counts.
        """
        numbers, mean = self._by_rule(rule) if rule else (self.words, self.mean_length)
        frequencies = np.maximum(self._found(terms, numbers), own.document_frequencies)
        documents = max(self.documents, own.documents)
        tokens = own.average_length if mean is None else mean
        amounts = np.maximum(own.collection_frequencies, frequencies)
        return Statistics(documents, tokens * documents, frequencies, amounts)

    def _found(self, terms: Sequence[str], numbers: Mapping[str, int]) -> NDArray[np.int64]:
        return np.fromiter(map(numbers.get, terms, repeat(0)), np.int64, len(terms))

    def _by_rule(self, rule: str) -> tuple[Mapping[str, int], float | None]:
        """Return the numbers of documents by the terms of a rule, and the mean number of terms of a document."""
        if rule in self.stems and (rule in self.mean_lengths or not is_ngrams(rule)):
            return self.stems[rule], self.mean_lengths.get(rule, self.mean_length)
        if rule not in self._summed:
            if len(self._summed) >= _RULES:
                self._summed.clear()
            self._summed[rule] = self._sums(rule)
        summed, of_word = self._summed[rule]
        mean = None if self.mean_length is None else self.mean_length * of_word
        return self.stems.get(rule, summed), self.mean_lengths.get(rule, mean)

    def _sums(self, rule: str) -> "_Sums":
        """Return the sums for a rule."""
        words, summed = list(self.words), Counter[str]()
        terms, numbers = terms_of(words, rule), np.fromiter(self.words.values(), np.int64, len(words))
        pairs = zip(terms.words.tolist(), terms.texts, strict=True)
        for word, term in dict.fromkeys(pairs):
            summed[term] = min(summed[term] + int(numbers[word]), self.documents)
        total = numbers.sum()
        return summed, float(numbers[terms.words].sum() / total) if total else 1.0
