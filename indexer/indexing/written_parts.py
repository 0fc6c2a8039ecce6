"""The rows of documents' parts: written where texts changed, else only the ranks that did."""

from collections.abc import Iterator, Sequence
from typing import Any

from moverank.indexer.indexing.stored_form import StoredPart
from moverank.indexer.store import Writer
from moverank.rerank.bags.title_rank import TITLE


def contexts(parts: Sequence[Any]) -> list[tuple[bytes, bytes | None]]:
    """Return what the counts of each part depend on: its text, and for a first part of rank 0 the title."""
    title = next((part.digest for part in parts if part.rank == TITLE), None)
    return [(part.digest, title if part.position == part.rank == 0 else None) for part in parts]


def write_parts(
    writer: Writer,
    ids: Sequence[int],
    fresh: Sequence[Sequence[StoredPart]],
    counted: Sequence[list[Any]],
    old: dict[int, list[Any]],
) -> None:
    """Write the parts of documents; if the texts are the same, only the ranks that changed."""
    ranks: list[dict[str, Any]] = []
    dropped: list[int] = []
    added: list[dict[str, Any]] = []
    for id_, new, counts in zip(ids, fresh, counted, strict=True):
        before = old.get(id_, [])
        if before and _texts(before) == _texts(new):
            pairs = zip(before, new, strict=True)
            ranks += [{"id": was.id, "rank": now.rank} for was, now in pairs if was.rank != now.rank]
            continue
        dropped += [id_] if before else []
        added += _part_rows(id_, new, counts)
    writer.update_ranks(ranks)
    writer.drop_parts(dropped)
    writer.add_parts(added)


def _texts(parts: Sequence[Any]) -> list[tuple[int, bytes]]:
    return [(part.position, part.digest) for part in parts]


def _part_rows(id_: int, new: Sequence[StoredPart], counted: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for part, counts in zip(new, counted, strict=True):
        yield {
            "document_id": id_,
            "position": part.position,
            "rank": part.rank,
            "text": part.text,
            "digest": part.digest,
            "words": counts.words,
            "counts": counts.counts,
        }
