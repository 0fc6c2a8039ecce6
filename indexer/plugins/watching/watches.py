"""Watches: they are checked when they are added."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from moverank.indexer.errors import UsageError
from moverank.indexer.filters import alternatives
from moverank.indexer.values.arguments import finite_number, text
from moverank.indexer.values.documents import Document, Watch, content_fault, key_fault, text_fault
from moverank.indexer.values.queries import QueryText, query_document
from moverank.indexer.values.ranking_spec import RankingSpec, distance_of, parse_ranking, resolve
from moverank.indexer.values.search_options import Where

if TYPE_CHECKING:
    from moverank.indexer.collection import Collection

NO_WATCHES = "shards have no watches of their own: add a watch to the place of each shard"
"""Why a collection in shards refuses a watch."""


def in_one_place(state: Any) -> "Collection":
    """Return a collection whose database can be read; UsageError for shards."""
    if not hasattr(state, "reading"):
        raise UsageError(NO_WATCHES)
    collection: Collection = state
    return collection


@lru_cache
def watch_spec(ranking: str) -> RankingSpec:
    """Return the ranking of a watch, whose gamma and weights do not depend on the collection."""
    return resolve(None, None, parse_ranking(ranking))


def new_watch(name: str, query: QueryText, within: float, ranking: RankingSpec, where: Where | None) -> Watch:
    """Return a watch that is to be added; UsageError for an argument that is invalid in any collection."""
    document, name = query_document(query), checked_name(name)
    own = Document("", document.title, document.parts, title_counts=document.title_counts)
    if fault := content_fault(own):
        raise UsageError(f"the watch {name!r} {fault}")
    return Watch(name, own, _fixed(ranking), finite_number("the largest distance", within), _conditions(where), 0)


def checked_name(name: str) -> str:
    """Return the name of a watch; UsageError for one that cannot be stored."""
    what = "the name of a watch"
    if fault := "is empty" if not text(what, name) else key_fault(name) or text_fault([name], {}):
        raise UsageError(f"{what}: {fault}")
    return name


def watch_ranking(rank: str | None, gamma: float | None, own: RankingSpec) -> RankingSpec:
    """Return the ranking of a new watch; `rank` None: WMD or P-WMD by the gamma and weights of `own`, the collection's.

    Raises UsageError for a ranking that is no distance: scores and sums depend on all other documents.
    """
    found = resolve(*distance_of(rank, gamma, own), own)
    if found.plain is None:
        raise UsageError(
            f"a watch compares by a distance alone, such as wmd or pwmd, not by {found}: the values of scores and sums "
            "depend on the other documents"
        )
    return found


def _fixed(ranking: RankingSpec) -> str:
    """Return the specification of a distance with its gamma and weights."""
    gamma = "" if ranking.plain == "wmd" else f"gamma={ranking.gamma!r},"
    return f"{ranking.plain}:{gamma}weights={ranking.weights}"


def _conditions(where: Where | None) -> Any:
    """Return a filter as a JSON value; UsageError for anything but a filter."""
    groups = () if where is None else alternatives(where)
    if isinstance(where, Mapping):
        return {name: [one.value for one in group] for name, group in zip(where, groups, strict=True)}
    return [where] if isinstance(where, str) else list(where) if isinstance(where, Sequence) else []
