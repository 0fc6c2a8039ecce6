"""Indexes a stream of random documents in many transactions, in a process that may be killed.

Usage: python -m tests.indexer.plugins.watching.stream PLACE SEED; it prints the key of each document that it adds.
"""

import sys
from functools import partial

from moverank import Collection, Document
from moverank.indexer.indexing import sync
from tests.indexer.world import random_documents

DOCUMENTS = 240


def documents(seed: int) -> list[Document]:
    """Return the documents of a stream, whose keys end with its seed."""
    return [
        Document(f"{one.key}-{seed}", parts=one.parts, label="red" if number % 2 else None)
        for number, one in enumerate(random_documents(DOCUMENTS, seed=seed, words=3))
    ]


def main() -> None:
    """Index the stream."""
    place, seed = sys.argv[1:]
    sync.BATCH, sync.TRANSACTION = 5, 0.0
    with Collection.open(place, wait=120) as collection:
        added = partial(print, flush=True)
        collection.index(documents(int(seed)), upkeep=False, changed=added)


if __name__ == "__main__":
    main()
