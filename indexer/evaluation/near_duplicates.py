"""Documents of a collection that are there twice, or nearly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.evaluation.counted_texts import Texts
from moverank.rerank.bags.weights import weigh
from moverank.rerank.evaluation.duplicates import NEAR, duplicate_groups


@dataclass(frozen=True, slots=True, eq=False)
class Duplicates:
    """For each document (n,) the first one that it equals, and the first that it nearly equals; itself where none."""

    equal: NDArray[np.int64]
    near: NDArray[np.int64]
    example: tuple[str, str] | None

    @property
    def kept(self) -> NDArray[np.int64]:
        """Return the rows of documents that nothing before them is like."""
        return np.flatnonzero(self.near == np.arange(len(self.near)))

    def facts(self) -> dict[str, Any]:
        """Return how many documents have one like them before them."""
        rows = np.arange(len(self.near))
        return {
            "duplicates": int(np.count_nonzero(self.equal != rows)),
            "near_duplicates": int(np.count_nonzero(self.near != rows)),
        }

    def notes(self, *, clean: bool) -> list[str]:
        """Say how many there are, and what was done about it."""
        if self.example is None:
            return []
        told = self.facts()
        done = "they were left out" if clean else "--clean leaves them out"
        return [
            f"{told['near_duplicates']} documents are alike one before them (cosine of counts {NEAR} or more), "
            f"{told['duplicates']} of these equal, such as {self.example[1]!r} and {self.example[0]!r}: {done}"
        ]


def find_duplicates(texts: Texts) -> Duplicates:
    """Compare all documents by their word counts."""
    bags = weigh(texts.counts)
    equal, near = duplicate_groups(bags, 1.0), duplicate_groups(bags)
    later = np.flatnonzero(near != np.arange(len(near)))
    example = (texts.keys[near[later[0]]], texts.keys[later[0]]) if len(later) else None
    return Duplicates(equal, near, example)
