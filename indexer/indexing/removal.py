"""Removes documents from the store."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from moverank.indexer.documents import Changes
from moverank.indexer.errors import UnknownKey
from moverank.indexer.store import Store, Writer

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


def remove_keys(store: Store, keys: Sequence[str]) -> Changes:
    """Remove documents by key; if any is unknown, remove nothing and raise UnknownKey, which names the unknown ones."""
    with store.writing() as writer:
        known = writer.known(list(dict.fromkeys(keys)))
        missing = [key for key in keys if key not in known]
        if missing:
            raise UnknownKey(f"nothing was removed: no document has the key {', '.join(map(repr, missing))}")
        removed = remove(writer, [document.id for document in known.values()])
        return Changes(removed=removed, revision=writer.revision())


def distinct_words(parts: Iterable[Any]) -> set[int]:
    """Return the ids of the distinct words in a document's `parts`."""
    return {word for part in parts for word in np.frombuffer(part.words, "<i4").tolist()}
