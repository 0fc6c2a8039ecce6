"""Changes of a collection in shards: each document goes to the shard that its key belongs to."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from moverank.indexer.collection import Collection
from moverank.indexer.errors import PruneRefused, RecordError
from moverank.indexer.indexing.removal import (
    DocumentsToRemove,
    check_known,
    check_selection,
    check_some_stay,
    no_source,
)
from moverank.indexer.plugins.shards.cluster_file import shard_of
from moverank.indexer.plugins.shards.coordinator import Coordinator
from moverank.indexer.plugins.shards.messages import Call
from moverank.indexer.plugins.shards.shard_contents import FeedResult, documents_of, known, selected, strangers
from moverank.indexer.values.documents import Changes, Document, Rejection
from moverank.indexer.values.search_options import Progress
from moverank.rerank.runtime.parallel import batches

_BATCH = 256  # documents sent to a shard at a time


class Changer:
    """Changes the shards of a `coordinator`."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator, self._names = coordinator, coordinator.shards.names

    def index(
        self,
        records: Iterable[Document | Rejection],
        options: dict[str, Any],
        rejected: Callable[[Rejection], None],
        changed: Callable[[str, str], None] | None,
    ) -> Changes:
        """Index records, with the `options` of `Collection.index`; every shard commits on its own.

        `rejected` and `changed` are called as by `Collection.index`, but `changed` only after all records (None: not at
        all). Raises PruneRefused if a shard refused to prune, and errors of reading the records: then shards keep only
        changes that were committed before.
        """
        name, faults = uuid4().hex, list[Rejection]()
        self._coordinator.states()  # waits for shards whose process has just ended
        try:
            wait = self._coordinator.wait
            self._coordinator.call_each("begin_feed", name, options, listed=changed is not None, wait=wait)
            for batch in batches(records, _BATCH * len(self._names)):
                bad = [record for record in batch if isinstance(record, Rejection)]
                for fault in bad:
                    _reject(fault, rejected, strict=options["strict"])
                faults += bad
                # A rejected record may be any document that a run with pruning must keep.
                own = self._by_shard(batch, bad if options["prune"] else ())
                self._coordinator.call_all({shard: Call.of("feed", name, some) for shard, some in own.items() if some})
        except BaseException:
            self._coordinator.tell(self._names, "abort_feed", name)
            raise
        try:
            results: dict[str, FeedResult] = self._coordinator.call_each("end_feed", name)
        except RecordError as error:  # found by one shard while it wrote
            reason = str(error).partition("; nothing was written")[0]
            raise RecordError(f"{reason}; its shard wrote nothing, others did: the run is strict") from error
        return self._numbered(_summed(results, faults, rejected, changed))

    def _numbered(self, changes: Changes) -> Changes:
        """Return changes with the sum of the revisions of all shards, which grows with each change."""
        return replace(changes, revision=sum(state.revision for state in self._coordinator.states().values()))

    def _by_shard(
        self, batch: Iterable[Document | Rejection], everywhere: Iterable[Rejection]
    ) -> dict[str, list[Document | Rejection]]:
        """Return the documents for each shard, and records that go `everywhere`."""
        records: dict[str, list[Document | Rejection]] = {shard: [*everywhere] for shard in self._names}
        for record in batch:
            if isinstance(record, Document):
                records[shard_of(record.key, self._names)].append(record)
        return records

    def remove(self, selection: DocumentsToRemove, *, dry_run: bool) -> Changes:
        """Remove documents; for the errors see `Collection.remove`. Nothing is removed if any key is unknown."""
        keys, where, source = selection.keys, selection.where, selection.source
        chosen: Mapping[str, Sequence[str] | None]
        if where is None and source is None:
            # A document that is being moved is in two shards.
            chosen = self._coordinator.with_each(known, list(dict.fromkeys(keys)))
            check_known(keys, {key for own in chosen.values() for key in own or ()})
        else:
            check_selection(keys, where, source)
            chosen = self._coordinator.with_each(selected, where, source, self._coordinator.fields())
            if all(own is None for own in chosen.values()):
                raise no_source(source)
        count = sum(len(own or ()) for own in chosen.values())
        if dry_run:
            return Changes(removed=count)
        if where is not None and not selection.everything:
            check_some_stay(count, self._coordinator.documents())
        removal, wait = Collection.remove, self._coordinator.wait
        calls = {shard: Call.of("with_collection", removal, wait, own) for shard, own in chosen.items() if own}
        done: dict[str, Changes] = self._coordinator.call_all(calls)
        return self._numbered(Changes(removed=sum(changes.removed for changes in done.values())))

    def balance(self, names: Sequence[str], progress: Progress, *, leaving: str = "") -> int:
        """Move documents to the shards `names` that their keys belong to now, and return how many were moved.

        A document is stored in its new shard before it is removed from its old one. Interrupted moves are completed: a
        copy in the new shard is kept, as it is not older, unless the old shard is `leaving`, which owns its keys.
        """
        call = self._coordinator.with_collection
        found = {shard: call(shard, strangers, shard, list(names)) for shard in self._names}
        total = sum(len(keys) for own in found.values() for keys in own.values())
        moved = 0
        for shard, targets in found.items():
            for target, keys in targets.items():
                for some in batches(keys, _BATCH):
                    self._move(shard, target, some, newer=shard == leaving)
                    moved += len(some)
                    progress("Moving", moved, total, "documents")
        return total

    def _move(self, shard: str, target: str, keys: list[str], *, newer: bool) -> None:
        """Move documents; `newer`: replace those that the target has."""
        there = set() if newer else set(self._coordinator.with_collection(target, known, keys))
        missing = [key for key in keys if key not in there]
        if missing:
            documents = self._coordinator.with_collection(shard, documents_of, missing)
            self._coordinator.with_collection(target, Collection._take_over, documents)  # noqa: SLF001 - its own call
        self._coordinator.with_collection(shard, Collection.remove, keys, upkeep=False)


def _reject(fault: Rejection, rejected: Callable[[Rejection], None], *, strict: bool) -> None:
    if strict:
        raise RecordError(f"{fault}; nothing was written: the run is strict")
    rejected(fault)


def _summed(
    results: Mapping[str, FeedResult],
    faults: Sequence[Rejection],
    rejected: Callable[[Rejection], None],
    changed: Callable[[str, str], None] | None,
) -> Changes:
    """Return the changes of all shards, with `faults`, the records that were rejected before."""
    total, seen = Counter(rejected=len(faults)), set(map(str, faults))
    for result in results.values():
        own = [record for record in result.rejected if str(record) not in seen]
        for record in own:
            rejected(record)
        for kind, key in result.changed:
            if changed:
                changed(kind, key)
        names = ("added", "updated", "removed", "unchanged", "wordless", "kept", "unread", "events")
        total.update({name: getattr(result.changes, name) for name in names})
        total["rejected"] += len(own)
    refused = [f"{shard}: {result.refusal}" for shard, result in results.items() if result.refusal]
    if refused:
        raise PruneRefused("; ".join(refused), Changes(**total))
    return Changes(**total)
