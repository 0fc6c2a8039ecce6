"""The stored form of a document: its parts with digests, its own digest, and its filter fields."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from moverank.indexer.documents import Document, Metadata, Part, Value
from moverank.indexer.errors import UsageError
from moverank.indexer.given_vectors import numbers_fault, packed
from moverank.indexer.indexing.counted_document import CountedDocument, CountedForm, CountedText
from moverank.indexer.json_text import json_encoder
from moverank.indexer.metadata import (
    filter_value,
    flattened,
    key_fault,
    metadata_fault,
    name_fault,
    text_fault,
    texts_of_document,
)
from moverank.indexer.ranked_texts import check_ranks, ranked_texts
from moverank.rerank.bags.title_rank import TITLE

if TYPE_CHECKING:  # it would load SQLAlchemy in the process that reads
    from moverank.indexer.store import StoredDocument

_encode = json_encoder(sort_keys=True)


class StoredPart(NamedTuple):
    """A title (rank `TITLE`, position -1) or a part, with the text whose words are counted for it, or its counts."""

    position: int
    rank: int
    text: str
    counted: str | CountedText
    digest: bytes


def part_digests(document: Document) -> Sequence[bytes]:
    """Return the digests of the texts of a document's parts, without the title; of a counted one those it has."""
    form = form_of(document)
    return form.digests if form else text_digests(part.text for part in document.parts)


def form_of(document: Document) -> CountedForm | None:
    """Return what was computed of a document when it was read."""
    return document.form if isinstance(document, CountedDocument) else None


def stored_parts(document: Document, digests: Sequence[bytes]) -> tuple[StoredPart, ...]:
    """Return the parts of a document, its title first where the title's words count; `digests` are `part_digests`."""
    form = form_of(document)
    if form:
        return tuple(_counted_parts(document, form))
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


def _counted_parts(document: Document, form: CountedForm) -> Iterator[StoredPart]:
    titled = len(form.digests) - len(document.parts)
    if titled:
        yield StoredPart(-1, TITLE, document.title, CountedText(form.among, form.first), form.digests[0])
    for position, part in enumerate(document.parts):
        counted = CountedText(form.among, form.first + titled + position)
        yield StoredPart(position, part.rank, part.text, counted, form.digests[titled + position])


def document_content(document: Document, digests: Sequence[bytes]) -> bytes:
    """Return what the digest of `document` covers, but for its vector and the salt; `digests` are `part_digests`."""
    form = form_of(document)
    if form:
        return form.content
    own = document.title, document.label, dict(document.metadata), [part.rank for part in document.parts]
    return _content(*own, digests, title_counts=document.title_counts)


def document_digest(document: Document, digests: Sequence[bytes], salt: bytes) -> bytes:
    """Return a digest of the content of `document`; `digests` are `part_digests`; see `content_digest`."""
    content = salt + document_content(document, digests)
    return _digest(content if document.vector is None else content + packed(document.vector))


def content_digest(
    title: str,
    label: str | None,
    metadata: dict[str, Value],
    ranks: list[int],
    digests: Sequence[bytes],
    vector: bytes,
    salt: bytes,
    *,
    title_counts: bool,
) -> bytes:
    """Return a digest of a document: of what is stored of it, and of `ranks` and text `digests` of its parts.

    `salt` identifies the settings that determine its words; `vector` is empty if it has none.
    """
    content = _content(title, label, metadata, ranks, digests, title_counts=title_counts)
    return _digest(b"".join((salt, content, vector)))


def _content(
    title: str,
    label: str | None,
    metadata: dict[str, Value],
    ranks: list[int],
    digests: Sequence[bytes],
    *,
    title_counts: bool,
) -> bytes:
    content: list[object] = [title, label, metadata, ranks]
    if not title_counts and title.strip():
        content.append(False)
    return b"".join((_encode(content).encode(), *digests))


def restored(found: "StoredDocument") -> Document:
    """Return the document of a stored one."""
    titled = any(part.rank == TITLE for part in found.parts)
    parts = tuple(Part(part.text, part.rank) for part in found.parts if part.rank != TITLE)
    counts = titled or not found.title.strip()
    # A damaged vector may have any number of bytes: the digest then differs.
    vector = found.vector and np.frombuffer(found.vector[: len(found.vector) // 4 * 4], "<f4").tolist()
    return Document(found.key, found.title, parts, found.label, found.metadata, counts, vector)


def text_digests(texts: Iterable[str]) -> list[bytes]:
    """Return the digests of parts' texts."""
    # Not by a function for one: a call takes a tenth of the time of a digest.
    return [blake2b(text.encode(), digest_size=16).digest() for text in texts]


def field_values(label: str | None, metadata: Metadata) -> set[tuple[str, str]]:
    """Return the filter fields (name, value) of a document: its label, and the values of its metadata."""
    fields = (*((("label", label),) if label is not None else ()), *flattened(metadata))
    return {(name, filter_value(value)) for name, value in fields}


def vector_fault(document: Document, dim: int) -> str | None:
    """Return what is wrong with the vector of a document, None if nothing is, or if it has none.

    `dim` is the number of dimensions of the collection's vectors, 0 if there are none yet.
    """
    if document.vector is None:
        return None
    vector = np.frombuffer(packed(document.vector), "<f4")
    fault = numbers_fault(vector)
    if fault is None and dim and len(vector) != dim:
        fault = (
            f"has {len(vector):,} numbers, those of the collection have {dim:,}: all need the same "
            "(vectors of another encoder: index all documents without vectors first)"
        )
    return fault and f"the vector of document {document.key!r} {fault}"


def check_document(document: Document) -> None:
    """Raise UsageError for a document that cannot be stored; the message names its key. A counted one was checked.

    That is one with an empty or a long key, a rank out of range, a NUL character or a lone surrogate in a text, or
    metadata that JSON cannot hold, or with a long name.
    """
    if form_of(document):
        return
    texts: Sequence[str] = ()
    if not document.is_checked:
        if not document.key:
            raise UsageError("a document needs a key that is not empty")
        if fault := key_fault(document.key):
            raise UsageError(f"document '{document.key[:40]}...': {fault}")
        check_ranks(document)
        texts = texts_of_document(document)
    fault = metadata_fault(document.metadata)
    if fault:
        raise UsageError(f"document {document.key!r} has metadata that cannot be stored: {fault}")
    fault = text_fault(texts, document.metadata) or name_fault(document.metadata)
    if fault:
        raise UsageError(f"document {document.key!r} {fault}")


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()
