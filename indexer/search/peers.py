"""What a search exchanges with others that search the same query in other collections, the shards of one."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]


class Peers(Protocol):
    """The searches of all shards; each of them makes the same calls of `gathered`, in the same order."""

    def gathered(self, own: _Floats) -> _Floats:
        """Return the values (n,) of all shards, in the order of shards; `own` (m,) are those of this one."""
        ...

    def limits(self, upper: _Floats, lower: _Floats, /) -> tuple[float, float]:
        """Return the k-th smallest upper and lower bound of all shards; see `Share`."""
        ...


class Alone:
    """The search of a collection without shards: there are no others."""

    def gathered(self, own: _Floats) -> _Floats:
        """See `Peers.gathered`."""
        return own

    def limits(self, _upper: _Floats, _lower: _Floats) -> tuple[float, float]:
        """See `Peers.limits`; nothing is known but what this search knows itself."""
        return np.inf, np.inf


ALONE = Alone()


def span(peers: Peers, low: float, high: float) -> tuple[float, float]:
    """Return the lowest and the highest value of all shards."""
    both = peers.gathered(np.array([low, high])).reshape(-1, 2)
    return float(both[:, 0].min()), float(both[:, 1].max())
