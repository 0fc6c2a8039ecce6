"""Results of a search: hits, counts per stage, and how exact the list is."""

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # a client of a server prints rankings without numpy, whose import takes a third of its time
    import numpy as np
    from numpy.typing import NDArray

Distance = Literal["wmd", "pwmd", "rwmd", "chamfer", "cover", "wcd"]
DISTANCES: tuple[Distance, ...] = ("wmd", "pwmd", "rwmd", "chamfer", "cover", "wcd")
"""Chamfer is the sum of both sides of RWMD, cover the query's side alone."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Mass moved between two words: `mass` in [0, 1], `cost` their distance, `share` the part of the total cost."""

    source: str
    target: str
    mass: float
    cost: float
    share: float


@dataclass(frozen=True, slots=True)
class Hit:
    """One result: the document's key, its distance, and its title, label, metadata and snippet for display.

    `distance` is NaN if the document was ranked by a scorer that is no distance. `flows` are empty unless they were
    requested. `scored` is the value of the scorer that ranked the document. If a sum did, `total` is its value, smaller
    being better, `parts` are the values of its terms by name, and `distance` is the WMD if that is one of them. `text`
    is the whole text, its parts separated by empty lines, None unless it was requested.

    Where candidates were reranked, `candidate` is the index among them. If not `exact`, the document was pruned: what
    ranks it, `total` or else `distance`, is a lower bound. A `wordless` one has no known word, or is not in the
    collection: it comes last.
    """

    key: str
    distance: float
    title: str = ""
    label: str | None = None
    snippet: str = ""
    flows: tuple[Flow, ...] = ()
    scored: float | None = None
    parts: tuple[tuple[str, float], ...] = ()
    total: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    candidate: int | None = None
    exact: bool = True
    wordless: bool = False
    text: str | None = None

    @property
    def score(self) -> float:
        """Return `scored`, or 1 / (1 + x) if a distance or total x ranked the document: 1 for equal bags, falling to 0.

        gensim's WmdSimilarity computes the same score from a distance.
        """
        if self.scored is not None:
            return self.scored
        return 1.0 / (1.0 + (self.distance if self.total is None else self.total))


@dataclass(frozen=True, slots=True)
class StageCounts:
    """The number of candidates, of those that each bound pruned, and of the transport problems that were solved."""

    candidates: int = 0
    rwmd: int = 0
    dual: int = 0
    sinkhorn: int = 0
    solved: int = 0

    def __add__(self, other: "StageCounts") -> "StageCounts":
        """Return the sums of the counts of two searches."""
        return StageCounts(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name, in the order of the stages."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The `rows` (k,) of the nearest bags, nearest first, their `distances` (k,), and the `counts` per stage.

    `unsolved_bounds` are the smallest lower bounds of other rows that are below the last distance, at most k,
    increasing. There are none unless the search was stopped early. If a weighted sum ranks, the distances are its
    totals, and `components` (k, 3) are the WMD, the document's and the query's side of RWMD, nan if not computed.

    `lower` (n,) are lower bounds of what ranks each row, the value itself where it is `known` (n,).
    """

    rows: "NDArray[np.int64]"
    distances: "NDArray[np.float64]"
    counts: StageCounts
    unsolved_bounds: "NDArray[np.float64]" = field(default_factory=lambda: _empty(0))
    components: "NDArray[np.float64]" = field(default_factory=lambda: _empty(0, 3))
    lower: "NDArray[np.float64]" = field(default_factory=lambda: _empty(0))
    known: "NDArray[np.bool_]" = field(default_factory=lambda: _empty(0).astype(bool))


def _empty(*shape: int) -> "NDArray[np.float64]":
    import numpy as np

    return np.empty(shape)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits, best first.

    `certified` means: it is proven that no document outside the list (that passes the filter, if there is one) is
    nearer than the last hit. `scope` is the set of documents among which the list is exact: the "collection", or only
    the "candidates" of the first stage, or those of the "shards" that answered, without the `missing_shards`.
    `largest_error` bounds how much farther the last hit is than the true k-th
    nearest document; it is 0 if certified. `seconds` is the time taken. `problem` is the reason why a query of a batch
    failed. `ranked_by` is the specification of the ranking; a sum ranks by its totals instead of distances.

    `unknown_words` are the words of the query without a vector, `ignored_words` those that had no effect on the
    ranking: a distance ignores the unknown ones, a scorer those in no document, a sum with both only words that are
    unknown and in no document. None if the query is a stored document.
    """

    hits: tuple[Hit, ...]
    certified: bool
    scope: Literal["collection", "candidates", "shards"]
    counts: StageCounts = field(default_factory=StageCounts)
    largest_error: float = 0.0
    seconds: float = 0.0
    problem: str | None = None
    ranked_by: str = ""
    unknown_words: tuple[str, ...] | None = None
    ignored_words: tuple[str, ...] | None = None
    missing_shards: tuple[str, ...] = ()


def largest_error(distances: "NDArray[np.float64]", unsolved_bounds: "NDArray[np.float64]", k: int) -> float:
    """Return an upper bound of how much farther the last hit is than the true `k`-th nearest document.

    `distances` are those of the hits, at most `k`, increasing; `unsolved_bounds` (u,) are lower bounds of the
    distances of other documents. Fewer than `k` distances mean that all documents were found: the error is 0.
    """
    import numpy as np

    if len(distances) < k:
        return 0.0
    return float(max(0.0, distances[-1] - np.sort(np.concatenate([distances, unsolved_bounds]))[k - 1]))
