"""Removes documents from the store."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from moverank.indexer.errors import CollectionError, UnknownKey, UsageError
from moverank.indexer.filters import matching_ids
from moverank.indexer.indexing.ownership import Ownership
from moverank.indexer.indexing.pruning import Protection, unseen_documents
from moverank.indexer.indexing.word_counts import distinct_words
from moverank.indexer.store import Reader, Store, Writer
from moverank.indexer.values.documents import Changes
from moverank.indexer.values.scope import Scope
from moverank.indexer.values.search_options import Where

_BATCH = 2000


def remove_by_ids(writer: Writer, ids: Sequence[int]) -> int:
    """Remove documents by id, and return their number."""
    if not ids:
        return 0
    frequencies: Counter[int] = Counter()
    for start in range(0, len(ids), _BATCH):
        stored = writer.parts(ids[start : start + _BATCH])
        frequencies.subtract(distinct_words(list(stored.values())).frequencies())
    writer.count_words(frequencies)
    writer.remove_documents(ids, writer.next_revision())
    return len(ids)


@dataclass(frozen=True, slots=True)
class DocumentsToRemove:
    """The documents to remove: by their keys, or by a source, a filter, or both.

    `everything` confirms that a filter may select all documents. For the errors see `Collection.remove`.
    """

    keys: Sequence[str] = ()
    where: Where | None = None
    source: str | None = None
    everything: bool = False

    def ids(self, reader: Reader) -> list[int]:
        """Return the ids of the documents."""
        if self.where is None and self.source is None:
            return _with_keys(reader, self.keys)
        check_selection(self.keys, self.where, self.source)
        ids = ids_of(reader, self.where, self.source)
        if ids is None:
            raise no_source(self.source)
        if self.where is not None and not self.everything:
            check_some_stay(len(ids), reader.document_count())
        return ids


def remove_documents(
    store: Store, selection: DocumentsToRemove, follow: Sequence[Callable[[Writer], None]] = ()
) -> Changes:
    """Remove the selected documents; each of `follow` brings derived data up to date in the same transaction."""
    with store.writing() as writer:
        removed = remove_by_ids(writer, selection.ids(writer))
        for one in follow:
            one(writer)
        return Changes(removed=removed, revision=writer.revision())


def count_removals(store: Store, selection: DocumentsToRemove) -> Changes:
    """Return the changes that `remove_documents` would make; needs neither a lock nor write permission."""
    with store.reading() as reader:
        return Changes(removed=len(selection.ids(reader)), revision=reader.revision())


def _with_keys(reader: Reader, keys: Sequence[str]) -> list[int]:
    """Return the ids of documents by their keys; UnknownKey names the keys of no document."""
    known = reader.known(list(dict.fromkeys(keys)))
    check_known(keys, known)
    return [document.id for document in known.values()]


def check_known(keys: Sequence[str], known: Container[str]) -> None:
    """Raise UnknownKey, which names the `keys` that no document has, unless all are `known`."""
    missing = [key for key in keys if key not in known]
    if missing:
        raise UnknownKey(f"nothing was removed: no document has the key {', '.join(map(repr, missing))}")


def check_some_stay(chosen: int, documents: int) -> None:
    """Raise UsageError if a filter has chosen all `documents` of a collection."""
    if chosen and chosen == documents:
        raise UsageError(
            f"nothing was removed: all {chosen:,} documents pass the filter; --yes (in Python everything=True) "
            "confirms that they are to be removed"
        )


def check_unchanged(before: object, now: object) -> None:
    """Raise CollectionError if the state by which documents were chosen is not the current one."""
    if now != before:
        raise CollectionError(
            "nothing was removed: the collection was changed while its documents were compared; try again"
        )


def check_selection(keys: Sequence[str], where: Where | None, source: str | None) -> None:
    """Raise UsageError if there are `keys`, or neither a filter nor a source, or only an empty one."""
    if keys or not (where or source):
        raise UsageError("name the documents to remove either by keys, or by conditions, a source or both")


def ids_of(reader: Reader, where: Where | None, source: str | None, elsewhere: Iterable[str] = ()) -> list[int] | None:
    """Return the ids, increasing, of the documents that pass a filter, come from a source (named as listed), or both.

    None if no document came from the source. Documents in other shards have the fields `elsewhere`.
    """
    chosen = None if where is None else set(matching_ids(reader, where, elsewhere).tolist())
    if source is not None:
        ownership = Ownership(reader, Scope.of_source(source))
        own = set(unseen_documents(reader, ownership, frozenset(), Protection()).removable)
        if not own:
            return None
        chosen = own if chosen is None else chosen & own
    return sorted(chosen or ())


def no_source(source: str | None) -> CollectionError:
    """Return the error of a source that no document came from."""
    return CollectionError(
        f"nothing was removed: no document came from {source!r}; `moverank info --source` lists the sources"
    )
