"""Followers of indexing runs: classes of plug-ins, found by their entry points.

A class of the group `moverank.followers` has a `NAME`, that of the table whose rows it works for; while the table is
empty, no entry point is read, and nothing is imported. An open collection has one instance. Its method `begin(reader,
settings, embedding)`, called before a run writes anything, returns an object whose `follow(writer)` is called at the
end of each transaction that changed documents, and may write in it; any error undoes the transaction. The object's
`events` is the number of events that it has written.
"""

from typing import Any

from moverank.indexer.errors import PlugInError
from moverank.rerank.plug_ins import PlugIns

FOLLOWERS = PlugIns[Any](
    "follower", {"watches": None}, ("begin",), PlugInError, ("NAME",), named="NAME", contract=__name__
)
"""The followers by name."""


def new_follower(name: str) -> Any:
    """Return a follower for a collection with rows in the table `name`; PlugInError if none is installed."""
    if (kind := FOLLOWERS.named(name)) is None:
        raise PlugInError(
            f"the collection has {name}, and the plug-in that follows changes for them is not installed: nothing was "
            "changed"
        )
    return kind()
