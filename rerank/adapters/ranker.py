"""What every adapter does with a ranker: load it, rank texts, and note how each got its place."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from moverank.rerank.adapters.loaded_once import LoadedOnce
from moverank.rerank.errors import OptionError
from moverank.rerank.ranking import Hit, Ranking

Status = Literal["exact", "pruned", "wordless", "unranked"]
"""How a candidate got its place: by its exact distance, by a lower bound of it (only beyond the first k), last because
it has no known word, or as it came because the query has none."""

STATUS = "moverank_status"
"""The name under which a host's metadata say that a candidate was not placed by its exact distance."""

EngineScores = Sequence[float | None]
"""The scores that a host gave to the candidates, larger being better; None: no score."""


@runtime_checkable
class Ranker(Protocol):
    """What an adapter needs of `moverank.Reranker`."""

    def rank_many(
        self,
        queries: Sequence[Any],
        candidates: Sequence[Any],
        k: int | None = None,
        scores: Sequence[EngineScores | None] | None = None,
        rank: str | None = None,
    ) -> list[Ranking]:
        """Return all candidates of each query, best first, of which the first `k` are exact.

        The ranking of a query without known words has a `problem`, and its candidates in their order.
        """
        ...


GivenRanker = Ranker | str | os.PathLike[str]
"""A ranker, or the path of a file of word vectors or of a collection."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A candidate by its `index` among the candidates; the higher its `score`, in (0, 1], the better."""

    index: int
    score: float
    status: Status


class HeldRanker:
    """A ranker, loaded on first use if its path is given; OptionError for what is neither.

    `rank` is the specification of a ranking; None stands for that of the ranker.
    """

    def __init__(self, given: GivenRanker) -> None:
        if not isinstance(given, str | os.PathLike | Ranker):
            raise OptionError(
                f"the ranker must be a moverank.Reranker or the path of word vectors or of a collection, not {given!r}"
            )
        self._ranker = LoadedOnce[Ranker](given, _load)

    def load(self, rank: str | None) -> "HeldRanker":
        """Load the ranker now, and check `rank`; raises what `Reranker.load` and `Reranker.rank_many` raise."""
        self._ranker.get().rank_many([], [], rank=rank)
        return self

    def places(
        self,
        query: str,
        texts: Sequence[str | None],
        k: int | None = None,
        scores: EngineScores | None = None,
        rank: str | None = None,
    ) -> list[Placed]:
        """Return the places of all `texts`, best first; None counts as an empty text. The first `k` are exact, or all.

        `scores` of the host are used by a ranking with the term `vector`.
        """
        return self.places_of_many([query], [texts], k, [scores], rank)[0]

    def places_of_many(
        self,
        queries: Sequence[str],
        texts: Sequence[Sequence[str | None]],
        k: int | None,
        scores: Sequence[EngineScores | None],
        rank: str | None = None,
    ) -> list[list[Placed]]:
        """Return the places of the texts of each of many queries."""
        candidates = [[text or "" for text in some] for some in texts]
        given = [finite(each) for each in scores]
        return [placed(found) for found in self._ranker.get().rank_many(queries, candidates, k, given, rank)]


def _load(path: str) -> Ranker:
    from moverank import Reranker  # adapters are clients of the public face, which is loaded on first use

    return Reranker.load(path)


def finite(scores: EngineScores | None) -> EngineScores | None:
    """Return the scores without infinite and undefined ones; None if no score is left."""
    numbers = [score if score is not None and math.isfinite(score) else None for score in scores or ()]
    return numbers if any(score is not None for score in numbers) else None


def placed(ranking: Ranking) -> list[Placed]:
    """Return the places of the candidates of a ranking, best first."""
    unranked = ranking.problem is not None
    return [Placed(_index(hit), hit.score, "unranked" if unranked else _status(hit)) for hit in ranking.hits]


def _status(hit: Hit) -> Status:
    return "wordless" if hit.wordless else "exact" if hit.exact else "pruned"


def _index(hit: Hit) -> int:
    if hit.candidate is None:
        raise OptionError("the ranker returned a hit without the index of its candidate")
    return hit.candidate


def flag(place: Placed) -> dict[str, str]:
    """Return the metadata of a candidate which was not placed by its exact distance: none for all others."""
    return {} if place.status == "exact" else {STATUS: place.status}


def check_count(name: str, value: int | None) -> int | None:
    """Return a number of documents, None for all; raise OptionError for any other value."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise OptionError(f"{name} must be a whole number of 1 or more, or None for all, not {value!r}")
