"""How to search: the options of `Collection.search` and of the command line, in one place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How to search.

    `k`: hits wanted.

    `depth`: how many candidates the first stage hands over. None: all documents, or 20,000 candidates in a collection
    of more than two million.

    `exact`: compare every document; with a `depth`, after the candidates of the first stage.

    `distance`: "wmd", "pwmd", "rwmd" or "wcd", or a scorer, as "bm25" or "bm25:k1=0.9,b=0.4". None: P-WMD where the
    collection has a gamma, else WMD.

    `gamma`: sensitivity to rank, 0 or more. None: the collection's.

    `where`: field name -> accepted values; only documents that have one of them in every field named are candidates.

    `explained`: hits carry their flows.

    `budget`: seconds after which the search ends with what it has; `Ranking.largest_error` then says what may be missing.
    None: no limit.

    `blend`: a scorer with a share in the order, "bm25=0.3", or "bm25" to join ranks.
    """

    k: int = 10
    depth: int | None = None
    exact: bool = False
    distance: str | None = None
    gamma: float | None = None
    where: Mapping[str, Sequence[str]] | None = None
    explained: bool = False
    budget: float | None = None
    blend: str | None = None
