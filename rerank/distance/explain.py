"""Explains a distance by its flows, and why a document is not among the k nearest by its bounds.

A flow is the mass that moves between two words, and its cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from moverank.rerank import kernels
from moverank.rerank.answer import OPTIONAL, Answer, Key, Number, Numbers
from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.distance.bounds import every_bound
from moverank.rerank.distance.cell_limit import check_cells
from moverank.rerank.distance.query_bag import QueryBag
from moverank.rerank.distance.transport import solve_bags
from moverank.rerank.ranking import Flow, Highlight, TermScale

_IN_SUMS = Key(optional=True, unless="total")


@dataclass(frozen=True, slots=True)
class Explanation(Answer):
    """An exact distance with its flows."""

    KEYS: ClassVar = (
        *("query_key", "distance", "total", "parts", "costs", "terms", "flows", "highlights"),
        *("unknown_words", "ignored_words", "respelled_words"),
    )

    distance: float
    """The distance: the sum of mass times cost over the flows."""
    flows: tuple[Flow, ...]
    """Which words moved where, the costliest first."""
    total: Annotated[float | None, OPTIONAL] = None
    """The value of the sum, if one ranks."""
    parts: Annotated[Numbers, _IN_SUMS] = ()
    """The value of each term of a sum; nan: the document has none."""
    unknown_words: tuple[str, ...] = ()
    """Words of the query without a vector."""
    ignored_words: tuple[str, ...] = ()
    """Words of the query without effect."""
    respelled_words: Annotated[Mapping[str, tuple[str, ...]], OPTIONAL] = field(default_factory=dict)
    """Misspelt words of the query, which no document has, and the stored words in the place of each."""
    costs: Annotated[tuple[tuple[str, float], ...], _IN_SUMS] = ()
    """The share of each term in `total`: they add up to it."""
    terms: Annotated[tuple[TermScale, ...], _IN_SUMS] = ()
    """How each term of the sum counts for this query."""
    highlights: tuple[Highlight, ...] = ()
    """Where words of the query stand in the document, and words near to one; the last are left out beyond the size."""
    query_key: Annotated[str | None, OPTIONAL] = None
    """The key of the stored document that was compared."""


def explain_distance(
    source: Bag,
    target: Bag,
    vectors: tuple[NDArray[np.float32], NDArray[np.float32]],
    words: tuple[Sequence[str], Sequence[str]],
) -> Explanation:
    """Explain the exact distance of two bags by its flows, largest share first, words that do not move last.

    `source` (n,) and `target` (m,) must use the same word ids: mass on a shared word does not move. `vectors` (n, d)
    and (m, d) and `words` (n,) and (m,) belong to the entries of the two bags, in their order. A share is
    mass x cost / distance; if the distance is 0, every share is 0.
    """
    plan, rest = solve_bags(source, target, *vectors)
    flows = [
        Flow(words[0][i], words[1][j], mass, 0.0, 0.0)
        for i, j, mass in zip(*(part.tolist() for part in rest.common), strict=True)
    ]
    arcs = np.nonzero(plan.mass > 0)
    costs = kernels.exact_arcs(vectors[0][rest.sources], vectors[1][rest.targets], *arcs)
    for i, j, mass, cost in zip(*(values.tolist() for values in (*arcs, plan.mass[arcs], costs)), strict=True):
        share = mass * cost / plan.distance if plan.distance > 0 else 0.0
        flows.append(Flow(words[0][rest.sources[i]], words[1][rest.targets[j]], mass, cost, share))
    flows.sort(key=lambda flow: (-flow.share, -flow.mass, flow.source, flow.target))
    return Explanation(plan.distance, tuple(flows))


Stage = Literal["first stage", "rwmd", "dual", "sinkhorn", "solved", "hit"]


@dataclass(frozen=True, slots=True)
class WhyNot(Answer):
    """The stage at which a search excludes a document."""

    OBJECT = "Exclusion"

    k: int
    """The number of hits."""
    kth: Number
    """The distance of hit k; infinite if there are fewer hits."""
    distance: float
    """The exact distance of the document."""
    bounds: dict[str, float]
    """The lower bounds of the distance by name."""
    stage: Stage
    """What excluded the document: `first stage` if it was no candidate, else the first bound above `kth`; `solved` if
    only the distance itself is above; `hit`: nothing did."""

    @classmethod
    def of(
        cls, k: int, kth: float, distance: float, bounds: dict[str, float], *, candidate: bool, hit: bool
    ) -> "WhyNot":
        """Determine the stage; for `k`, `kth`, `distance` and `bounds` see the class.

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
    """Return every lower bound of the distance of `query` and `bag` over word `vectors` (v, d), by name; TooLarge."""
    check_cells(len(query.bag), len(bag))
    every = every_bound(query, Bags.of([bag]), vectors)
    return {name: float(bound[0]) for name, bound in every.items() if name != "upper"}
