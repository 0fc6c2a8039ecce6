"""Removes documents from the store."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from moverank.indexer.documents import Changes
from moverank.indexer.errors import UnknownKey, UsageError
from moverank.indexer.filters import matching_ids
from moverank.indexer.options import Where
from moverank.indexer.store import Reader, Store, Writer

_BATCH = 2000


def remove(writer: Writer, ids: Sequence[int]) -> int:
    """Remove documents by id, and return their number."""
    if not ids:
        return 0
    frequencies: Counter[int] = Counter()
    for start in range(0, len(ids), _BATCH):
        for parts in writer.parts(ids[start : start + _BATCH]).values():
            frequencies.subtract(distinct_words(parts))
    writer.count_words(frequencies)
    writer.remove_documents(ids, writer.next_revision())
    return len(ids)


def remove_documents(
    store: Store, keys: Sequence[str], where: Where | None = None, *, everything: bool = False, dry_run: bool = False
) -> Changes:
    """Remove the documents with some keys, or those that pass the filter `where`; see `Collection.remove`."""
    if where is not None and (keys or not where):
        raise UsageError("name the documents to remove either by keys, or by one or more conditions")
    # A dry run needs no lock, and no write permission.
    with store.reading() if dry_run else store.writing() as reader:
        ids = _ids_of(reader, keys) if where is None else matching_ids(reader, where).tolist()
        if where is not None and ids and len(ids) == reader.document_count() and not (everything or dry_run):
            raise UsageError(
                f"nothing was removed: all {len(ids):,} documents pass the filter; --yes (in Python everything=True) "
                "confirms that they are to be removed"
            )
        removed = remove(reader, ids) if isinstance(reader, Writer) else len(ids)
        return Changes(removed=removed, revision=reader.revision())


def _ids_of(reader: Reader, keys: Sequence[str]) -> list[int]:
    """Return the ids of documents by their keys; UnknownKey names those that no document has."""
    known = reader.known(list(dict.fromkeys(keys)))
    missing = [key for key in keys if key not in known]
    if missing:
        raise UnknownKey(f"nothing was removed: no document has the key {', '.join(map(repr, missing))}")
    return [document.id for document in known.values()]


def distinct_words(parts: Iterable[Any]) -> set[int]:
    """Return the ids of the distinct words in a document's `parts`."""
    return {word for part in parts for word in np.frombuffer(part.words, "<i4").tolist()}
