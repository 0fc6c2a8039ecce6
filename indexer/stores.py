"""Stores beside a collection in one place: classes of plug-ins and of other packages, found by their entry points.

A class of the group `moverank.stores` has a `NAME`; `holds(place)` returns whether a place, a text, belongs to it;
`open(place, wait=seconds)` opens the collection there, which has the methods of `Collection`; `places(place)` returns
where its parts are, and `check_shared(place)` raises UsageError if several processes cannot open it at once. A
collection that is served also has `searcher`, `nearest_words`, `changed`, and a tuple as `revision`, as shards have.
"""

from pathlib import Path
from typing import Any

from moverank.indexer.errors import PlugInError
from moverank.indexer.files.location import is_in_one_place
from moverank.rerank.plug_ins import PlugIns

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
