"""A committed state of a collection, as operations read it."""

from collections.abc import Iterator
from contextlib import contextmanager

from moverank.indexer.search_options import Where
from moverank.indexer.state.contents import Contents
from moverank.indexer.state.open_state import OpenState


class ReadState(OpenState):
    """A committed state with its documents."""

    @contextmanager
    def contents(self, where: Where | None = None) -> Iterator[Contents]:
        """Open the documents that pass a filter."""
        yield Contents(self.reader, where)
