"""Why two texts are near: which words moved where, and what each move cost."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.bag import Bag
from moverank.rerank.distance.ground_cost import exact_cost
from moverank.rerank.distance.transport import solve_bags
from moverank.rerank.ranking import Flow


@dataclass(frozen=True, slots=True)
class Explanation:
    """An exact distance, and the flows that it is the sum of: mass x cost."""

    distance: float
    flows: tuple[Flow, ...]


def explain(
    source: Bag,
    target: Bag,
    vectors: tuple[NDArray[np.float32], NDArray[np.float32]],
    words: tuple[Sequence[str], Sequence[str]],
) -> Explanation:
    """Explain the exact distance of two bags by its flows, the costliest share first; words that stay come last.

    Word ids have to mean the same in both bags: mass on a shared word stays where it is.
    `vectors` and `words` are those of the source's (n) and the target's (m) entries, in the order of the bags. A share
    is mass x cost / distance; where the distance is 0 every share is 0.
    """
    plan, rest = solve_bags(source, target, *vectors)
    moved = [
        Flow(words[0][i], words[1][j], mass, 0.0, 0.0)
        for i, j, mass in zip(*(part.tolist() for part in rest.common), strict=True)
    ]
    cost = exact_cost(vectors[0][rest.sources], vectors[1][rest.targets])
    for i, j in np.argwhere(plan.mass > 0).tolist():
        mass, apart = float(plan.mass[i, j]), float(cost[i, j])
        share = mass * apart / plan.distance if plan.distance > 0 else 0.0
        moved.append(Flow(words[0][rest.sources[i]], words[1][rest.targets[j]], mass, apart, share))
    moved.sort(key=lambda flow: (-flow.share, -flow.mass, flow.source, flow.target))
    return Explanation(plan.distance, tuple(moved))
