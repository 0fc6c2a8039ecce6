"""Why a document is not among the k nearest: its bounds and its distance, compared with those of the last hit."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.every_bound import every_bound
from moverank.rerank.distance.query_bag import QueryBag

Stage = Literal["first stage", "rwmd", "dual", "sinkhorn", "solved", "hit"]


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The exact `distance` of a document, its lower bounds by name, and `kth`, the distance of the last of k hits.

    `stage` is where the document was excluded: "first stage" if it was not a candidate; else the first bound above
    `kth`; "solved" if only the distance itself is above; or "hit" if it was not excluded. `kth` is infinite if there
    are fewer than k hits.
    """

    k: int
    kth: float
    distance: float
    bounds: dict[str, float]
    stage: Stage

    @classmethod
    def of(
        cls, k: int, kth: float, distance: float, bounds: dict[str, float], *, candidate: bool, hit: bool
    ) -> "WhyNot":
        """Determine the stage from the other fields, `k`, `kth`, `distance` and `bounds`, and two facts.

        `candidate`: the first stage returned the document. `hit`: it is among the k nearest.
        """
        stages: tuple[Stage, ...] = ("rwmd", "dual", "sinkhorn")
        if hit:
            return cls(k, kth, distance, bounds, "hit")
        if not candidate:
            return cls(k, kth, distance, bounds, "first stage")
        above: list[Stage] = [stage for stage in stages if bounds[stage] > kth]
        return cls(k, kth, distance, bounds, above[0] if above else "solved")


def bounds_of(query: QueryBag, bag: Bag, vectors: NDArray[np.float32]) -> dict[str, float]:
    """Return every lower bound of the distance of `query` and `bag` over word `vectors` (v, d), by name."""
    every = every_bound(query, Bags.of([bag]), vectors)
    return {name: float(bound[0]) for name, bound in every.items() if name != "upper"}
