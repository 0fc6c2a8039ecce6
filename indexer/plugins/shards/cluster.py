"""A collection in shards: the same methods as `Collection`, as far as shards can answer them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from moverank.indexer.collection import Collection
from moverank.indexer.errors import CollectionError, IndexerError, UsageError
from moverank.indexer.files.location import is_cluster
from moverank.indexer.files.writer_lock import locked
from moverank.indexer.indexing.creation import TRAINED, check_choices
from moverank.indexer.indexing.removal import DocumentsToRemove, check_unchanged
from moverank.indexer.operations.operated import Operated
from moverank.indexer.operations.operation import Found, Operation, Work
from moverank.indexer.plugins.shards.actors import RayShards
from moverank.indexer.plugins.shards.changing import Changer
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, ShardPlace
from moverank.indexer.plugins.shards.cluster_searcher import ClusterSearcher, common_reason
from moverank.indexer.plugins.shards.coordinator import Coordinator, ShardLost
from moverank.indexer.plugins.shards.messages import ShardState
from moverank.indexer.plugins.shards.shard_contents import described, known, listed, no_common_words, why_empty
from moverank.indexer.reading.inputs.vectors_by_key import KeyedVectors, VectorsByKey
from moverank.indexer.search.differences import Facts
from moverank.indexer.state.contents import Description
from moverank.indexer.state.counted_documents import CountedDocuments
from moverank.indexer.store import Entry, StoredSource
from moverank.indexer.values.documents import Changes, Document, Rejection
from moverank.indexer.values.queries import QueryText, StoredKey
from moverank.indexer.values.scope import Scope
from moverank.indexer.values.search_options import Progress, SearchOptions, Where, silent
from moverank.indexer.values.settings import Settings
from moverank.indexer.values.word_factors import CorpusVocabulary
from moverank.rerank.distance.ground_cost import NearWord
from moverank.rerank.ranking import Ranking
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.languages import AUTO_LANGUAGE
from moverank.rerank.words.tokenizer import StopWords


class Cluster(Operated):
    """An open collection in shards; close it, or use it in a `with` block. Get one by `create` or `open`.

    Each shard is a collection that one process holds, on its own machine. A search answers as one collection with all
    documents would: see `ClusterSearcher`. `file` describes the shards.
    """

    NAME = "shards"

    def __init__(self, file: ClusterFile, wait: float = 0.0) -> None:
        self.path, self.wait, self.file = file.path, wait, file
        self.shards = RayShards(file)
        self._coordinator = Coordinator(self.shards, self._reload, wait)
        self.searcher = ClusterSearcher(self._coordinator, self)

    def run(self, operation: Operation[Found], *, progress: Progress = silent) -> Found:
        """Return the answer to an operation, by the shards."""
        return operation.run(self, Work(progress))

    def _answer_many(self, requests: Iterable[QueryText | StoredKey], options: SearchOptions) -> Iterator[Ranking]:
        return self.searcher.answer_many(requests, options)

    @property
    def embedding(self) -> Embedding:
        """Raise UsageError: the word vectors are with the shards."""
        raise UsageError(
            "a collection in shards cannot rerank or compare texts: serve one of the shards, or `Reranker`"
        )

    def _prepare(self, options: SearchOptions, progress: Progress) -> None:
        self.searcher.prepare(options, progress)

    @staticmethod
    def holds(place: str) -> bool:
        """Return whether a place is the name of a file that describes shards."""
        return is_cluster(place)

    @staticmethod
    def places(path: str | Path) -> tuple[str, ...]:
        """Return the places of the shards; CollectionError if the file cannot be read."""
        file = ClusterFile.read(Path(path))
        return tuple(file.place_of(shard) for shard in file.shards)

    @staticmethod
    def check_shared(path: str | Path) -> None:
        """Raise UsageError unless several processes of a server can have the same shards."""
        if not ClusterFile.read(Path(path)).address:
            raise UsageError(
                f"{path} names no Ray cluster: each of --processes would hold all shards; give it an address"
            )

    @classmethod
    def open(cls, path: str | Path, *, wait: float = 0.0) -> Self:
        """Open the collection that the file at `path` describes; `wait`: seconds to wait for other writers."""
        return cls(ClusterFile.read(Path(path)), wait)

    @classmethod
    def create(
        cls,
        file: ClusterFile,
        settings: Settings,
        *,
        trust_pickle: bool = False,
        wait: float = 0.0,
        progress: Progress = silent,
    ) -> Self:
        """Create empty shards with the same settings and word vectors, then the file; CollectionError if there is one.

        The word vectors must be imported ones: each shard would train its own. `progress` is called after each shard.
        """
        check_choices(settings)
        if settings.language == AUTO_LANGUAGE:
            raise UsageError("shards are made before their texts are read: name the language, such as --language de")
        file.checked()
        if settings.embedding in TRAINED:
            raise UsageError(
                "shards need word vectors of a file, --embedding: trained on the texts of one shard, they would differ "
                "from those of the others"
            )
        if file.path.exists():
            raise CollectionError(f"{file.path} describes shards already: choose another name")
        if Path(settings.embedding).exists():  # the processes of the shards have another working directory
            settings = replace(settings, embedding=str(Path(settings.embedding).absolute()))
        made = cls(file, wait)
        try:
            for number, shard in enumerate(file.shards, start=1):
                like = file.place_of(file.shards[0]) if number > 1 else None
                made._coordinator.call(shard.name, "create", settings, like, trust_pickle=trust_pickle)
                progress("Creating", number, len(file.shards), "shards")
            file.write()
        except BaseException:
            made.shards.withdraw()
            raise
        return made

    def close(self) -> None:
        """Disconnect from the shards; processes that were started for this object end."""
        self.shards.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stop(self) -> None:
        """End the processes of the shards, also those that would outlive this object."""
        self.shards.stop()

    @property
    def settings(self) -> Settings:
        """Return the settings, which all shards have."""
        return self._coordinator.settings()

    def _reload(self) -> None:
        """Start and drop shards as the file describes them now: another process may have changed it."""
        if not self.path.exists():  # it is being created
            return
        file = ClusterFile.read(self.path)
        before, now = set(self.file.shards), set(file.shards)
        for shard in before - now:
            self.shards.drop(shard.name)
        for shard in sorted(now - before, key=lambda one: one.name):
            self.shards.add(file, shard)
        self.file = file

    def __len__(self) -> int:
        """Return the number of documents."""
        return self._coordinator.documents()

    def __contains__(self, key: object) -> bool:
        """Return whether there is a document with a key."""
        return isinstance(key, str) and any(self._coordinator.with_each(known, [key]).values())

    @property
    def revision(self) -> tuple[int, ...]:
        """Return the number of the last committed change of each shard."""
        return tuple(state.revision for state in self._coordinator.states().values())

    def changed(self) -> bool:
        """Return whether the current states or shards differ from the searched ones."""
        return ClusterFile.read(self.path).shards != self.file.shards or not self._coordinator.is_current()

    def refresh(self) -> None:
        """Let the next search see the current state of every shard."""
        self._coordinator.refresh()

    def index(
        self,
        records: Iterable[Document | Rejection],
        *,
        vectors: KeyedVectors | VectorsByKey | None = None,
        scope: Scope | None = None,
        prune: bool = False,
        confirmed: bool = False,
        dry_run: bool = False,
        strict: bool = False,
        dedupe: float | None = None,
        upkeep: bool = True,
        rejected: Callable[[Rejection], None] = lambda _: None,
        changed: Callable[[str, str], None] | None = None,
        progress: Progress = silent,
    ) -> Changes:
        """Add or update documents, each in its shard; see `Collection.index` and `Changer.index`.

        Each shard commits on its own: if one fails, the others keep what they have committed. UsageError for `dedupe`.
        """
        _ = progress  # reading reports its progress itself
        if dedupe is not None:
            raise UsageError("shards leave out no near duplicates, which may be in different shards: run dedupe later")
        if vectors is not None:
            records = VectorsByKey.of(vectors).attached(records)
        options: dict[str, Any] = {"prune": prune, "confirmed": confirmed, "dry_run": dry_run}
        options |= {"strict": strict, "upkeep": upkeep} | ({} if scope is None else {"scope": scope})
        with self._changing() as changer:
            return changer.index(records, options, rejected, changed if dry_run else None)

    def remove(
        self,
        keys: Sequence[str] = (),
        *,
        where: Where | None = None,
        source: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
        upkeep: bool = True,
        progress: Progress = silent,
    ) -> Changes:
        """Remove documents; see `Collection.remove`."""
        _ = progress, upkeep
        with self._changing() as changer:
            return changer.remove(DocumentsToRemove(keys, where, source, everything), dry_run=dry_run)

    def _checked_writable(self) -> Self:
        with self._changing():
            self.refresh()
        return self

    def _remove_unless_changed(self, keys: Sequence[str], state: tuple[Any, Settings], progress: Progress) -> Changes:
        _ = progress
        with self._changing() as changer:
            self.refresh()
            check_unchanged(state, (self.revision, self.settings))
            return changer.remove(DocumentsToRemove(keys), dry_run=False)

    def change_settings(self, **choices: Any) -> None:
        """Change settings of all shards, one after another; see `Collection.change_settings`.

        If one fails, those before it are changed, and searches are refused until the same call has changed the rest.
        """
        self._change_each(Collection.change_settings, choices)

    def refit(
        self,
        *,
        embedding: str | None = None,
        vectors: bool = False,
        train_options: Sequence[str] | None = None,
        normalize: bool | None = None,
        language: str | None = None,
        stop_words: StopWords | None = None,
        segmentation: str | None = None,
        trust_pickle: bool = False,
        progress: Progress = silent,
    ) -> None:
        """Change the language of all shards, one after another; see `Collection.refit` and `change_settings`.

        Raises UsageError for any other change: only `stop_words` and `segmentation` go with the language.
        """
        _ = trust_pickle, progress
        if language in (None, AUTO_LANGUAGE) or vectors or (embedding, train_options, normalize) != (None, None, None):
            raise UsageError(
                "refit changes only the language of shards, which has to be named (--language de): their word vectors "
                "stay, and each fits its first stage itself"
            )
        words = {"stop_words": stop_words, "segmentation": segmentation}
        given = {name: value for name, value in words.items() if value is not None}
        settings = self.settings.in_language(language or "", **given)
        if settings.lacks_vocabulary:
            raise no_common_words()
        # Resolved here: shards may be on machines with ICU and without it.
        self._change_each(Collection.refit, {"language": language, **words, "segmentation": settings.segmentation})

    def _change_each(self, change: Callable[..., None], choices: Mapping[str, Any]) -> None:
        with self._changing():
            for number, name in enumerate(self.file.names):
                try:
                    self._coordinator.call(name, "with_collection", change, self.wait, **choices)
                except (IndexerError, OSError) as error:
                    if not number:
                        raise
                    raise CollectionError(
                        f"{error}; only the shards before {name} have the new settings: run the same command again, "
                        "which changes the others"
                    ) from error

    def sources(self) -> list[StoredSource]:
        """Return the sources that documents were read from, with their numbers of documents."""
        found: dict[Any, StoredSource] = {}
        for of_shard in self._coordinator.with_each(Collection.sources).values():
            for stored in of_shard:
                before = found.get(stored.source)
                documents = stored.documents + (before.documents if before else 0)
                found[stored.source] = stored._replace(id=None, documents=documents)
        return list(found.values())

    @contextmanager
    def contents(self, where: Where | None = None) -> Iterator["ShardsContents"]:
        """Open the documents of all shards that pass a filter, as in `SearchOptions.where`."""
        yield ShardsContents(self._coordinator, where)

    def counted_documents(self, fields: Iterable[str] = ()) -> list[CountedDocuments]:
        """Return all documents that have a word, counted, shard by shard; see `Collection.counted_documents`."""
        found = self._coordinator.with_each(Collection.counted_documents, list(fields))
        return [one for of_shard in found.values() for one in of_shard]

    def facts(self, keys: Sequence[str]) -> dict[str, Facts]:
        """Return what the documents with some keys state, and how they begin; see `Collection.facts`."""
        found = self._coordinator.with_each(Collection.facts, list(keys))
        return {key: own for of_shard in found.values() for key, own in of_shard.items()}

    def vectors_of(self, words: Sequence[str]) -> CorpusVocabulary:
        """Return words with their vectors, which all shards have."""
        return self._coordinator.with_collection(self.file.names[0], Collection.vectors_of, words)

    def nearest_words(self, sources: Sequence[str], targets: Sequence[str]) -> dict[str, NearWord]:
        """Return, for each of the `targets` with a vector, the nearest of the `sources`; none if no shard answers."""
        for name in self.file.names:
            try:
                found: dict[str, NearWord] = self._coordinator.call(name, "nearest_words", sources, targets)
            except ShardLost:
                continue
            return found
        return {}

    def info(self) -> dict[str, Any]:
        """Return the facts about each shard, and sums."""
        infos, processes = self._coordinator.with_each(Collection.info), self.processes()
        shards = {
            shard.name: {"place": shard.place}
            | {name: infos[shard.name][name] for name in ("documents", "revision", "bytes")}
            | {"process": processes[shard.name]}
            for shard in self.file.shards
        }
        summed = ("documents", "parts", "wordless", "given_vectors", "bytes")
        total = {name: sum(own[name] for own in infos.values()) for name in summed}
        common = ("dim", "vectors", "embedding", "normalize", "language", "weights", "gamma", "rank")
        first = next(iter(infos.values()))
        own = {name: first[name] for name in common}
        return total | own | {"ranking": str(self.settings.ranking), "shards": shards}

    def processes(self) -> dict[str, int | None]:
        """Return the number of the process of each shard, None for one that cannot be reached."""
        return self.shards.processes()

    @property
    def directory(self) -> Path:
        """Return the directory of files that belong to all shards: locks, and results of experiments."""
        return self.path.resolve().with_suffix(".shards")

    def add_shard(self, shard: ShardPlace, *, progress: Progress = silent) -> int:
        """Add an empty shard, and move to it the documents that belong there; return their number.

        Searches go on meanwhile; other processes find the shard in the file when they see new states.
        """
        with self._changing():
            if shard.name in self.file.names:
                raise UsageError(f"{self.path} has a shard {shard.name!r} already: choose another name")
            like = self.file.place_of(self.file.shards[0])
            file, settings = self.file.with_shard(shard), self.settings
            self.shards.add(file, shard)
            try:
                if not self._coordinator.call(shard.name, "exists"):
                    self._coordinator.call(shard.name, "create", settings, like, trust_pickle=False)
                self._coordinator.states()  # raises CollectionError if the shard has other settings or vectors
                file.write()
            except BaseException:
                self.shards.drop(shard.name)
                raise
            self.file = file
        return self.balance(progress=progress)

    def balance(self, *, progress: Progress = silent) -> int:
        """Move documents to the shards that they belong to, and return how many were moved."""
        with self._changing() as changer:
            return changer.balance(self.file.names, progress)

    def drop_shard(self, name: str, *, progress: Progress = silent) -> int:
        """Move all documents of a shard to the others, then take it out of the file; return how many were moved."""
        with self._changing() as changer:
            self.file.shard(name)
            rest = self.file.without(name)
            if not rest.shards:
                raise UsageError(f"{self.path} has no other shard that could hold the documents of {name}")
            moved = changer.balance(rest.names, progress, leaving=name)
            rest.write()
            self.file = rest
            self.shards.drop(name)
        return moved

    def move_shard(self, shard: ShardPlace) -> None:
        """Change the place of a shard to that of a copy, made by `moverank copy`."""
        with self._changing():
            before = self.file.shard(shard.name)
            stored = self._coordinator.call(shard.name, "state")
            file = self.file.with_shard(shard)
            try:
                self.shards.replace(file, shard)
                _check_copy(stored, self._coordinator.call(shard.name, "state"), self.file.place_of(before), shard)
                file.write()
            except BaseException:
                self.shards.replace(self.file, before)
                raise
            self.file = file

    @contextmanager
    def _changing(self) -> Iterator[Changer]:
        """Hold the lock of all writers of this collection, and read the file again."""
        self.directory.mkdir(exist_ok=True)
        with locked(self.directory, self.wait):
            self._reload()
            try:
                yield Changer(self._coordinator)
            finally:  # some shards may have committed before another failed
                self.refresh()


def _check_copy(stored: ShardState, copied: ShardState, place: str, shard: ShardPlace) -> None:
    """Raise CollectionError unless the new place of a shard has the state that is stored at its `place`."""
    if (copied.revision, copied.token, copied.settings) != (stored.revision, stored.token, stored.settings):
        raise CollectionError(
            f"{shard.place} is not a copy of the current state of the shard {shard.name}: make one with "
            f"`moverank copy {place} {shard.place}`"
        )


class ShardsContents:
    """The documents of all shards that pass a filter, shard by shard; see `Contents`."""

    def __init__(self, coordinator: Coordinator, where: Where | None = None) -> None:
        self._coordinator, self._where = coordinator, where
        self._fields = coordinator.fields() if where else frozenset()

    @property
    def total(self) -> int:
        """Return the number of all documents."""
        return self._coordinator.documents()

    def __len__(self) -> int:
        """Return the number of documents that pass the filter."""
        return sum(count for _, count in self._coordinator.with_each(listed, self._where, 0, 0, self._fields).values())

    def entries(self, limit: int | None = None, first: int = 0) -> Iterator[Entry]:
        """Iterate over `limit` documents after the `first` ones, without their texts."""
        for name in self._coordinator.shards.names:
            found, here = self._coordinator.with_collection(name, listed, self._where, limit, first, self._fields)
            first = max(0, first - here)
            limit = None if limit is None else limit - len(found)
            yield from found
            if limit == 0:
                return

    def why_empty(self) -> str | None:
        """Return why no document passes the filter; None if any does, or there is no filter."""
        reasons = self._coordinator.with_each(why_empty, self._where, self._fields) if self._where else {}
        return common_reason([*reasons.values()] or [None])

    def describe(self, key: str) -> Description:
        """Return a document with the facts that are stored about it; UnknownKey if there is none with the key."""
        coordinator = self._coordinator
        return coordinator.of_owner(
            key, coordinator.shards.names, lambda name: coordinator.with_collection(name, described, key)
        )
