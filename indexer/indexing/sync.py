"""Bringing the store up to date with what the readers deliver, batch by batch, one transaction each."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from moverank.indexer.documents import Changes, Document, Metadata, Part, Rejection
from moverank.indexer.errors import RecordError, UsageError
from moverank.indexer.indexing.word_counts import Counts, WordCounter
from moverank.indexer.store import Known, Store, StoredDocument, Writer

BATCH = 2000


class _Fresh(NamedTuple):
    """A document that is new or changed, what it was before, and the stored parts that it had."""

    document: Document
    digest: bytes
    part_digests: tuple[bytes, ...]
    known: Known | None


class Sync:
    """One run over the records of one or more sources.

    `salt` joins every digest: the settings that decide which words a text has. `rejected` is told of each bad record; a
    `strict` run stops at the first, with RecordError, and has written nothing.
    """

    def __init__(
        self,
        store: Store,
        counter: WordCounter,
        salt: bytes,
        *,
        strict: bool = False,
        rejected: Callable[[Rejection], None] = lambda _: None,
    ) -> None:
        self._store, self._counter, self._salt = store, counter, salt
        self._strict, self._rejected = strict, rejected
        self._tally: Counter[str] = Counter()
        self._seen: set[int] = set()

    def run(self, records: Iterable[Document | Rejection], *, prune: bool = False) -> Changes:
        """Write what is new or changed; with `prune`, remove every document that the records do not name.

        Nothing is pruned when a record was rejected, for it may be the one that a document came from, nor when there
        was no document at all: `refused` says so.
        """
        with self._whole_run() as whole:
            for batch in _batches(self._accepted(records)):
                with self._transaction(whole) as writer:
                    self._write(writer, batch)
            if prune and self.refused is None:
                with self._transaction(whole) as writer:
                    self._tally["removed"] += remove(writer, [id_ for id_ in writer.ids() if id_ not in self._seen])
        return self.changes()

    @property
    def refused(self) -> str | None:
        """Return why nothing may be pruned, None where it may."""
        rejected = self._tally["rejected"]
        if rejected:
            counted = "1 record was" if rejected == 1 else f"{rejected:,} records were"
            return (
                f"nothing was pruned: {counted} rejected, and a document may have come from there; mend and run again"
            )
        if not self._seen:
            return "nothing was pruned: the sources hold no document, and the collection would be emptied"
        return None

    def changes(self) -> Changes:
        """Return what was committed so far."""
        with self._store.reading() as reader:
            return Changes(**self._tally, revision=reader.revision())

    def _whole_run(self) -> AbstractContextManager[Writer | None]:
        return self._store.writing() if self._strict else nullcontext(None)

    def _transaction(self, whole: Writer | None) -> AbstractContextManager[Writer]:
        return nullcontext(whole) if whole else self._store.writing()

    def _accepted(self, records: Iterable[Document | Rejection]) -> Iterator[Document]:
        """Let documents through, and tell of the rest."""
        for record in records:
            if isinstance(record, Document):
                _check(record)
                yield record
                continue
            self._tally["rejected"] += 1
            if self._strict:
                raise RecordError(f"{record}; nothing was written: the run is strict")
            self._rejected(record)

    def _write(self, writer: Writer, batch: Sequence[Document]) -> None:
        """Compare one batch with the store, and write the difference."""
        tally: Counter[str] = Counter()
        known = writer.known([document.key for document in batch])
        fresh = []
        for document in batch:
            part_digests = tuple(text_digest(part.text) for part in document.parts)
            before = known.get(document.key)
            new = _Fresh(document, _document_digest(document, part_digests, self._salt), part_digests, before)
            if before is not None and before.digest == new.digest:
                self._seen.add(before.id)
                tally.update(unchanged=1, wordless=before.wordless)
            else:
                fresh.append(new)
        if fresh:
            self._write_fresh(writer, fresh, writer.next_revision(), tally)
        self._tally += tally

    def _write_fresh(self, writer: Writer, fresh: Sequence[_Fresh], revision: int, tally: Counter[str]) -> None:
        """Insert or overwrite documents, and count the documents of each word anew."""
        old = writer.parts([new.known.id for new in fresh if new.known])
        counted = self._count(writer, fresh, old)
        frequencies: Counter[int] = Counter()
        rows = []
        for new, parts in zip(fresh, counted, strict=True):
            words = _distinct(parts)
            frequencies.update(words)
            if new.known:
                frequencies.subtract(_distinct(old.get(new.known.id, [])))
            rows.append(_document_row(new, revision, wordless=not self._counter.any_known(writer, words)))
            tally.update(updated=new.known is not None, added=new.known is None, wordless=rows[-1]["wordless"])
        added = iter(writer.add_documents([row for new, row in zip(fresh, rows, strict=True) if not new.known]))
        writer.update_documents([row | {"id": new.known.id} for new, row in zip(fresh, rows, strict=True) if new.known])
        ids = [new.known.id if new.known else next(added) for new in fresh]
        self._seen.update(ids)
        _write_parts(writer, ids, fresh, counted, old)
        updated = [new.known.id for new in fresh if new.known]
        writer.replace_fields(updated, [row for id_, new in zip(ids, fresh, strict=True) for row in _fields(id_, new)])
        writer.count_words(frequencies)

    def _count(self, writer: Writer, fresh: Sequence[_Fresh], old: dict[int, list[Any]]) -> list[list[Any]]:
        """Return the counts of every part; a text that was stored before keeps the counts that it had."""
        counted: list[list[Any]] = []
        missing: list[tuple[int, int]] = []
        for new in fresh:
            before = {part.digest: part for part in old.get(new.known.id, [])} if new.known else {}
            counted.append([before.get(digest) for digest in new.part_digests])
            missing += [(len(counted) - 1, i) for i, counts in enumerate(counted[-1]) if counts is None]
        texts = [fresh[row].document.parts[i].text for row, i in missing]
        for (row, i), counts in zip(missing, self._counter.count(writer, texts), strict=True):
            counted[row][i] = counts
        return counted


def _check(document: Document) -> None:
    """Refuse a document that no reader would deliver, with UsageError."""
    texts = [document.key, document.title, document.label or "", *(part.text for part in document.parts)]
    if not document.key:
        raise UsageError("a document needs a key that is not empty")
    if any(not text.isascii() and _surrogate(text) for text in texts):
        raise UsageError(f"document {document.key!r} has half a character (a lone surrogate), which no text can hold")
    if any(not 0 <= part.rank < 2**31 for part in document.parts):
        raise UsageError(f"document {document.key!r} has a rank that is not within 0 and 2^31 - 1")


def _surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def remove(writer: Writer, ids: Sequence[int]) -> int:
    """Remove documents by id, and return how many."""
    if not ids:
        return 0
    frequencies: Counter[int] = Counter()
    for start in range(0, len(ids), BATCH):
        for parts in writer.parts(ids[start : start + BATCH]).values():
            frequencies.subtract(_distinct(parts))
    writer.count_words(frequencies)
    writer.remove_documents(ids, writer.next_revision())
    return len(ids)


def _write_parts(
    writer: Writer, ids: Sequence[int], fresh: Sequence[_Fresh], counted: Sequence[list[Any]], old: dict[int, list[Any]]
) -> None:
    """Write the parts of documents; where the texts are the same, only the ranks that changed."""
    ranks: list[dict[str, Any]] = []
    dropped: list[int] = []
    added: list[dict[str, Any]] = []
    for id_, new, counts in zip(ids, fresh, counted, strict=True):
        before = old.get(id_, [])
        if before and tuple(part.digest for part in before) == new.part_digests:
            pairs = zip(before, new.document.parts, strict=True)
            ranks += [{"id": was.id, "rank": now.rank} for was, now in pairs if was.rank != now.rank]
            continue
        dropped += [id_] if before else []
        added += _part_rows(id_, new, counts)
    writer.update_ranks(ranks)
    writer.drop_parts(dropped)
    writer.add_parts(added)


def _part_rows(id_: int, new: _Fresh, counted: Sequence[Counts]) -> Iterator[dict[str, Any]]:
    parts = zip(new.document.parts, new.part_digests, counted, strict=True)
    for position, (part, digest, counts) in enumerate(parts):
        yield {
            "document_id": id_,
            "position": position,
            "rank": part.rank,
            "text": part.text,
            "digest": digest,
            "words": counts.words,
            "counts": counts.counts,
        }


def stored_digest(found: StoredDocument, salt: bytes) -> bytes:
    """Return the digest that a stored document should have, by what is stored of it."""
    parts = tuple(Part(part.text, part.rank) for part in found.parts)
    document = Document(found.key, found.title, parts, found.label, found.metadata)
    return _document_digest(document, tuple(part.digest for part in found.parts), salt)


def text_digest(text: str) -> bytes:
    """Return the digest of a part's text."""
    return _digest(text.encode())


