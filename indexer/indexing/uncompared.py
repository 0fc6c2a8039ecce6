"""The documents that runs with `dedupe` have stored, but not compared yet.

Their ids are stored with them, so that the next such run compares the documents that an interrupted one left. Documents
that a run without `dedupe` has changed since are not compared.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.store import Store, Writer
from moverank.indexer.values.arguments import finite_number
from moverank.indexer.values.documents import Changes

UNCOMPARED = "uncompared"
"""Name of the setting that stores the ids of these documents as intervals [first, last]."""


def check_dedupe(within: object, *, dry_run: bool) -> float:
    """Return the largest distance of a document that is left out; UsageError for no number of 0 or more, and dry runs.

    A dry run stores nothing that could be compared.
    """
    if dry_run:
        raise UsageError("a dry run stores no documents to compare, so it cannot go with dedupe: leave one of both out")
    return finite_number("the largest distance of near duplicates", within)


class Uncompared:
    """The documents of `store` to compare, with the change by which this run stored each; removed ones are left out.

    `within`: the largest distance of near duplicates. None: the run compares none, and the documents that it
    changes need no comparison any more.
    """

    def __init__(self, store: Store, within: float | None) -> None:
        self.within = within
        with store.reading() as reader:
            self._stored = reader.settings().get(UNCOMPARED, [])
            earlier = chain.from_iterable(range(first, last + 1) for first, last in self._stored)
            self._changes: dict[int, list[str]] = {id_: [] for id_ in reader.keys([*earlier])}  # by this run

    @property
    def ids(self) -> NDArray[np.int64]:
        """Return the ids (m,), increasing."""
        return np.sort(np.array([*self._changes], np.int64))

    def add(self, id_: int, change: str) -> None:
        """Add a document that this run has "added" or "updated"; an "unchanged" one only if it was not compared yet."""
        if change != "unchanged" and self.within is None:
            self._changes.pop(id_, None)
        elif change != "unchanged" or id_ in self._changes:
            self._changes.setdefault(id_, []).append(change)

    def follow(self, writer: Writer) -> None:
        """Write the ids in the transaction that stores the documents, unless they are stored already."""
        ids = self.ids
        breaks = [0, *(1 + np.flatnonzero(np.diff(ids) > 1)).tolist(), len(ids)] if len(ids) else []
        intervals = [[int(ids[first]), int(ids[end - 1])] for first, end in pairwise(breaks)]
        if intervals != self._stored:
            writer.set_settings({UNCOMPARED: intervals})
            self._stored = intervals

    def clear(self, writer: Writer) -> None:
        """Forget all documents: they are compared."""
        writer.set_settings({UNCOMPARED: []})

    def without(self, duplicates: Collection[int], changes: Changes) -> Changes:
        """Return the `changes` of the run once it has removed `duplicates`, which count in no other number."""
        counts = Counter(chain.from_iterable(self._changes[id_] for id_ in duplicates))
        rest = {name: getattr(changes, name) - counts[name] for name in ("added", "updated", "unchanged")}
        return replace(changes, **rest, duplicates=len(duplicates))
