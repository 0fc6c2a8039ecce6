"""A collection in shards: the same methods as `Collection`, as far as shards can answer them.

Over 250 lines: it is a face of the library, and its methods call other modules.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from moverank.indexer.arguments import text
from moverank.indexer.cluster.actors import RayShards
from moverank.indexer.cluster.changing import Changer
from moverank.indexer.cluster.cluster_file import ClusterFile, ShardPlace
from moverank.indexer.cluster.coordinator import Coordinator, fields_of
from moverank.indexer.cluster.messages import Explained, ExplainRequest, ShardState
from moverank.indexer.cluster.routing import shard_of
from moverank.indexer.cluster.shard_rankings import checked_ranking
from moverank.indexer.cluster.whole_corpus import WholeCorpus, joined, joined_words
from moverank.indexer.contents.description import Description
from moverank.indexer.documents import Changes, Document, Rejection
from moverank.indexer.errors import CollectionError, IndexerError, UnknownKey, UsageError
from moverank.indexer.files.writer_lock import locked
from moverank.indexer.indexing.settings_check import TRAINED, check_choices
from moverank.indexer.options import SearchOptions, Where
from moverank.indexer.progress import Progress, silent
from moverank.indexer.ranked_texts import QueryText, StoredKey, asked, with_vector
from moverank.indexer.ranking_spec import resolve
from moverank.indexer.readers.vectors_by_key import KeyedVectors, VectorsByKey
from moverank.indexer.reranking.pairs_of_texts import pairs_of_texts
from moverank.indexer.scope import Scope
from moverank.indexer.search.pairs import Pairs, far_words, pair_options
from moverank.indexer.search.query_parser import joined_scorer
from moverank.indexer.search.shared_statistics import TableKey, needed_tables
from moverank.indexer.settings import Settings
from moverank.indexer.store import Entry, StoredSource
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.distance.why_not import WhyNot
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Ranking

_Found = TypeVar("_Found")

_AT_A_TIME = 4  # queries of a batch: while some wait for messages, others compute


class Cluster:
    """An open collection in shards; close it, or use it in a `with` block. Get one by `create` or `open`.

    Each shard is a collection that one process holds, on its own machine. A search answers as one collection with all
    documents would: see `Coordinator`. `file` describes the shards.
    """

    def __init__(self, file: ClusterFile, wait: float = 0.0) -> None:
        self.path, self.wait, self.file = file.path, wait, file
        self.shards = RayShards(file)
        self._coordinator = Coordinator(self.shards, self._reload)

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
        """Start and leave shards as the file describes them now: another process may have added one, or moved it."""
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
        return sum(state.documents for state in self._coordinator.states().values())

    def __contains__(self, key: object) -> bool:
        """Return whether there is a document with a key."""
        return isinstance(key, str) and any(self._coordinator.call(one, "known", [key]) for one in self._owners(key))

    @property
    def revision(self) -> tuple[int, ...]:
        """Return the number of the last committed change of each shard."""
        return tuple(state.revision for state in self._coordinator.states().values())

    def changed(self) -> bool:
        """Return whether there are other states, or other shards, than those which are searched."""
        return ClusterFile.read(self.path).shards != self.file.shards or not self._coordinator.is_current()

    def refresh(self) -> None:
        """Let the next search see the current state of every shard."""
        self._coordinator.refresh()

    def prepare(self, options: SearchOptions | None = None, *, progress: Progress = silent, **fields: Any) -> None:
        """Start the shards, and count what searches with these options need of all of them."""
        progress("Opening", 0, len(self.file.shards), "shards")
        self._coordinator.version(self._tables(SearchOptions.of(options, fields)))
        progress("Opening", len(self.file.shards), len(self.file.shards), "shards")

    def _tables(self, options: SearchOptions) -> set[TableKey]:
        """Return the statistics that a search needs of all shards; UsageError if shards cannot rank so."""
        ranking = checked_ranking(resolve(options.ranking, options.gamma, self.settings.ranking), self.settings)
        return needed_tables(ranking, joined_scorer(options, ranking, self.settings))

    def search(
        self,
        query: QueryText,
        options: SearchOptions | None = None,
        *,
        vector: Iterable[float] | None = None,
        **fields: Any,
    ) -> Ranking:
        """Find the documents nearest to a text or a record; see `Collection.search`.

        `Ranking.missing_shards` names those that did not answer; the ranking is then not certified.
        """
        chosen, text = SearchOptions.of(options, fields), with_vector(query, vector, self.settings.encoder)
        return self._coordinator.search(text, chosen, partial(self._tables, chosen))

    def similar(self, key: str, options: SearchOptions | None = None, **fields: Any) -> Ranking:
        """Find the documents nearest to a stored one, which is excluded. Raises UnknownKey."""
        chosen = SearchOptions.of(options, fields)
        return self._coordinator.similar(key, self._owners(key), chosen, partial(self._tables, chosen))

    def explain(
        self,
        query: QueryText | None = None,
        key: str = "",
        *,
        similar: str | None = None,
        vector: Iterable[float] | None = None,
        gamma: float | None = None,
        rank: str | None = None,
    ) -> Explanation:
        """Return the exact distance of a query from the document `key`, and its flows; see `Collection.explain`."""
        options, text = SearchOptions(gamma=gamma, rank=rank), asked(query, similar, vector, self.settings.encoder)
        return self._explained(text, options, ExplainRequest(key), lambda found: found.explanation)

    def why_not(
        self,
        query: QueryText | None = None,
        key: str = "",
        options: SearchOptions | None = None,
        *,
        similar: str | None = None,
        vector: Iterable[float] | None = None,
        **fields: Any,
    ) -> WhyNot:
        """Return the stage at which a search for `query` excludes the document `key`; see `Collection.why_not`."""
        chosen, text = SearchOptions.of(options, fields), asked(query, similar, vector, self.settings.encoder)
        ranking = self.similar(text.key, chosen) if isinstance(text, StoredKey) else self.search(text, chosen)
        last = ranking.hits[-1] if len(ranking.hits) == chosen.k else None
        kth = float("inf") if last is None else last.distance if last.total is None else last.total
        request = ExplainRequest(key, kth, key in [hit.key for hit in ranking.hits])
        return self._explained(text, chosen, request, lambda found: found.why_not)

    def _explained(
        self,
        query: QueryText | StoredKey,
        options: SearchOptions,
        request: ExplainRequest,
        choose: Callable[[Explained], _Found | None],
    ) -> _Found:
        owners = self._owners(query.key) if isinstance(query, StoredKey) else []
        return self._coordinator.explain(query, owners, options, request, partial(self._tables, options), choose)

    def search_many(
        self, queries: Iterable[QueryText], options: SearchOptions | None = None, **fields: Any
    ) -> Iterator[Ranking]:
        """Find the documents nearest to each of many texts or records, in order; see `Collection.search_many`."""
        chosen = SearchOptions.of(options, fields)
        return self._many(lambda query: self.search(query, chosen), queries)

    def similar_many(
        self, keys: Iterable[str], options: SearchOptions | None = None, **fields: Any
    ) -> Iterator[Ranking]:
        """Find the documents nearest to each of many stored ones; see `search_many`."""
        chosen = SearchOptions.of(options, fields)
        return self._many(lambda key: self.similar(key, chosen), keys)

    def _many(self, search: Callable[[Any], Ranking], items: Iterable[Any]) -> Iterator[Ranking]:
        def answer(item: Any) -> Ranking:
            try:
                return search(item)
            except (NoKnownWords, UnknownKey) as error:
                return Ranking((), certified=False, scope="collection", problem=str(error))

        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            yield from pool.map(answer, items)

    def _owners(self, key: str) -> list[str]:
        """Return the shards that may have a document, first that which it belongs to."""
        owner = shard_of(text("a key", key), self.file.names)
        return [owner, *(name for name in self.file.names if name != owner)]

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
        upkeep: bool = True,
        rejected: Callable[[Rejection], None] = lambda _: None,
        changed: Callable[[str, str], None] | None = None,
        progress: Progress = silent,
    ) -> Changes:
        """Add or update documents, each in its shard; see `Collection.index` and `Changer.index`.

        Each shard commits on its own: if one fails, the others keep what they have committed.
        """
        _ = progress  # what reading reports
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
            return changer.remove(keys, where, source, everything=everything, dry_run=dry_run)

    def change_settings(self, *, progress: Progress = silent, **choices: Any) -> None:
        """Change settings of all shards, one after another; see `Collection.change_settings`.

        If one fails, those before it are changed, and searches are refused until the same call has changed the rest.
        """
        _ = progress  # each shard reports nothing
        with self._changing():
            for number, name in enumerate(self.file.names):
                try:
                    self._coordinator.call(name, "change_settings", choices, self.wait)
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
        for name in self.file.names:
            for stored in self._coordinator.call(name, "sources"):
                before = found.get(stored.source)
                documents = stored.documents + (before.documents if before else 0)
                found[stored.source] = stored._replace(id=None, documents=documents)
        return list(found.values())

    def count(self, where: Where | None) -> int:
        """Return the number of documents that pass a filter."""
        fields = self._fields(where)
        return sum(self._coordinator.call(name, "count", where, fields) for name in self.file.names)

    def _fields(self, where: Where | None) -> frozenset[str]:
        """Return the fields that documents of any shard have, none without a filter."""
        return fields_of(self._coordinator.states()) if where else frozenset()

    def entries(self, where: Where | None, limit: int | None, first: int) -> Iterator[Entry]:
        """Iterate over `limit` documents that pass a filter, after the `first` ones, shard by shard, without texts."""
        fields = self._fields(where)
        for name in self.file.names:
            found, here = self._coordinator.call(name, "entries", where, limit, first, fields)
            first = max(0, first - here)
            limit = None if limit is None else limit - len(found)
            yield from found
            if limit == 0:
                return

    def describe(self, key: str) -> Description:
        """Return a document with the facts that are stored about it; UnknownKey if there is none with the key."""
        for owner in self._owners(key):
            try:
                found: Description = self._coordinator.call(owner, "describe", key)
            except UnknownKey:
                continue
            return found
        raise UnknownKey(f"the collection has no document with the key {key!r}")

    def info(self) -> dict[str, Any]:
        """Return the facts about each shard, and sums."""
        infos = {name: self._coordinator.call(name, "info") for name in self.file.names}
        processes = self.processes()
        first = next(iter(infos.values()))
        summed = ("documents", "parts", "wordless", "given_vectors", "bytes")
        places = {shard.name: shard for shard in self.file.shards}
        shards = {
            name: {
                "place": places[name].place,
                "documents": own["documents"],
                "revision": own["revision"],
                "bytes": own["bytes"],
                "process": processes[name],
            }
            for name, own in infos.items()
        }
        total = {name: sum(own[name] for own in infos.values()) for name in summed}
        own = {name: first[name] for name in ("dim", "vectors", "embedding", "normalize", "weights", "gamma", "rank")}
        return total | own | {"ranking": str(self.settings.ranking), "shards": shards}

    def processes(self) -> dict[str, int | None]:
        """Return the number of the process of each shard, None for one that cannot be reached."""
        found = self.shards.processes()
        return {name: number if isinstance(number, int) else None for name, number in found.items()}

    def documents_of_shards(self, words: Iterable[str] = (), fields: Sequence[str] = ()) -> WholeCorpus:
        """Read all documents that have a word, counted over one vocabulary, which also has `words`.

        `fields` are those of which the numbers are read. UsageError if no document has a number in one of them.
        """
        parts = [self._coordinator.call(name, "corpus", list(fields)) for name in self.file.names]
        for field in fields:
            if not any(field in part.priors for part in parts):
                raise UsageError(f"no document has a number in the field {field!r}")
        every = joined_words(parts, words)
        vectors = self._coordinator.call(self.file.names[0], "vectors_of", every)
        return joined(parts, every, vectors, self.settings.title_weight)

    def pairs(
        self,
        within: float | None = None,
        k: int | None = None,
        *,
        rank: str | None = None,
        gamma: float | None = None,
        where: Where | None = None,
        unknown: str = "ignored",
        progress: Progress = silent,
    ) -> Pairs:
        """Find all pairs of documents whose distance is at most `within`, or the `k` nearest; see `Collection.pairs`.

        The bags of all shards are compared in this process.
        """
        if where:
            raise UsageError("pairs of shards are those of all documents: leave --where out")
        options, limit = pair_options(within, k, rank, gamma, None, self.settings.ranking)
        ranking = checked_ranking(resolve(options.rank, options.gamma, self.settings.ranking), self.settings)
        whole = self.documents_of_shards()
        far = far_words(unknown)
        return pairs_of_texts(whole.texts, whole.titles, ranking, limit, k, self.directory, progress, far=far)

    @property
    def directory(self) -> Path:
        """Return the directory of what belongs to all shards: locks, and results of experiments."""
        return self.path.resolve().with_suffix(".shards")

    def add_shard(self, shard: ShardPlace, *, progress: Progress = silent) -> int:
        """Add an empty shard, and move to it the documents that belong there; return how many these are.

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
                self._coordinator.states()  # raises CollectionError if what is there is not like the others
                file.write()
            except BaseException:
                self.shards.drop(shard.name)
                raise
            self.file = file
        return self.balance(progress=progress)

    def balance(self, *, progress: Progress = silent) -> int:
        """Move documents to the shards that they belong to, and return how many were not there."""
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
        """Let a shard be at another place, which a copy of it has: `moverank copy` makes one."""
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
        """Hold the lock of all writers of this collection; the file may have been changed before."""
        self.directory.mkdir(exist_ok=True)
        with locked(self.directory, self.wait):
            self._reload()
            try:
                yield Changer(self._coordinator, self.file.names, self.wait)
            finally:  # some shards may have committed before another failed
                self.refresh()


def _check_copy(stored: ShardState, copied: ShardState, place: str, shard: ShardPlace) -> None:
    """Raise CollectionError unless the new place of a shard has the state that is stored at its `place`."""
    if (copied.revision, copied.token, copied.settings) != (stored.revision, stored.token, stored.settings):
        raise CollectionError(
            f"{shard.place} is not a copy of the current state of the shard {shard.name}: make one with "
            f"`moverank copy {place} {shard.place}`"
        )
