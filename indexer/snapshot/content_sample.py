"""A sample of the documents with a bag: those with the smallest digests of their content.

It does not depend on ids, keys, or the order in which documents were added, and a sample of several collections
together is found from the samples of each.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # it would load SQLAlchemy
    from moverank.indexer.store import Reader

SAMPLE = 256
"""Number of documents in a sample: the typical distance of a query and mutual proximity are estimated from it."""

_SPARE = 4  # times as many are kept in a snapshot, of which some may be removed later
_BYTES = 6  # of a digest, as a number that is exact in float64


class ContentSample(NamedTuple):
    """Ids (s,) int64 of documents, and numbers from their digests (s,) float64, increasing."""

    ids: NDArray[np.int64]
    digests: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, bytes]]) -> "ContentSample":
        """Return the sample of `rows`: ids and digests, in the order of the latter."""
        numbers = [float(int.from_bytes(digest[:_BYTES], "big")) for _, digest in rows]
        return cls(np.array([id_ for id_, _ in rows], np.int64), np.array(numbers, np.float64))

    @classmethod
    def stored(cls, reader: "Reader") -> "ContentSample":
        """Return what a snapshot of the state of `reader` keeps."""
        return cls.of(reader.least_digests(_SPARE * SAMPLE))

    @classmethod
    def current(
        cls, reader: "Reader", since: int, before: "ContentSample | None", gone: NDArray[np.int64]
    ) -> "ContentSample":
        """Return the sample of the state of `reader`; `before` is that of the revision `since`, None if unknown.

        `gone` (m,) are the ids of documents changed or removed since then. With too many of them in `before`, all
        documents are compared.
        """
        if before is not None:
            live = ~np.isin(before.ids, gone)
            if live.sum() >= SAMPLE or len(before.ids) < _SPARE * SAMPLE:
                new = cls.of(reader.least_digests(SAMPLE, since))
                ids, digests = np.append(before.ids[live], new.ids), np.append(before.digests[live], new.digests)
                return cls(ids, digests).least()
        return cls.of(reader.least_digests(SAMPLE))

    @classmethod
    def read(cls, array: NDArray[np.float64]) -> "ContentSample":
        """Return the sample in an array from `array`."""
        ids, digests = array.reshape(2, -1)
        return cls(ids.astype(np.int64), digests)

    def least(self) -> "ContentSample":
        """Return those with the smallest digests, in order: the sample of several together."""
        order = np.lexsort((self.ids, self.digests))[:SAMPLE]
        return ContentSample(self.ids[order], self.digests[order])

    def array(self) -> NDArray[np.float64]:
        """Return ids and digests in one array (2 * s,)."""
        return np.append(self.ids.astype(np.float64), self.digests)
