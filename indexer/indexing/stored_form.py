"""The stored form of a document: its parts with digests, its own digest, its filter fields, and rows of its parts."""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from moverank.indexer.errors import UsageError
from moverank.indexer.store import StoredDocument, Writer
from moverank.indexer.values.documents import (
    Document,
    Metadata,
    Part,
    content_fault,
    filter_value,
    flattened,
    key_fault,
    metadata_fault,
)
from moverank.indexer.values.given_vectors import numbers_fault, vector_bytes
from moverank.indexer.values.queries import check_ranks
from moverank.indexer.values.ranked_texts import ranked_texts
from moverank.rerank.bags.bag import TITLE

_encode = json.JSONEncoder(sort_keys=True).encode


class StoredPart(NamedTuple):
    """A title (rank `TITLE`, position -1) or a part, with the text whose words are counted for it."""

    position: int
    rank: int
    text: str
    counted: str
    digest: bytes


def part_digests(document: Document) -> Sequence[bytes]:
    """Return the digests of the texts of a document's parts, without the title."""
    return text_digests(part.text for part in document.parts)


def stored_parts(document: Document, digests: Sequence[bytes]) -> tuple[StoredPart, ...]:
    """Return the parts of a document, its title first where the title's words count; `digests` are `part_digests`."""
    texts = ranked_texts(document)
    titled = len(texts) - len(document.parts)
    own = (StoredPart(-1, TITLE, title, title, *text_digests([title])) for _, title in texts[:titled])
    rows = (
        StoredPart(position, part.rank, part.text, counted, digest)
        for position, (part, (_, counted), digest) in enumerate(
            zip(document.parts, texts[titled:], digests, strict=True)
        )
    )
    return (*own, *rows)


def document_digest(document: Document, digests: Sequence[bytes], salt: bytes) -> bytes:
    """Return a digest of the content of `document`; `digests` are `part_digests`.

    `salt` identifies the settings that determine its words.
    """
    ranks, vector = [part.rank for part in document.parts], document.vector
    content: list[object] = [document.title, document.label, dict(document.metadata), ranks]
    if not document.title_counts and document.title.strip():
        content.append(False)
    vector = b"" if vector is None else vector_bytes(vector)
    return blake2b(b"".join((salt, _encode(content).encode(), *digests, vector)), digest_size=16).digest()


def restored_document(found: StoredDocument) -> Document:
    """Return the `Document` of a stored document."""
    titled = any(part.rank == TITLE for part in found.parts)
    parts = tuple(Part(part.text, part.rank) for part in found.parts if part.rank != TITLE)
    counts = titled or not found.title.strip()
    # A damaged vector may have any number of bytes: the digest then differs.
    vector = found.vector and np.frombuffer(found.vector[: len(found.vector) // 4 * 4], "<f4").tolist()
    return Document(found.key, found.title, parts, found.label, found.metadata, counts, vector)


def text_digests(texts: Iterable[str]) -> list[bytes]:
    """Return the digests of parts' texts."""
    # No function for one text: a call takes a tenth of the time of a digest.
    return [blake2b(text.encode(), digest_size=16).digest() for text in texts]


def field_values(label: str | None, metadata: Metadata) -> set[tuple[str, str]]:
    """Return the filter fields (name, value) of a document: its label, and the values of its metadata."""
    fields = (*((("label", label),) if label is not None else ()), *flattened(metadata))
    return {(name, filter_value(value)) for name, value in fields}


def vector_fault(document: Document, dim: int) -> str | None:
    """Return the fault of a document's vector; None if the vector is valid or missing.

    `dim` is the number of dimensions of the collection's vectors, 0 if there are none yet.
    """
    if document.vector is None:
        return None
    vector = np.frombuffer(vector_bytes(document.vector), "<f4")
    fault = numbers_fault(vector)
    if fault is None and dim and len(vector) != dim:
        fault = (
            f"has {len(vector):,} numbers, those of the collection have {dim:,}: all need the same "
            "(vectors of another encoder: index all documents without vectors first)"
        )
    return fault and f"the vector of document {document.key!r} {fault}"


def check_document(document: Document) -> None:
    """Raise UsageError for a document that cannot be stored; the message names its key.

    Such a document has an empty or a long key, a rank out of range, a NUL character or a lone surrogate in a text, or
    metadata with a long name or a value that JSON cannot hold.
    """
    if not document.key:
        raise UsageError("a document needs a key that is not empty")
    if fault := key_fault(document.key):
        raise UsageError(f"document '{document.key[:40]}...': {fault}")
    check_ranks(document)
    if fault := metadata_fault(document.metadata):
        raise UsageError(f"document {document.key!r} has metadata that cannot be stored: {fault}")
    if fault := content_fault(document):
        raise UsageError(f"document {document.key!r} {fault}")


def contexts(parts: Sequence[Any]) -> list[tuple[bytes, bytes | None]]:
    """Return digests that the counts of each part depend on: its own, and the title's for a first part at rank 0."""
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
