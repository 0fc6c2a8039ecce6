"""What a search answers."""

from dataclasses import asdict, astuple, dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Distance = Literal["wmd", "pwmd", "rwmd", "wcd"]
DISTANCES: tuple[Distance, ...] = ("wmd", "pwmd", "rwmd", "wcd")


@dataclass(frozen=True, slots=True)
class Flow:
    """Mass moved between words: `mass` in [0, 1], `cost` the distance of the two, `share` of the whole cost."""

    source: str
    target: str
    mass: float
    cost: float
    share: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One result: the document's key, its distance, and what people are shown of it.

    `distance` is nan where a scorer found it that is no distance. `scored` is what a scorer, or a blend, has put it at
    its rank for; `parts` are the distance and the score that a blend was made of, by name.
    """

    key: str
    distance: float
    title: str = ""
    label: str | None = None
    snippet: str = ""
    flows: tuple[Flow, ...] = ()
    scored: float | None = None
    parts: tuple[tuple[str, float], ...] = ()

    @property
    def score(self) -> float:
        """Return the score of a scorer or a blend, of a distance 1 / (1 + distance): 1 for the same bag, falling to 0.

        The second is that of gensim's WmdSimilarity.
        """
        return 1.0 / (1.0 + self.distance) if self.scored is None else self.scored


@dataclass(frozen=True, slots=True)
class StageCounts:
    """How many candidates there were, how many each bound threw out, and how many transport problems were solved."""

    candidates: int = 0
    rwmd: int = 0
    dual: int = 0
    sinkhorn: int = 0
    solved: int = 0

    def __add__(self, other: "StageCounts") -> "StageCounts":
        """Add up the counts of two searches."""
        return StageCounts(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name, in the order of the stages."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """Rows of bags, nearest first, with their distances (k,) float64, and what each stage did.

    `possible` (at most k,) are the smallest lower bounds of other rows that are below the last distance, in order:
    none, unless the search was stopped before it was done.
    """

    rows: NDArray[np.int64]
    distances: NDArray[np.float64]
    counts: StageCounts
    possible: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits, nearest first.

    `certified`: proven that no document of the collection (of those that the filter leaves, if there was one) that is
    not in the list is nearer than its last hit. `scope` says what the list is exact for: the "collection", or only the
    "candidates" of the first stage. `largest_error`: how much farther than the true k-th nearest document the last hit
    may be; 0 where it is certified. `seconds` is how long it took. `problem` says why a query of a batch has no answer.
    """

    hits: tuple[Hit, ...]
    certified: bool
    scope: Literal["collection", "candidates"]
    counts: StageCounts = field(default_factory=StageCounts)
    largest_error: float = 0.0
    seconds: float = 0.0
    problem: str | None = None


def largest_error(distances: NDArray[np.float64], possible: NDArray[np.float64], k: int) -> float:
    """Return how much farther than the true k-th nearest the last of `distances` (k,) may be.

    `possible` are lower bounds of the distances of other documents. 0 where there are fewer than k, all of them found.
    """
    if len(distances) < k:
        return 0.0
    return float(max(0.0, distances[-1] - np.sort(np.concatenate([distances, possible]))[k - 1]))
