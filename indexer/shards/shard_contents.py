"""The documents of one shard, which other processes add, remove and read."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from moverank.indexer.collection import Collection
from moverank.indexer.contents.contents import Contents, Description
from moverank.indexer.documents import Changes, Document
from moverank.indexer.errors import CollectionError
from moverank.indexer.files.location import collection_directory
from moverank.indexer.indexing.creation import create_like
from moverank.indexer.indexing.removal import ids_of
from moverank.indexer.indexing.stored_form import restored_document
from moverank.indexer.options import Where
from moverank.indexer.reranking.lists import corpus_vocabulary, stored_counts, stored_splits
from moverank.indexer.search.priors import prior_of
from moverank.indexer.search.query import Prior
from moverank.indexer.settings import Settings
from moverank.indexer.shards.cluster_file import shard_of
from moverank.indexer.shards.feed import Batch, Feed, FeedResult
from moverank.indexer.shards.messages import Failure
from moverank.indexer.shards.whole_corpus import ShardCorpus, WordVectorsOf
from moverank.indexer.snapshot.content_sample import SAMPLE, ContentSample
from moverank.indexer.store import Entry, StoredSource, exists
from moverank.rerank.runtime.parallel import batches

_KEYS = 5000


class ShardContents:
    """The documents of the collection in `directory`, which need not exist yet."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._feeds: dict[str, Feed] = {}

    def exists(self) -> bool:
        """Return whether there is a collection."""
        return exists(self.directory)

    def create(self, settings: Settings, like: str | None, *, trust_pickle: bool) -> None:
        """Create the collection like the one at `like` if that is on this machine, else by `settings`."""
        if like is not None and exists(collection_directory(like)):
            create_like(collection_directory(like), self.directory)
        else:
            Collection.create(self.directory, settings, trust_pickle=trust_pickle).close()

    def begin_feed(self, name: str, options: dict[str, Any], *, listed: bool, wait: float) -> None:
        """Begin to index documents; see `Feed`."""
        self._feeds[name] = Feed(self.directory, options, listed=listed, wait=wait)

    def feed(self, name: str, batch: Batch) -> None:
        """Index some documents."""
        self._feed(name).put(batch)

    def end_feed(self, name: str) -> FeedResult | Failure:
        """Wait until all documents are stored, and return the result."""
        feed = self._feed(name)
        del self._feeds[name]
        return feed.finished()

    def abort_feed(self, name: str) -> None:
        """End a run early; nothing happens if it has ended."""
        feed = self._feeds.pop(name, None)
        if feed:
            feed.abort()

    def _feed(self, name: str) -> Feed:
        feed = self._feeds.get(name)
        if feed is None:
            raise CollectionError(
                f"the process of {self.directory.name} was started again meanwhile: run the same command again"
            )
        return feed

    def selected(self, where: Where | None, source: str | None, fields: Iterable[str]) -> list[str] | None:
        """Return the keys of the documents that match a filter, a source or both; None if the source has no document.

        `fields` are the names of fields in all shards.
        """
        with Collection.open(self.directory) as collection, collection.reading() as reader:
            ids = ids_of(reader, where, source, fields)
            return None if ids is None else list(reader.keys(ids).values())

    def remove(self, wait: float, keys: Sequence[str], *, upkeep: bool = True) -> Changes:
        """Remove documents; see `Collection.remove`."""
        with Collection.open(self.directory, wait=wait) as collection:
            return collection.remove(keys, upkeep=upkeep)

    def change_settings(self, choices: dict[str, Any], wait: float) -> None:
        """Change settings; see `Collection.change_settings`."""
        with Collection.open(self.directory, wait=wait) as collection:
            collection.change_settings(**choices)

    def info(self) -> dict[str, Any]:
        """Return facts about the collection; see `Collection.info`."""
        with Collection.open(self.directory) as collection:
            return collection.info()

    def sources(self) -> list[StoredSource]:
        """Return the sources of documents; see `Collection.sources`."""
        with Collection.open(self.directory) as collection:
            return collection.sources()

    def known(self, keys: Sequence[str]) -> list[str]:
        """Return the `keys` that documents have."""
        with Collection.open(self.directory) as collection, collection.reading() as reader:
            found = reader.known(list(keys))
            return [key for key in keys if key in found]

    def count(self, where: Where | None, fields: Iterable[str]) -> int:
        """Return the number of documents that pass a filter; `fields` are the names of fields in all shards."""
        with Collection.open(self.directory) as collection, collection.reading() as reader:
            return len(Contents(reader, where, fields))

    def entries(
        self, where: Where | None, limit: int | None, first: int, fields: Iterable[str]
    ) -> tuple[list[Entry], int]:
        """Return `limit` documents that pass a filter, after the `first` ones, and how many pass; see `count`."""
        with Collection.open(self.directory) as collection, collection.reading() as reader:
            contents = Contents(reader, where, fields)
            return list(contents.entries(limit, first)), len(contents)

    def describe(self, key: str) -> Description:
        """Return a document with the facts that are stored about it; UnknownKey if there is none."""
        with Collection.open(self.directory) as collection, collection.contents() as contents:
            return contents.describe(key)

    def corpus(self, fields: Sequence[str]) -> ShardCorpus:
        """Return all documents that have a word, counted, with the numbers in some fields."""
        with Collection.open(self.directory) as collection, collection.reading() as reader:
            ids, counts, words = stored_counts(reader)
            shown, rows = reader.shown(ids), {id_: row for row, id_ in enumerate(ids)}
            keys = {id_: shown[id_].key for id_ in ids}
            titles, labels = tuple(shown[id_].title for id_ in ids), tuple(shown[id_].label for id_ in ids)
            priors = {name: _by_row(found, rows) for name in fields if (found := prior_of(reader, name))}
            splits = stored_splits(reader, keys)
            total, least = reader.document_count(), ContentSample.of(reader.least_digests(SAMPLE))
            sample = least._replace(ids=np.array([rows[id_] for id_ in least.ids.tolist()], np.int64))
        return ShardCorpus(tuple(keys.values()), titles, labels, counts, words, total, splits, priors, sample)

    def vectors_of(self, words: Sequence[str]) -> WordVectorsOf:
        """Return the vectors of words."""
        with Collection.open(self.directory) as collection:
            found = corpus_vocabulary(words, collection.embedding)
            return WordVectorsOf(found.known, found.vectors, collection.embedding.fingerprint)

    def strangers(self, own: str, names: Sequence[str]) -> dict[str, list[str]]:
        """Return the keys of the documents that belong to other shards than this one, `own`, by shard."""
        keys: dict[str, list[str]] = {}
        with Collection.open(self.directory) as collection:
            stored = collection.keys()
            for key in stored:
                if (owner := shard_of(key, names)) != own:
                    keys.setdefault(owner, []).append(key)
        return keys

    def documents(self, keys: Sequence[str]) -> list[Document]:
        """Return the documents with some keys, with their origins."""
        with Collection.open(self.directory) as collection, collection.reading() as reader:
            found: list[Document] = []
            for some in batches(keys, _KEYS):
                known = reader.known(some)
                ids = [known[key].id for key in some if key in known]
                origins = reader.origins(ids)
                found += [replace(restored_document(one), origin=origins.get(one.id)) for one in reader.documents(ids)]
            return found


def _by_row(prior: Prior, rows: dict[int, int]) -> Prior:
    """Return values by row instead of by id; those of documents without a row are left out."""
    here = np.array([id_ in rows for id_ in prior.ids.tolist()], bool)
    own = np.array([rows[id_] for id_ in prior.ids[here].tolist()], np.int64)
    return Prior(own, prior.values[here])
