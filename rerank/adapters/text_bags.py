"""Bags of tokenized documents over a vocabulary of their own known words."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.adapters.document_bags import DocumentBags
from moverank.rerank.bags.bag import Bag
from moverank.rerank.distance.query_bag import QueryBag

Counts = Mapping[str, int]
Known = Callable[[Sequence[str]], tuple[list[str], NDArray[np.float32]]]
"""Returns those of some words that have a vector, in their order, and their vectors (n, d)."""


class TextBags:
    """Documents as counted words, those that `known` has a vector for."""

    def __init__(self, counted: Sequence[Counts], known: Known) -> None:
        names, vectors = known(list(dict.fromkeys(word for counts in counted for word in counts)))
        self._ids = {name: i for i, name in enumerate(names)}
        self.documents = DocumentBags.of([_bag(counts, self._ids) for counts in counted], vectors)

    def query(self, counts: Counts, known: Known) -> QueryBag | None:
        """Return the bag of a counted text, which may have words that no document has; None without a known word."""
        names, vectors = known([word for word in counts if word not in self._ids])
        v = len(self._ids)
        ids = {word: self._ids[word] for word in counts if word in self._ids}
        bag = _bag(counts, ids | {name: v + i for i, name in enumerate(names)})
        if bag is None:
            return None
        shared = bag.words < v
        own = np.empty((len(bag), self.documents.vectors.shape[1]), np.float32)
        own[shared] = self.documents.vectors[bag.words[shared]]
        own[~shared] = vectors[bag.words[~shared] - v]
        return QueryBag(bag, own)


def _bag(counts: Counts, ids: Mapping[str, int]) -> Bag | None:
    """Return the bag of the words that have an id; None if there is none."""
    known = [(ids[word], count) for word, count in counts.items() if word in ids]
    return Bag.of(*zip(*known, strict=True)) if known else None
