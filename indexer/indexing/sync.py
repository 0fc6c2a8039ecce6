"""Updates the store with the records of a run: one transaction a batch, or one for all if it is strict or prunes."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

from moverank.indexer.errors import PruneRefused, RecordError, UsageError
from moverank.indexer.indexing.ownership import Ownership, Place
from moverank.indexer.indexing.pruning import Protection, unseen_documents
from moverank.indexer.indexing.removal import remove_by_ids
from moverank.indexer.indexing.stored_form import (
    StoredPart,
    check_document,
    contexts,
    document_digest,
    field_values,
    part_digests,
    stored_parts,
    vector_fault,
    write_parts,
)
from moverank.indexer.indexing.word_counts import WordCounter, distinct_words
from moverank.indexer.store import Store, StoredState, Writer
from moverank.indexer.values.arguments import shown
from moverank.indexer.values.documents import Changes, Document, Rejection
from moverank.indexer.values.given_vectors import vector_bytes
from moverank.indexer.values.scope import Scope
from moverank.rerank.bags.bag import TITLE
from moverank.rerank.runtime.parallel import batches

BATCH = 2000

TRANSACTION = 2.0
"""Seconds of work that are committed together: each commit writes pages of all indexes again, and awaits the disk."""

_log = logging.getLogger("moverank")


class _Fresh(NamedTuple):
    """A new or changed document in its stored form; `known` is its previous state, None if it is new."""

    document: Document
    parts: tuple[StoredPart, ...]
    digest: bytes
    known: StoredState | None
    place: Place


def _document_row(new: _Fresh, revision: int, *, wordless: bool) -> dict[str, Any]:
    """Return the row of a document, without its id, as changed by a revision."""
    document = new.document
    return {
        "key": document.key,
        "title": document.title,
        "label": document.label,
        "metadata": dict(document.metadata),
        "digest": new.digest,
        "wordless": wordless,
        "revision": revision,
        "source": new.place.source,
        "file": new.place.file,
    }


def _field_rows(id_: int, new: _Fresh) -> Iterator[dict[str, Any]]:
    """Yield the rows of the filter fields of the document `id_`."""
    values = field_values(new.document.label, new.document.metadata)
    return ({"document_id": id_, "name": name, "value": value} for name, value in sorted(values))


@dataclass(frozen=True, slots=True)
class SyncCallbacks:
    """What is called during a run; the writer's are in its transactions."""

    rejected: Callable[[Rejection], None] = lambda _: None
    """Called with each bad record."""
    changed: Callable[[str, str], None] = lambda _, __: None
    """Called with the change of a document ("added", "updated", "removed") and its key."""
    stored: Callable[[int, str], None] = lambda _, __: None
    """Called with the id and the change, perhaps "unchanged", of each document."""
    begin: Callable[[Writer], None] = lambda _: None
    """Called at the beginning of the first transaction."""
    follow: Sequence[Callable[[Writer], None]] = ()
    """Called at the end of each transaction that changed the collection, but not of a dry run: they bring derived data
    up to date."""


