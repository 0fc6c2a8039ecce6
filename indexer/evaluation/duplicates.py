"""Exact and near duplicates among the documents of a collection."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.reranking.texts import Texts
from moverank.rerank.bags.weights import weigh
from moverank.rerank.evaluation.duplicate_groups import NEAR, duplicate_groups


@dataclass(frozen=True, slots=True, eq=False)
class Duplicates:
    """The rows (n,) of the first document `equal` and of the first `near` to each document, perhaps itself.

    `example` are the keys of a document and a near duplicate of it; None without near duplicates.
    """

    equal: NDArray[np.int64]
    near: NDArray[np.int64]
    example: tuple[str, str] | None

    @property
    def unique_rows(self) -> NDArray[np.int64]:
        """Return the rows (m,) of the documents that duplicate no earlier one."""
        return np.flatnonzero(self.near == np.arange(len(self.near)))

    def facts(self) -> dict[str, Any]:
        """Return how many documents duplicate an earlier one, exactly or nearly."""
        rows = np.arange(len(self.near))
        return {
            "duplicates": int(np.count_nonzero(self.equal != rows)),
            "near_duplicates": int(np.count_nonzero(self.near != rows)),
        }

    def notes(self, *, clean: bool) -> list[str]:
        """Return a note on the number of duplicates, if there are any; `clean`: they were left out."""
        if self.example is None:
            return []
        facts = self.facts()
        treatment = "they were left out" if clean else "--clean leaves them out"
        return [
            f"{facts['near_duplicates']} documents are near duplicates of an earlier one (cosine of counts {NEAR} or "
            f"more), {facts['duplicates']} of them equal, such as {self.example[1]!r} and {self.example[0]!r}: "
            f"{treatment}"
        ]


def find_duplicates(texts: Texts) -> Duplicates:
    """Compare all documents by their word counts."""
    bags = weigh(texts.counts, title_weight=texts.title_weight)
    equal, near = duplicate_groups(bags, 1.0), duplicate_groups(bags)
    repeated = np.flatnonzero(near != np.arange(len(near)))
    example = (texts.keys[near[repeated[0]]], texts.keys[repeated[0]]) if len(repeated) else None
    return Duplicates(equal, near, example)
