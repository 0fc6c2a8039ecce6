"""Results as JSON objects; their keys are part of the public interface."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it loads SQLAlchemy, which is not needed to print
    from moverank.indexer.store import StoredSource


def sources_object(sources: Iterable["StoredSource"]) -> dict[str, Any]:
    """Return the sources of a collection; `source` and `name` are null for documents whose source is unknown."""
    return {
        "sources": [
            {
                "source": stored.source and stored.source.place,
                "name": stored.source and stored.source.name,
                "prefix": stored.source.prefix if stored.source else "",
                "documents": stored.documents,
            }
            for stored in sources
        ]
    }