class Sync:
    """One run over the records of one or more sources, which updates `store`.

    `counter` counts words. `salt`, part of every digest, identifies the settings that determine the words of a text.
    `scope`: the sources that it may replace. A `strict` run stops at the first bad record with RecordError, and writes
    nothing.
    """

    def __init__(
        self,
        store: Store,
        counter: WordCounter,
        salt: bytes,
        *,
        scope: Scope,
        strict: bool = False,
        callbacks: SyncCallbacks,
    ) -> None:
        self._store, self._counter, self._salt = store, counter, salt
        self._strict, self._callbacks = strict, callbacks
        self._tally: Counter[str] = Counter()
        self._seen: set[int] = set()
        self._smaller = 0
        self._protection = Protection()
        with store.reading() as reader:
            self._ownership, self._dim = Ownership(reader, scope), reader.vector_dim()

    def run(
        self,
        records: Iterable[Document | Rejection],
        *,
        prune: bool = False,
        confirmed: bool = False,
        dry_run: bool = False,
    ) -> Changes:
        """Write new and changed documents; with `prune`, remove documents of its scope that `records` lack.

        Raises PruneRefused, and changes nothing, if that would remove more than half of them, unless it is `confirmed`.
        A `dry_run` undoes everything at its end.
        """
        with self._whole_run(prune=prune, dry_run=dry_run) as whole:
            with self._transaction(whole) as writer:
                self._callbacks.begin(writer)
                if self._ownership.rename(writer, dry_run=dry_run):
                    writer.next_revision()
            batches = _batches(self._accepted(records))
            began = perf_counter()
            while batch := next(batches, None):
                # Batches that take long to read are committed one by one: nothing waits for a slow stream.
                self._write_some(whole, batch, batches, began + TRANSACTION)
                began = perf_counter()
            if prune:
                with self._transaction(whole) as writer:
                    self._prune(writer, confirmed=confirmed, dry_run=dry_run)
        if self._smaller:
            _log.warning(
                "%s as stored, since a rejected record may hold posts of %s: mend what was rejected, and index again",
                "1 thread stays" if self._smaller == 1 else f"{self._smaller:,} threads stay",
                "it" if self._smaller == 1 else "them",
            )
        return Changes(**self._tally, revision=self._store.revision())

    def _write_some(
        self, whole: Writer | None, batch: list[Document] | None, batches: Iterator[list[Document]], until: float
    ) -> None:
        """Write a batch and the batches that follow it `until` a time, in one transaction.

        If reading a batch fails, the batches before it are committed.
        """
        failure: BaseException | None = None
        with self._transaction(whole) as writer:
            while batch:
                self._write(writer, batch)
                if perf_counter() > until:
                    break
                try:
                    batch = next(batches, None)
                except BaseException as error:  # noqa: BLE001 - raised below
                    failure = error
                    break
            self._counter.store(writer)
        if failure:
            raise failure

    def _prune(self, writer: Writer, *, confirmed: bool, dry_run: bool) -> None:
        """Remove the documents that the run has not seen, and log which of them it keeps."""
        unseen = unseen_documents(writer, self._ownership, self._seen, self._protection)
        removed, kept = len(unseen.removable), unseen.kept.total()
        before = self._tally["unchanged"] + self._tally["updated"] + removed + kept + unseen.protected
        if 2 * removed > before and not confirmed:
            reason = f"{removed:,} of {before:,} documents of these sources would be removed"
            if not dry_run:
                refused = Changes(rejected=self._tally["rejected"], revision=self._store.revision())
                raise PruneRefused(f"nothing was changed: {reason} (--dry-run lists them); --yes removes them", refused)
            _log.warning("%s, so that --prune needs --yes", reason)
        for sentence in unseen.notes():
            _log.warning(sentence)
        self._tally["removed"] += remove_by_ids(writer, list(unseen.removable))
        self._tally["kept"] += kept
        for key in unseen.removable.values():
            self._callbacks.changed("removed", key)

    def _whole_run(self, *, prune: bool, dry_run: bool) -> AbstractContextManager[Writer | None]:
        if dry_run:
            return self._store.trying()
        return self._followed() if self._strict or prune else nullcontext(None)

    def _transaction(self, whole: Writer | None) -> AbstractContextManager[Writer]:
        return nullcontext(whole) if whole else self._followed()

    @contextmanager
    def _followed(self) -> Iterator[Writer]:
        """Open a transaction; before it is committed, derived data follow its changes."""
        with self._store.writing() as writer:
            before = writer.revision()
            yield writer
            if writer.revision() > before:
                for follow in self._callbacks.follow:
                    follow(writer)

    def _accepted(self, records: Iterable[Document | Rejection]) -> Iterator[Document]:
        """Yield the documents, and report rejections."""
        for record in records:
            if isinstance(record, Document):
                check_document(record)
                if record.vector is None or not self._has_bad_vector(record):
                    yield record
                continue
            if not isinstance(record, Rejection):
                raise UsageError(f"records are Documents, not {shown(record)}")
            self._reject(record)

    def _has_bad_vector(self, document: Document) -> bool:
        """Reject a document whose vector cannot be stored; UsageError if the document has no origin.

        The first vector of a collection determines the number of dimensions.
        """
        fault, origin = vector_fault(document, self._dim), document.origin
        if fault and origin is None:
            raise UsageError(fault)
        if fault and origin:
            self._reject(Rejection(origin.source.name_of(origin.file), origin.line, fault, document.key, origin))
        elif document.vector is not None and not self._dim:
            self._dim = len(tuple(document.vector))
        return fault is not None

    def _reject(self, record: Rejection) -> None:
        self._tally["rejected"] += 1
        self._tally["unread"] += record.ends
        if self._strict:
            raise RecordError(f"{record}; nothing was written: the run is strict")
        self._protection.add(record)
        self._callbacks.rejected(record)

    def _write(self, writer: Writer, batch: Sequence[Document]) -> None:
        """Compare one batch with the store, and write the difference."""
        known = writer.known([document.key for document in batch])
        fresh, claimed = [], []
        unchanged: list[StoredState] = []
        kept: list[StoredState] = []
        for document in batch:
            digests, before = part_digests(document), known.get(document.key)
            digest = document_digest(document, digests, self._salt)
            place = self._ownership.place(writer, document, before)
            if before is not None and before.digest == digest:
                unchanged.append(before)
                if place != (before.source, before.file):
                    claimed.append({"id": before.id, **place._asdict()})
            elif refusal := self._ownership.refusal(document, before):
                self._reject(refusal)
            elif before is not None and self._lacks_posts(writer, document, before):
                kept.append(before)
            else:
                fresh.append(_Fresh(document, stored_parts(document, digests), digest, before, place))
        writer.set_origins(claimed)
        self._seen.update([before.id for before in (*unchanged, *kept)])
        self._tally["kept"] += len(kept)
        self._smaller += len(kept)
        for before in unchanged:
            self._callbacks.stored(before.id, "unchanged")
        tally = Counter({"unchanged": len(unchanged), "wordless": sum(before.wordless for before in unchanged)})
        if fresh:
            self._write_fresh(writer, fresh, writer.next_revision(), tally)
        self._tally += tally

    def _lacks_posts(self, writer: Writer, document: Document, before: StoredState) -> bool:
        """Return whether a document has no more posts than stored, and rejected records may hold some of its posts."""
        if not self._protection.may_lack_posts(document):
            return False
        stored = writer.parts([before.id]).get(before.id, [])
        return len(document.parts) <= sum(part.rank != TITLE for part in stored)

    def _write_fresh(self, writer: Writer, fresh: Sequence[_Fresh], revision: int, tally: Counter[str]) -> None:
        """Insert or overwrite documents, and update the document frequencies of their words."""
        updated = [new.known.id for new in fresh if new.known]
        old = writer.parts(updated)
        counted = self._count(writer, fresh, old)
        words = distinct_words(counted)
        rankable = words.with_any(self._counter.known(writer, words.ids))
        rows = []
        for row, new in enumerate(fresh):
            rows.append(_document_row(new, revision, wordless=row not in rankable))
            change = "updated" if new.known else "added"
            tally[change] += 1
            tally["wordless"] += rows[-1]["wordless"]
            self._callbacks.changed(change, new.document.key)
        added = iter(writer.add_documents([row for new, row in zip(fresh, rows, strict=True) if not new.known]))
        changed = [row | {"id": new.known.id} for new, row in zip(fresh, rows, strict=True) if new.known]
        writer.update_documents(changed)
        ids = [new.known.id if new.known else next(added) for new in fresh]
        self._seen.update(ids)
        for id_, new in zip(ids, fresh, strict=True):
            self._callbacks.stored(id_, "updated" if new.known else "added")
        write_parts(writer, ids, [new.parts for new in fresh], counted, old)
        writer.replace_fields(
            updated, [row for id_, new in zip(ids, fresh, strict=True) for row in _field_rows(id_, new)]
        )
        pairs = [(id_, new.document.vector) for id_, new in zip(ids, fresh, strict=True)]
        vectors = [{"document_id": id_, "vector": vector_bytes(own)} for id_, own in pairs if own is not None]
        writer.replace_vectors(updated, vectors)
        self._counter.add_documents(words.ids)
        self._counter.add_documents(distinct_words([old.get(id_, []) for id_ in updated]).ids, -1)

    def _count(self, writer: Writer, fresh: Sequence[_Fresh], old: dict[int, list[Any]]) -> list[list[Any]]:
        """Return the counts of every part; a text that the document had before keeps its counts."""
        counted: list[list[Any]] = []
        missing: list[tuple[int, int]] = []
        for new in fresh:
            stored = old.get(new.known.id, []) if new.known else []
            before = dict(zip(contexts(stored), stored, strict=True))
            counted.append(
                [before.get(context) for context in contexts(new.parts)] if stored else [None] * len(new.parts)
            )
            missing += [(len(counted) - 1, i) for i, counts in enumerate(counted[-1]) if counts is None]
        texts = [fresh[row].parts[i].counted for row, i in missing]
        for (row, i), counts in zip(missing, self._counter.count(writer, texts), strict=True):
            counted[row][i] = counts
        return counted


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Split the stream into batches without repeated keys: the last document with a key is kept."""
    for batch in batches(documents, BATCH):
        yield list({document.key: document for document in batch}.values())
