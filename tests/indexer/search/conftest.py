"""Collections that several test files search without changing them."""

from collections.abc import Iterator
from typing import Any

import pytest

from moverank import Collection, Document
from tests.indexer.world import CollectionFactory, Twin, document, random_documents, snapshot_above


def _documents() -> list[Document]:
    """Return sixty threads of two posts, three red documents far from any `ant`, and one without a bag."""
    first, second = random_documents(60, seed=2), random_documents(60, seed=3, words=3)
    threads = [
        document(
            one.key,
            one.parts[0].text,
            two.parts[0].text,
            label="blue" if i % 2 else "green",
            metadata={"year": 1990 + i % 10, "open": i % 3 == 0, "tags": ["all", f"t{i % 4}"], "half": i / 2},
        )
        for i, (one, two) in enumerate(zip(first, second, strict=True))
    ]
    red = [document(f"far{i}", "lark lark lark", label="red") for i in range(3)]
    return [*threads, *red, document("none", "zorp")]


class Searchable:
    """Collections of the same documents, one for each choice of settings: partly in a snapshot, partly in the tail.

    The snapshot also contains documents that have been removed or changed since.
    """

    def __init__(self, factory: CollectionFactory) -> None:
        self._factory = factory
        self._opened: dict[str, tuple[Collection, Twin]] = {}

    def of(self, **choices: Any) -> tuple[Collection, Twin]:
        """Return the collection with settings changed by name, and its twin."""
        name = repr(sorted(choices.items()))
        if name not in self._opened:
            self._opened[name] = self._filled(**choices), Twin.of(_documents(), choices.get("weights", "tf"))
        return self._opened[name]

    def flat(self, **choices: Any) -> tuple[Collection, Twin]:
        """Return a collection whose first stage is an exact index."""
        return self.of(**({"faiss": "IDMap2,Flat", "gamma": 0.0} | choices))

    def _filled(self, **choices: Any) -> Collection:
        collection = self._factory.empty(**choices)
        removed = [document(f"gone{i}", "ant bee") for i in range(9)]
        with pytest.MonkeyPatch.context() as patch:
            snapshot_above(patch, 0)
            collection.index([*_documents()[:50], *removed, document("d7", "ant bee cat")])
        collection.remove([one.key for one in removed])
        collection.index(_documents())
        return collection

    def close(self) -> None:
        """Close all collections."""
        for collection, _ in self._opened.values():
            collection.close()


@pytest.fixture(scope="session")
def searchable(factory: CollectionFactory) -> Iterator[Searchable]:
    collections = Searchable(factory)
    yield collections
    collections.close()
