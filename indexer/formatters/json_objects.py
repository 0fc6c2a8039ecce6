"""Results as JSON objects; their keys are part of the public interface."""

from collections.abc import Iterable
from dataclasses import asdict
from math import isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # they load numpy and SQLAlchemy, which are not needed to print
    from moverank.indexer.contents.description import Description
    from moverank.indexer.documents import Changes, Origin
    from moverank.indexer.store import Entry, StoredSource
    from moverank.rerank.distance.explain import Explanation
    from moverank.rerank.distance.why_not import WhyNot
    from moverank.rerank.ranking import Flow, Hit, Ranking


def changes_object(changes: "Changes") -> dict[str, Any]:
    """Return the changes made by a run, by name."""
    return asdict(changes)


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


def ranking_object(ranking: "Ranking", seconds: float, query: str | None = None) -> dict[str, Any]:
    """Return a `ranking` that took `seconds`; `query` is the id of its query if there are several."""
    values: dict[str, Any] = {} if query is None else {"query": query}
    of_query = {"unknown_words": ranking.unknown_words, "ignored_words": ranking.ignored_words}
    words = {name: list(some) for name, some in of_query.items() if some is not None}
    return values | {
        "hits": [_hit_object(rank, hit) for rank, hit in enumerate(ranking.hits, start=1)],
        "certified": ranking.certified,
        "scope": ranking.scope,
        "largest_error": ranking.largest_error,
        "counts": ranking.counts.as_dict(),
        "seconds": round(seconds, 6),
        "ranking": ranking.ranked_by,
        **words,
        **({"missing_shards": list(ranking.missing_shards)} if ranking.missing_shards else {}),
    }


def explanation_object(explanation: "Explanation") -> dict[str, Any]:
    """Return a distance and its flows."""
    values: dict[str, Any] = {"distance": explanation.distance}
    if explanation.total is not None:
        values |= {"total": explanation.total, "parts": _parts_object(explanation.parts)}
    words = {"unknown_words": list(explanation.unknown_words), "ignored_words": list(explanation.ignored_words)}
    return values | {"flows": [_flow_object(flow) for flow in explanation.flows]} | words


def why_not_object(why: "WhyNot") -> dict[str, Any]:
    """Return the stage that excluded a document; an infinite k-th distance is null, since JSON has no infinity."""
    return {"why_not": asdict(why) | {"kth": why.kth if why.kth < float("inf") else None}}


def entry_object(entry: "Entry") -> dict[str, Any]:
    """Return a document without its texts, with the number of its parts and where it was read."""
    values = entry._asdict()
    return values | _origin_object(values.pop("origin"))


def description_object(description: "Description") -> dict[str, Any]:
    """Return a document as `export` writes it, and the facts that are stored about it."""
    from moverank.indexer.readers.stored_record import record_of

    return record_of(description.document) | {
        "words": description.words,
        "unknown_words": list(description.unknown_words),
        "revision": description.revision,
        **_origin_object(description.origin),
    }


def _origin_object(origin: "Origin | None") -> dict[str, Any]:
    """Return a source and the file within it; both are null if the source is unknown."""
    return {"source": origin and origin.source.place, "file": origin and origin.file}


def _hit_object(rank: int, hit: "Hit") -> dict[str, Any]:
    values: dict[str, Any] = {
        "rank": rank,
        "key": hit.key,
        "title": hit.title,
        "distance": None if isnan(hit.distance) else hit.distance,
        "score": hit.score,
        "label": hit.label,
        "metadata": dict(hit.metadata),
        "snippet": hit.snippet,
    }
    if hit.text is not None:
        values["text"] = hit.text
    if hit.total is not None:
        values |= {"total": hit.total, "parts": _parts_object(hit.parts)}
    if hit.candidate is not None:
        values |= {"candidate": hit.candidate, "exact": hit.exact, "wordless": hit.wordless}
    return values | ({"flows": [_flow_object(flow) for flow in hit.flows]} if hit.flows else {})


def _parts_object(parts: Iterable[tuple[str, float]]) -> dict[str, float | None]:
    return {name: None if isnan(value) else value for name, value in parts}


def _flow_object(flow: "Flow") -> dict[str, Any]:
    return asdict(flow)
