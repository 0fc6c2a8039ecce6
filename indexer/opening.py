"""Opens the collection that `-i` names, which may be in another store, such as shards.

Stores beside a collection in one place are classes of plug-ins and of other packages, found by their entry points.
A class of the group `moverank.stores` has a `NAME`; `holds(place)` returns whether a place, a text, belongs to it;
`open(place, wait=seconds)` opens the collection there, which has the methods of `Collection`; `places(place)` returns
where its parts are, and `check_shared(place)` raises UsageError if several processes cannot open it at once. A
collection that is served also has `searcher`, `nearest_words`, `changed`, and a tuple as `revision`, as shards have.

If few statements on a SQLite file suffice, SQLAlchemy and numpy are not used: their imports take longer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from moverank.indexer.errors import PlugInError
from moverank.indexer.files.location import is_in_one_place
from moverank.rerank.plug_ins import PlugIns

if TYPE_CHECKING:
    from moverank.indexer.collection import Collection
    from moverank.indexer.operations.operation import StateContents
    from moverank.indexer.values.search_options import Where

STORES = PlugIns[Any](
    "store",
    {},
    ("holds", "open", "places", "check_shared"),
    PlugInError,
    ("NAME",),
    named="NAME",
    contract="the manual's page `plugins`",
)
"""The stores by name."""


def other_store(place: str | Path) -> Any:
    """Return the class of the store that a place belongs to; None for a collection in one place."""
    if is_in_one_place(place):
        return None
    kinds = map(STORES.of, STORES.names())
    return next((kind for kind in kinds if kind.holds(str(place))), None)


Opened: TypeAlias = "Collection | Any"
"""An open collection, or one of another store, which has the same methods as far as it can."""


def open_index(index: Path, *, wait: float = 0.0) -> "Opened":
    """Open a collection; `wait`: seconds that changes wait for other writers. Raises CollectionError."""
    from moverank.indexer.collection import Collection

    opened: Opened = (other_store(index) or Collection).open(index, wait=wait)
    return opened


def places_of(index: Path) -> tuple[str, ...]:
    """Return the place of a collection, or the places of its parts; CollectionError if these cannot be read."""
    kind = other_store(index)
    return kind.places(index) if kind else (str(index),)


@contextmanager
def open_listing(index: Path, where: "Where | None") -> "Iterator[StateContents]":
    """Open the documents that pass a filter, without their texts: one state of them, unless they are in several places.

    Raises CollectionError, and UsageError for an invalid filter.
    """
    if not where:
        from moverank.indexer.state.contents import Contents
        from moverank.indexer.store import direct_reader

        with direct_reader(index) as reader:
            if reader:
                yield Contents(reader)
                return
    with open_index(index) as collection, collection.contents(where) as contents:
        yield contents


def index_info(index: Path) -> dict[str, Any]:
    """Return sizes, revision and settings of a collection by name; CollectionError if it cannot be opened."""
    from moverank.indexer.state.summary import stored_summary
    from moverank.indexer.store import direct_reader

    with direct_reader(index) as reader:
        info = stored_summary(reader, index) if reader else None
    if info is None:
        with open_index(index) as collection:
            info = collection.info()
    return info
