"""Results as JSON objects; their keys are part of the public interface."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # they load numpy and SQLAlchemy, which are not needed to print
    from moverank.indexer.proofs.verify import Verified
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


def verified_object(verified: "Verified") -> dict[str, Any]:
    """Return the proven facts of a proof; hits and the words of the query are objects, too."""
    hits = [{"key": key, "distance": distance} for key, distance in verified.hits]
    query = [{"word": word, "weight": weight} for word, weight in verified.query]
    return {"verified": True, **asdict(verified), "hits": hits, "query": query}