def _document_row(new: _Fresh, revision: int, *, wordless: bool) -> dict[str, Any]:
    document = new.document
    return {
        "key": document.key,
        "title": document.title,
        "label": document.label,
        "metadata": dict(document.metadata),
        "digest": new.digest,
        "wordless": wordless,
        "revision": revision,
    }


def field_values(label: str | None, metadata: Metadata) -> set[tuple[str, str]]:
    """Return the values that a document can be found by: text as it is, anything else as JSON writes it."""
    values = {("label", label)} if label is not None else set()
    for name, value in metadata.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                values.add((name, item if isinstance(item, str) else json.dumps(item)))
    return values


def _fields(id_: int, new: _Fresh) -> Iterator[dict[str, Any]]:
    values = field_values(new.document.label, new.document.metadata)
    return ({"document_id": id_, "name": name, "value": value} for name, value in sorted(values))


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Cut the stream into batches, none with a key twice: the later document of a key is the one that counts."""
    iterator = iter(documents)
    while batch := list(islice(iterator, BATCH)):
        yield list({document.key: document for document in batch}.values())


def _distinct(parts: Iterable[Any]) -> set[int]:
    """Return the ids of all words of a document's parts."""
    return {word for part in parts for word in np.frombuffer(part.words, "<i4").tolist()}


def _document_digest(document: Document, part_digests: Sequence[bytes], salt: bytes) -> bytes:
    """Return a digest of all that a document holds, and of how its words are read."""
    shown = [document.title, document.label, dict(document.metadata), [part.rank for part in document.parts]]
    return _digest(salt + json.dumps(shown, sort_keys=True).encode() + b"".join(part_digests))


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()
