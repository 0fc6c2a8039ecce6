"""The collection behind an adapter: one call at a time, from any thread."""

import os
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import Any, Protocol, runtime_checkable

from moverank.rerank.errors import NoKnownWords, OptionError
from moverank.rerank.plugins.adapters.ranker import EngineScores, LoadedOnce, Placed, finite_scores, places_of
from moverank.rerank.ranking import Hit, Ranking


@runtime_checkable
class CollectionLike(Protocol):
    """The part of `moverank.Collection` that adapters use."""

    def search(self, query: Any, options: Any = None, **fields: Any) -> Ranking:
        """Return the nearest documents; raise NoKnownWords."""
        ...

    def search_many(self, queries: Iterable[Any], options: Any = None, **fields: Any) -> Iterator[Ranking]:
        """Return the nearest documents of each query; none of a query without known words."""
        ...

    def rerank_many(
        self,
        queries: Iterable[Any],
        keys: Iterable[Sequence[str]],
        k: int | None = None,
        scores: Iterable[EngineScores | None] = ...,
        rank: str | None = None,
    ) -> Iterator[Ranking]:
        """Return the documents `keys` of each query, best first, of which the first `k` are exact."""
        ...

    def get(self, key: str) -> Any:
        """Return a stored document, with `parts` that have a `text`; None if there is none."""
        ...


GivenCollection = CollectionLike | str | os.PathLike[str]
"""An open collection, or the directory of one."""


class HeldCollection:
    """The documents of a collection, one call at a time; `given` is open, or a directory opened on first use.

    Raises OptionError for an object of any other type.
    """

    def __init__(self, given: GivenCollection) -> None:
        if not isinstance(given, str | os.PathLike | CollectionLike):
            raise OptionError(f"the collection must be a moverank.Collection or the path of one, not {given!r}")
        self.given = given
        self._collection = LoadedOnce[CollectionLike](given, _open)
        self._lock = Lock()

    def open(self) -> "HeldCollection":
        """Open the collection now; raises the errors of `Collection.open`."""
        self._collection.get()
        return self

    def search(self, query: str, **options: Any) -> tuple[Hit, ...]:
        """Return the hits of `Collection.search`, none for a query without known words."""
        with self._lock:
            try:
                return self._collection.get().search(query, **options).hits
            except NoKnownWords:
                return ()

    def search_many(self, queries: Iterable[str], **options: Any) -> list[Ranking]:
        """See `Collection.search_many`."""
        with self._lock:
            return list(self._collection.get().search_many(queries, **options))

    def places_of_many(
        self,
        queries: Sequence[str],
        keys: Sequence[Sequence[str]],
        k: int | None,
        scores: Sequence[EngineScores | None],
        rank: str | None = None,
    ) -> list[list[Placed]]:
        """Return the places of the documents `keys` of each query; see `Collection.rerank_many`."""
        given = [finite_scores(each) for each in scores]
        with self._lock:
            found = self._collection.get().rerank_many(queries, keys, k, given, rank)
            return [places_of(ranking) for ranking in found]

    def text(self, key: str) -> str:
        """Return the text of a document, its parts separated by empty lines."""
        with self._lock:
            document = self._collection.get().get(key)
        return "" if document is None else "\n\n".join(part.text for part in document.parts)

    def __getstate__(self) -> dict[str, Any]:
        # An open collection cannot be pickled: another process opens its directory.
        return {"given": getattr(self.given, "path", self.given)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # the lock and the open collection are new


def _open(path: str) -> CollectionLike:
    from moverank import Collection  # adapters are clients of the public face, which is loaded on first use

    return Collection.open(path)
