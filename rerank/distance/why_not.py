"""Why a document is not among the nearest: what each bound says of it, and what it had to beat."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance import bounds
from moverank.rerank.distance.bounds import Problem
from moverank.rerank.distance.query_bag import QueryBag, restricted
from moverank.rerank.encoders.centroid import centroids

Stage = Literal["first stage", "rwmd", "dual", "sinkhorn", "solved", "hit"]


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The exact `distance` of a document, its lower bounds by name, and `kth`, the distance of the last of k hits.

    `stage` is where it fell out: not among the candidates of the "first stage"; by the first bound that is above `kth`;
    "solved", where only the distance itself is; or nowhere, as a "hit". `kth` is infinite where there are fewer than k.
    """

    k: int
    kth: float
    distance: float
    bounds: dict[str, float]
    stage: Stage

    @classmethod
    def of(
        cls, k: int, kth: float, distance: float, known: dict[str, float], *, candidate: bool, hit: bool
    ) -> "WhyNot":
        """Find the stage."""
        stages: tuple[Stage, ...] = ("rwmd", "dual", "sinkhorn")
        if hit:
            return cls(k, kth, distance, known, "hit")
        if not candidate:
            return cls(k, kth, distance, known, "first stage")
        above: list[Stage] = [stage for stage in stages if known[stage] > kth]
        return cls(k, kth, distance, known, above[0] if above else "solved")


def bounds_of(query: QueryBag, bag: Bag, vectors: NDArray[np.float32]) -> dict[str, float]:
    """Return every lower bound of the distance of a query and a bag over word vectors (v, d), the loosest first."""
    own, bags, words, norms = restricted(query, Bags.of([bag]), vectors)
    problem, row = Problem.of(own, bags, words, norms), np.zeros(1, np.int64)
    itself = Bags.of([Bag(np.arange(len(query.bag), dtype=np.int32), query.bag.weights)])
    centroid = centroids(itself, query.vectors)[0]
    document = bounds.document_side(bags, bounds.nearest_costs(problem.cost))
    asked = bounds.query_side(bags, problem.cost, problem.query, row)
    dual = bounds.one_pass_dual(problem, row)
    known = {
        "wcd": bounds.wcd(centroids(Bags.of([bag]), vectors), centroid),
        "rwmd_document": document,
        "rwmd_query": asked,
        "rwmd": np.maximum(document, asked),
        "dual": dual,
        "sinkhorn": np.maximum(bounds.sinkhorn(problem, row)[0], dual),
    }
    return {name: float(bound[0]) for name, bound in known.items()}
