"""Caches of arrays that are computed from a snapshot: computing an array takes most of the time of a search.

The arrays are the inverted file, of which a search by BM25 needs few postings; the stems or n-grams of words; sums over
documents, such as word frequencies and centroid lengths; and a scorer's sums over all pairs of words.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.files.arrays import Arrays, Kinds, are_starts, is_within, kept, read_arrays, write_arrays
from moverank.indexer.files.checksums import checksum
from moverank.indexer.files.directory import CACHED
from moverank.rerank.scorers import Postings, SummingScorer, WordVectors
from moverank.rerank.words.term_rules import TermTexts, WordTerms, terms_of
from moverank.rerank.words.vocabulary import Vocabulary

_KINDS: Kinds = {
    "starts": ("<i8", 1),
    "documents": ("<i4", 1),
    "values": ("<f8", 1),
    "amounts": ("<f8", 1),
    "lengths": ("<f8", 1),
    "sizes": ("<i4", 1),
}


@dataclass(frozen=True, slots=True)
class PostingsCache:
    """The file `path` of postings and their sums, valid for `key`: it identifies the counts and their weights."""

    path: Path
    key: str

    @classmethod
    def of(cls, directory: Path, name: str, key: str) -> "PostingsCache":
        """Return the cache in a collection's `directory` for terms of a `name`."""
        return cls(directory / f"{CACHED}postings-{name}", key)

    def read(self, terms: int, documents: int) -> Postings | None:
        """Map the postings of `terms` terms and `documents` documents; None if they are missing or invalid."""
        stored = read_arrays(self.path, self.key, _KINDS)
        if stored is None:
            return None
        starts, rows, values = stored["starts"], stored["documents"], stored["values"]
        valid = are_starts(starts, terms, len(rows)) and is_within(rows, 0, documents) and len(values) == len(rows)
        sums = {name: stored[name] for name in ("amounts", "lengths", "sizes")}
        if not valid or list(map(len, sums.values())) != [terms, documents, documents]:
            return None
        postings = Postings(starts, rows, values, documents)
        vars(postings).update(sums)  # not to be computed again
        return postings

    def write(self, postings: Postings) -> None:
        """Write postings, unless the file cannot be written."""
        write_arrays(self.path, {name: getattr(postings, name) for name in _KINDS}, self.key)


_TABLE_KINDS: Kinds = {"text": ("|u1", 1), "ends": ("<i8", 1), "of_words": ("<i4", 1), "starts": ("<i8", 1)}


@dataclass(frozen=True, slots=True, eq=False)
class DerivedTable:
    """Different `terms`, sorted by UTF-8 bytes, and `of_words`, the numbers of the terms of a vocabulary's words."""

    terms: Vocabulary
    of_words: WordTerms

    @classmethod
    def of(cls, terms: TermTexts) -> Self:
        """Return the table of the `terms` of each word."""
        encoded = [term.encode() for term in terms.texts]
        different = sorted(set(encoded))
        number = dict(zip(different, range(len(different)), strict=True))
        of_words = WordTerms(np.array([number[term] for term in encoded], np.int32), terms.starts)
        return cls(Vocabulary.pack(different), of_words)

    @classmethod
    def stored(cls, path: Path, key: str) -> Self | None:
        """Return the table in a file; None if it is missing or damaged, or has another key or other arrays."""
        arrays = read_arrays(path, key, _TABLE_KINDS)
        if arrays is None:
            return None
        terms = Vocabulary(arrays["text"], arrays["ends"], np.arange(len(arrays["ends"]), dtype=np.int32))
        return cls(terms, WordTerms(arrays["of_words"], arrays["starts"]))

    def arrays(self) -> Arrays:
        """Return the arrays of the file."""
        own, of_words = self.terms, self.of_words
        return {"text": own.blob, "ends": own.ends, "of_words": of_words.terms, "starts": of_words.starts}

    def is_valid(self, words: int) -> bool:
        """Return whether each of so many `words` has terms, and each term a text."""
        own, text, size = self.of_words, self.terms.blob, len(self.terms)
        known = is_within(own.terms, 0, size) and are_starts(own.starts, words, len(own.terms))
        return known and are_starts(np.append(0, self.terms.ends), size, len(text)) and _is_utf8(text)


def _is_utf8(text: NDArray[np.uint8]) -> bool:
    try:
        str(text.data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def cached_table(
    directory: Path | None,
    rule: str,
    word_ids: NDArray[np.int64],
    texts: Callable[[NDArray[np.int64]], Sequence[str]],
) -> DerivedTable:
    """Return the terms, by a rule, of the words `word_ids` (t,), cached in a collection's `directory`.

    `texts` returns the words of ids. The file stores checksums of the ids and of its content: it is computed again if
    it is damaged or if the vocabulary has changed. Without a `directory`, or if it is not writable, nothing is cached.
    """
    if directory is None:
        return DerivedTable.of(terms_of(texts(word_ids), rule))
    path, key = directory / f"{CACHED}stems-{rule}", f"{rule} {checksum(word_ids)}"
    stored = DerivedTable.stored(path, key)
    if stored is not None and stored.is_valid(len(word_ids)):
        return stored
    table = DerivedTable.of(terms_of(texts(word_ids), rule))
    write_arrays(path, table.arrays(), key)
    return table


def cached_sums(directory: Path | None, scorer: type[SummingScorer], words: WordVectors) -> NDArray[np.float64]:
    """Return a scorer's sums (t,) of words over themselves, cached in a collection's `directory`.

    The file stores the scorer's name, and checksums of the word vectors and of its content: it is computed again if it
    is damaged or if the vocabulary has changed. Without a `directory`, or if it is not writable, nothing is cached.
    """

    def compute() -> NDArray[np.float64]:
        return scorer.collection_sums(words)

    if directory is None:
        return compute()
    key = f"{scorer.name} {checksum(words.vectors)}{checksum(words.known)}"
    return kept(directory / "normalisers", key, compute, len(words), np.float64)
