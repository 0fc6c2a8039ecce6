"""Duplicates among documents, which raise the figures of every method (Sato et al. 2022, section 4)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.reranking.texts import Texts
from moverank.rerank.bags.weights import weigh


@dataclass(frozen=True, slots=True, eq=False)
class Duplicates:
    """The rows (n,) of the `first` document with the bag of each document, perhaps itself.

    `example` are the keys of a document and of one that repeats it; None without duplicates.
    """

    first: NDArray[np.int64]
    example: tuple[str, str] | None

    @property
    def unique_rows(self) -> NDArray[np.int64]:
        """Return the rows (m,) of the documents that repeat no earlier one."""
        return np.flatnonzero(self.first == np.arange(len(self.first)))

    def facts(self) -> dict[str, Any]:
        """Return how many documents repeat an earlier one."""
        return {"duplicates": len(self.first) - len(self.unique_rows)}

    def notes(self, *, clean: bool) -> list[str]:
        """Return a note on the number of duplicates, if there are any; `clean`: they were left out."""
        if self.example is None:
            return []
        treatment = "they were left out" if clean else "--clean leaves them out"
        return [
            f"{self.facts()['duplicates']} documents have the words of an earlier one, such as {self.example[1]!r} and "
            f"{self.example[0]!r}: {treatment}; `moverank dedupe` finds near ones, too"
        ]


def find_duplicates(texts: Texts) -> Duplicates:
    """Find the documents that have equal bags by their word counts."""
    rows, first = dict[tuple[bytes, bytes], int](), []
    for row, bag in enumerate(weigh(texts.counts, title_weight=texts.title_weight)):
        first.append(rows.setdefault((bag.words.tobytes(), bag.weights.tobytes()), row))
    firsts = np.array(first, np.int64)
    repeated = np.flatnonzero(firsts != np.arange(len(firsts)))
    example = (texts.keys[firsts[repeated[0]]], texts.keys[repeated[0]]) if len(repeated) else None
    return Duplicates(firsts, example)
