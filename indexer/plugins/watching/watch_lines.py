"""Watches and events as lines."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from moverank.indexer.filters import alternatives
from moverank.indexer.formatters.escaping import printable
from moverank.indexer.values.documents import Event, Watch
from moverank.indexer.values.ranked_texts import ranked_texts

if TYPE_CHECKING:
    from moverank.rerank.ranking import Ranking

_SHOWN = 60  # characters of a query


def watch_line(watch: Watch) -> str:
    """Return a watch in one line."""
    text = " ".join(" ".join(text for _, text in ranked_texts(watch.query)).split())
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
    conditions = " and ".join(" or ".join(map(str, group)) for group in alternatives(watch.where))
    where = f", where {conditions}" if conditions else ""
    return printable(f"{watch.name}: within {watch.within:g} by {watch.ranking}{where}: {shown}")


def tried_lines(tried: "Ranking", within: float, shown: int) -> Iterator[str]:
    """Yield a line for each stored document within a distance, at most `shown`, and how many there are."""
    for hit in tried.hits:
        cells = (f"{hit.distance:.4f}", hit.key, hit.title or hit.snippet[:_SHOWN])
        yield "\t".join(map(printable, cells))
    number = f"at least {shown}" if len(tried.hits) == shown else f"{len(tried.hits)}"
    yield f"{number} of the stored documents are within {within:g}; no watch was added"


def event_line(event: Event) -> str:
    """Return an event in one line, with tabs between the values."""
    cells = (str(event.number), event.watch, f"{event.distance:.4f}", event.document, str(event.revision))
    return "\t".join(map(printable, cells))
