"""Changes of a collection in shards: each document goes to the shard that its key belongs to."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from moverank.indexer.documents import Changes, Document, Rejection
from moverank.indexer.errors import PruneRefused, RecordError, UnknownKey, UsageError
from moverank.indexer.indexing.removal import check_selection, no_source
from moverank.indexer.options import Progress, Where
from moverank.indexer.shards.cluster_file import shard_of
from moverank.indexer.shards.coordinator import Coordinator, fields_of
from moverank.indexer.shards.feed import FeedResult
from moverank.indexer.shards.messages import Call
from moverank.rerank.runtime.parallel import batches

_BATCH = 256  # documents sent to a shard at a time


class Changer:
    """Changes the shards `names` through their `coordinator`; each waits at most `wait` seconds for another writer."""

    def __init__(self, coordinator: Coordinator, names: Sequence[str], wait: float) -> None:
        self._coordinator, self._names, self._wait = coordinator, tuple(names), wait

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
        name, strict = uuid4().hex, bool(options.get("strict"))
        faults = list[Rejection]()
        self._coordinator.states()  # waits for shards whose process has just ended
        try:
            self._all("begin_feed", name, options, listed=changed is not None, wait=self._wait)
            for batch in batches(records, _BATCH * len(self._names)):
                calls, bad = self._by_shard(batch, everywhere=bool(options.get("prune")))
                for fault in bad:
                    _reject(fault, rejected, strict=strict)
                faults += bad
                self._coordinator.call_all({shard: Call.of("feed", name, some) for shard, some in calls.items()})
        except BaseException:
            self._coordinator.tell(self._names, "abort_feed", name)
            raise
        try:
            results: dict[str, FeedResult] = self._all("end_feed", name)
        except RecordError as error:  # found by one shard while it wrote
            reason = str(error).partition("; nothing was written")[0]
            raise RecordError(f"{reason}; its shard wrote nothing, others did: the run is strict") from error
        return self._numbered(_summed(results, faults, rejected, changed))

    def _numbered(self, changes: Changes) -> Changes:
        """Return changes with the sum of the revisions of all shards, which grows with each change."""
        return replace(changes, revision=sum(state.revision for state in self._coordinator.states().values()))

    def _by_shard(
        self, batch: Sequence[Document | Rejection], *, everywhere: bool
    ) -> tuple[dict[str, list[Document | Rejection]], list[Rejection]]:
        """Return the records for each shard, and the rejected records.

        A rejected record may be any document that a run with pruning must keep: then it goes `everywhere`.
        """
        calls: dict[str, list[Document | Rejection]] = {}
        faults = []
        for record in batch:
            if isinstance(record, Document):
                calls.setdefault(shard_of(record.key, self._names), []).append(record)
                continue
            faults.append(record)
            for shard in self._names if everywhere else ():
                calls.setdefault(shard, []).append(record)
        return calls, faults

    def remove(
        self,
        keys: Sequence[str],
        where: Where | None,
        source: str | None,
        *,
        everything: bool,
        dry_run: bool,
    ) -> Changes:
        """Remove documents; for the errors see `Collection.remove`. Nothing is removed if any key is unknown."""
        if where is None and source is None:
            chosen = self._with_keys(keys)
        else:
            check_selection(keys, where, source)
            chosen = self._selected(where, source)
        count = sum(map(len, chosen.values()))
        if dry_run:
            return Changes(removed=count)
        total = sum(state.documents for state in self._coordinator.states().values())
        if where is not None and count and count == total and not everything:
            raise UsageError(
                f"nothing was removed: all {count:,} documents pass the filter; --yes (in Python everything=True) "
                "confirms that they are to be removed"
            )
        calls = {shard: Call.of("remove", self._wait, own) for shard, own in chosen.items() if own}
        done: dict[str, Changes] = self._coordinator.call_all(calls)
        return self._numbered(Changes(removed=sum(changes.removed for changes in done.values())))

    def _with_keys(self, keys: Sequence[str]) -> dict[str, list[str]]:
        """Return the keys that each shard has; a document that is being moved is in two shards."""
        found: dict[str, list[str]] = self._all("known", list(dict.fromkeys(keys)))
        missing = [key for key in keys if not any(key in own for own in found.values())]
        if missing:
            raise UnknownKey(f"nothing was removed: no document has the key {', '.join(map(repr, missing))}")
        return found

    def _selected(self, where: Where | None, source: str | None) -> dict[str, list[str]]:
        """Return the keys of the documents of each shard that a filter, a source or both choose."""
        fields = fields_of(self._coordinator.states())
        found: dict[str, list[str] | None] = self._all("selected", where, source, fields)
        if all(own is None for own in found.values()):
            raise no_source(source)
        return {shard: own or [] for shard, own in found.items()}

    def balance(self, names: Sequence[str], progress: Progress, *, leaving: str = "") -> int:
        """Move documents to the shards `names` that their keys belong to now, and return how many were moved.

        A document is stored in its new shard before it is removed from its old one. Interrupted moves are completed: a
        copy in the new shard is kept, as it is not older, unless the old shard is `leaving`, which owns its keys.
        """
        strangers: dict[str, dict[str, list[str]]] = {
            shard: self._coordinator.call(shard, "strangers", shard, list(names)) for shard in self._names
        }
        total = sum(len(keys) for own in strangers.values() for keys in own.values())
        moved = 0
        for shard, targets in strangers.items():
            for target, keys in targets.items():
                for some in batches(keys, _BATCH):
                    self._move(shard, target, some, newer=shard == leaving)
                    moved += len(some)
                    progress("Moving", moved, total, "documents")
        return total

    def _move(self, shard: str, target: str, keys: list[str], *, newer: bool) -> None:
        """Move documents; `newer`: replace those that the target has."""
        there = set() if newer else set(self._coordinator.call(target, "known", keys))
        name, missing = uuid4().hex, [key for key in keys if key not in there]
        if missing:
            documents = self._coordinator.call(shard, "documents", missing)
            options: dict[str, Any] = {"upkeep": False, "strict": True}
            try:
                self._coordinator.call(target, "begin_feed", name, options, listed=False, wait=self._wait)
                self._coordinator.call(target, "feed", name, documents)
                self._coordinator.call(target, "end_feed", name)
            except BaseException:
                self._coordinator.tell((target,), "abort_feed", name)
                raise
        self._coordinator.call(shard, "remove", self._wait, keys, upkeep=False)

    def _all(self, method: str, *arguments: Any, **named: Any) -> dict[str, Any]:
        return self._coordinator.call_all(dict.fromkeys(self._names, Call(method, arguments, named)))


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
    total, known = Counter(rejected=len(faults)), set(map(str, faults))
    for result in results.values():
        own = [record for record in result.rejected if str(record) not in known]
        for record in own:
            rejected(record)
        for kind, key in result.changed:
            if changed:
                changed(kind, key)
        names = ("added", "updated", "removed", "unchanged", "wordless", "kept")
        total.update({name: getattr(result.changes, name) for name in names})
        total["rejected"] += len(own)
    refused = [f"{shard}: {result.refusal}" for shard, result in results.items() if result.refusal]
    if refused:
        raise PruneRefused("; ".join(refused), Changes(**total))
    return Changes(**total)
