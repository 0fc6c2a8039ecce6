"""The options of a search, for `Collection.search` and the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of a search.

    `k`: number of hits.

    `depth`: number of candidates from the first stage. None: all documents, or `DEFAULT_DEPTH` candidates in a
    collection of more than `EXACT_UP_TO` documents.

    `exact`: compare every document; with a `depth`, after the candidates of the first stage.

    `distance`: "wmd", "pwmd", "rwmd" or "wcd", or a scorer, as "bm25" or "bm25:k1=0.9,b=0.4". None: P-WMD if the
    collection has a gamma, else WMD.

    `gamma`: sensitivity to rank, 0 or more. None: the collection's.

    `where`: field name -> accepted values; only documents with one of these values in every named field are candidates.

    `explained`: include the flows of each hit.

    `budget`: time limit in seconds. A search that reaches it returns the hits found so far, and
    `Ranking.largest_error` is an upper bound of their error. None: no limit.

    `blend`: a scorer to combine with the distance: "bm25=0.3" gives it a share of 0.3, "bm25" fuses the two rankings by
    reciprocal rank.
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

    @classmethod
    def of(cls, options: "SearchOptions | None", fields: Mapping[str, Any]) -> "SearchOptions":
        """Return `options` (None: the defaults) with `fields` changed by name; UsageError for an unknown field."""
        from moverank.indexer.errors import UsageError  # here, since `moverank --help` imports this module

        unknown = sorted(set(fields) - set(cls.__slots__))
        if unknown:
            raise UsageError(f"there is no search option {unknown[0]!r}: choose {', '.join(cls.__slots__)}")
        return replace(options or cls(), **fields)


EXACT_UP_TO = 2_000_000
"""Number of documents up to which a search without `depth` compares all: that usually takes less than a second."""

DEFAULT_DEPTH = 20_000
"""Number of candidates of a search without `depth` in a larger collection."""
