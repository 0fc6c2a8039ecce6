"""The options of a search, for `Collection.search` and the command line."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Where = str | Sequence[str] | Mapping[str, "str | float | Sequence[str | float]"]
"""A filter: conditions as on the command line, `["year>=2019", "label=red"]`, or the accepted values of fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of a search.

    `k`: number of hits.

    `depth`: number of candidates from the first stage. None: all documents, or `DEFAULT_DEPTH` candidates in a
    collection of more than `EXACT_UP_TO` documents.

    `exact`: compare every document; with a `depth`, after the candidates of the first stage.

    `rank`: the ranking, as "wmd", "bm25:k1=0.9,stem=english" or a sum, "pwmd:weights=tfidf+0.4*bm25"; the manual's page
    `ranking` has the grammar. None: the collection's own. `distance`: a short form of `rank`.

    `gamma`: sensitivity to rank, 0 or more. None: the collection's.

    `where`: the filter, a list of conditions such as "year>=2019", or a mapping of field names to accepted values; only
    documents that pass it are candidates. The manual's page `filters` has the grammar.

    `max_distance`: leave out hits with a larger distance, or a larger total of a sum: then no hit at all may be left.
    None: no limit.

    `explained`: include the flows of each hit.

    `full`: include the whole text of each hit, `Hit.text`.

    `budget`: time limit in seconds. A search that reaches it returns the hits found so far, and
    `Ranking.largest_error` is an upper bound of their error. None: no limit.

    `stop`: called often while distances are computed, in any thread; once it returns True, the search ends as if its
    budget were used up.
    """

    k: int = 10
    depth: int | None = None
    exact: bool = False
    rank: str | None = None
    distance: str | None = None
    gamma: float | None = None
    where: Where | None = None
    max_distance: float | None = None
    explained: bool = False
    full: bool = False
    budget: float | None = None
    stop: Callable[[], bool] | None = None

    @classmethod
    def of(cls, options: "SearchOptions | None", fields: Mapping[str, Any]) -> "SearchOptions":
        """Return `options` (None: the defaults) with `fields` changed by name; UsageError for an unknown field."""
        from moverank.indexer.errors import UsageError  # here, since `moverank --help` imports this module

        unknown = sorted(set(fields) - set(cls.__slots__))
        if unknown:
            raise UsageError(f"there is no search option {unknown[0]!r}: choose {', '.join(cls.__slots__)}")
        return replace(options or cls(), **fields)

    @property
    def ranking(self) -> str | None:
        """Return the ranking, by either of its names; UsageError if both are given."""
        from moverank.indexer.errors import UsageError  # as above

        if self.rank is not None and self.distance is not None:
            raise UsageError("rank and distance are two names of one option: leave one out")
        return self.distance if self.rank is None else self.rank


EXACT_UP_TO = 2_000_000
"""Number of documents up to which a search without `depth` compares all: that usually takes less than a second."""

DEFAULT_DEPTH = 20_000
"""Number of candidates of a search without `depth` in a larger collection."""

CONVERSION_SECONDS = 60.0
"""How long a command that converts a file to text may run, unless the user names another time."""
