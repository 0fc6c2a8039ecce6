"""Explanation of a distance by its flows: how much mass moves between which words, and at what cost."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag
from moverank.rerank.distance.ground_cost import exact_cost
from moverank.rerank.distance.transport import solve_bags
from moverank.rerank.ranking import Flow, TermScale, numbers_by_name


@dataclass(frozen=True, slots=True)
class Explanation:
    """An exact distance and its flows: the distance is the sum of mass x cost over the flows.

    If a sum ranks, `total` is its value, and `parts`, `costs` and `terms` are those of `Hit` and `Ranking`.
    `unknown_words` and `ignored_words` are those of the query: see `Ranking`.
    """

    distance: float
    flows: tuple[Flow, ...]
    total: float | None = None
    parts: tuple[tuple[str, float], ...] = ()
    unknown_words: tuple[str, ...] = ()
    ignored_words: tuple[str, ...] = ()
    costs: tuple[tuple[str, float], ...] = ()
    terms: tuple[TermScale, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as `explain --json` prints it."""
        values: dict[str, Any] = {"distance": self.distance}
        if self.total is not None:
            values |= {"total": self.total, "parts": numbers_by_name(self.parts), "costs": dict(self.costs)}
            values["terms"] = [asdict(term) for term in self.terms]
        words = {"unknown_words": list(self.unknown_words), "ignored_words": list(self.ignored_words)}
        return values | {"flows": [asdict(flow) for flow in self.flows]} | words


def explain(
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
    costs = exact_cost(vectors[0][rest.sources], vectors[1][rest.targets])
    for i, j in np.argwhere(plan.mass > 0).tolist():
        mass, cost = float(plan.mass[i, j]), float(costs[i, j])
        share = mass * cost / plan.distance if plan.distance > 0 else 0.0
        flows.append(Flow(words[0][rest.sources[i]], words[1][rest.targets[j]], mass, cost, share))
    flows.sort(key=lambda flow: (-flow.share, -flow.mass, flow.source, flow.target))
    return Explanation(plan.distance, tuple(flows))
