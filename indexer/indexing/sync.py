"""Updates the store with the records of a run, in batches: one transaction each, or one for all in a strict run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any, NamedTuple

from moverank.indexer.documents import Changes, Document, Rejection
from moverank.indexer.errors import RecordError
from moverank.indexer.indexing.removal import distinct_words, remove
from moverank.indexer.indexing.stored_form import (
    StoredPart,
    check_document,
    document_digest,
    field_values,
    stored_parts,
)
from moverank.indexer.indexing.word_counts import WordCounter
from moverank.indexer.store import Store, StoredState, Writer
from moverank.rerank.bags.weights import TITLE

BATCH = 2000


class _Fresh(NamedTuple):
    """A new or changed document in its stored form; `known` is its previous state, None if it is new."""

    document: Document
    parts: tuple[StoredPart, ...]
    digest: bytes
    known: StoredState | None


class Sync:
    """One run over the records of one or more sources, which updates `store`.

    `counter` counts words. `salt`, part of every digest, identifies the settings that determine the words of a text.
    `rejected` is called with each bad record; a `strict` run stops at the first with RecordError, and writes nothing.
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
        """Write new and changed documents; with `prune`, remove every document that the `records` do not contain.

        Nothing is pruned if a record was rejected, since it may be a stored document, or if there was no document:
        `refused` gives the reason.
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
        """Return why nothing may be pruned after this run; None if pruning is safe."""
        rejected = self._tally["rejected"]
        if rejected:
            counted = "1 record was" if rejected == 1 else f"{rejected:,} records were"
            return f"nothing was pruned: {counted} rejected, and a document may have come from there; fix and run again"
        if not self._seen:
            return "nothing was pruned: the sources hold no document, and the collection would be emptied"
        return None

    def changes(self) -> Changes:
        """Return the changes committed so far."""
        with self._store.reading() as reader:
            return Changes(**self._tally, revision=reader.revision())

    def _whole_run(self) -> AbstractContextManager[Writer | None]:
        return self._store.writing() if self._strict else nullcontext(None)

    def _transaction(self, whole: Writer | None) -> AbstractContextManager[Writer]:
        return nullcontext(whole) if whole else self._store.writing()

    def _accepted(self, records: Iterable[Document | Rejection]) -> Iterator[Document]:
        """Yield the documents, and report rejections."""
        for record in records:
            if isinstance(record, Document):
                check_document(record)
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
            parts, before = stored_parts(document), known.get(document.key)
            new = _Fresh(document, parts, document_digest(document, parts, self._salt), before)
            if before is not None and before.digest == new.digest:
                self._seen.add(before.id)
                tally.update(unchanged=1, wordless=before.wordless)
            else:
                fresh.append(new)
        if fresh:
            self._write_fresh(writer, fresh, writer.next_revision(), tally)
        self._tally += tally

    def _write_fresh(self, writer: Writer, fresh: Sequence[_Fresh], revision: int, tally: Counter[str]) -> None:
        """Insert or overwrite documents, and update the document frequencies of their words."""
        old = writer.parts([new.known.id for new in fresh if new.known])
        counted = self._count(writer, fresh, old)
        frequencies: Counter[int] = Counter()
        rows = []
        for new, parts in zip(fresh, counted, strict=True):
            words = distinct_words(parts)
            frequencies.update(words)
            if new.known:
                frequencies.subtract(distinct_words(old.get(new.known.id, [])))
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
        """Return the counts of every part; a text that the document had before keeps its counts."""
        counted: list[list[Any]] = []
        missing: list[tuple[int, int]] = []
        for new in fresh:
            stored = old.get(new.known.id, []) if new.known else []
            before = dict(zip(_contexts(stored), stored, strict=True))
            counted.append([before.get(context) for context in _contexts(new.parts)])
            missing += [(len(counted) - 1, i) for i, counts in enumerate(counted[-1]) if counts is None]
        texts = [fresh[row].parts[i].counted for row, i in missing]
        for (row, i), counts in zip(missing, self._counter.count(writer, texts), strict=True):
            counted[row][i] = counts
        return counted


def _contexts(parts: Sequence[Any]) -> list[tuple[bytes, bytes | None]]:
    """Return what the counts of each part depend on: its text, and for a first part of rank 0 the title."""
    title = next((part.digest for part in parts if part.rank == TITLE), None)
    return [(part.digest, title if part.position == part.rank == 0 else None) for part in parts]


def _write_parts(
    writer: Writer, ids: Sequence[int], fresh: Sequence[_Fresh], counted: Sequence[list[Any]], old: dict[int, list[Any]]
) -> None:
    """Write the parts of documents; if the texts are the same, only the ranks that changed."""
    ranks: list[dict[str, Any]] = []
    dropped: list[int] = []
    added: list[dict[str, Any]] = []
    for id_, new, counts in zip(ids, fresh, counted, strict=True):
        before = old.get(id_, [])
        if before and _texts(before) == _texts(new.parts):
            pairs = zip(before, new.parts, strict=True)
            ranks += [{"id": was.id, "rank": now.rank} for was, now in pairs if was.rank != now.rank]
            continue
        dropped += [id_] if before else []
        added += _part_rows(id_, new, counts)
    writer.update_ranks(ranks)
    writer.drop_parts(dropped)
    writer.add_parts(added)


def _texts(parts: Sequence[Any]) -> list[tuple[int, bytes]]:
    return [(part.position, part.digest) for part in parts]


def _part_rows(id_: int, new: _Fresh, counted: Sequence[Any]) -> Iterator[dict[str, Any]]:
    for part, counts in zip(new.parts, counted, strict=True):
        yield {
            "document_id": id_,
            "position": part.position,
            "rank": part.rank,
            "text": part.text,
            "digest": part.digest,
            "words": counts.words,
            "counts": counts.counts,
        }


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


def _fields(id_: int, new: _Fresh) -> Iterator[dict[str, Any]]:
    values = field_values(new.document.label, new.document.metadata)
    return ({"document_id": id_, "name": name, "value": value} for name, value in sorted(values))


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Split the stream into batches without repeated keys: the last document with a key is kept."""
    iterator = iter(documents)
    while batch := list(islice(iterator, BATCH)):
        yield list({document.key: document for document in batch}.values())
