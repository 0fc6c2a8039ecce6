"""A collection: one directory with documents, word vectors, and derived files for fast searches.

Over 250 lines: it is the face of the library, and most of them document its methods, which call other rooms.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from moverank.indexer.arguments import items, switch, texts
from moverank.indexer.contents.contents import Contents
from moverank.indexer.contents.stored_documents import StoredDocuments
from moverank.indexer.documents import Changes, Document, Rejection
from moverank.indexer.errors import CollectionError, UsageError
from moverank.indexer.files.location import collection_directory
from moverank.indexer.indexing.collection_vectors import (
    current_settings,
    current_vectors,
    open_collection,
    remove_other_vectors,
)
from moverank.indexer.maintenance.current_view import CurrentView
from moverank.indexer.options import SearchOptions, Where
from moverank.indexer.progress import Progress, silent
from moverank.indexer.ranked_texts import QueryText, asked, with_vector
from moverank.indexer.scope import Scope
from moverank.indexer.settings import Settings, check_first_stage
from moverank.indexer.store import Reader, Store, StoredSource, exists, locked_for_writing, repeated

if TYPE_CHECKING:  # what only some methods need is imported there: every command opens a collection
    from moverank.indexer.readers.vectors_by_key import KeyedVectors, VectorsByKey
    from moverank.indexer.search.document_frequencies import DocumentFrequencies
    from moverank.indexer.search.engine_scores import Scores
    from moverank.indexer.search.neighbours import Neighbours
    from moverank.indexer.search.pairs import Pairs
    from moverank.indexer.snapshot.index_choice import IndexInUse
    from moverank.rerank.distance.explain import Explanation
    from moverank.rerank.distance.why_not import WhyNot
    from moverank.rerank.ranking import Ranking
    from moverank.rerank.words.embedding import Embedding

_NO_SCORES = repeat(None)
_WITHOUT_SOURCE = Scope(unknown=True)


class Collection(StoredDocuments):
    """An open collection; close it, or use it in a `with` block. Get one by `create` or `open`, not by the constructor.

    It is also a container of its documents: `for document in collection`, `len`, `key in collection`, `get`, `keys`.

    Search methods take a `SearchOptions`, or its fields as keywords: `search("late train", k=3)`. They use the state
    at the first search until `refresh`, and raise NoKnownWords, UsageError and CollectionError.
    """

    def __init__(
        self, path: Path, store: Store, settings: Settings, embedding: "Embedding | None", wait: float = 0.0
    ) -> None:
        self.path, self.settings, self.wait = path, settings, wait
        self._store, self._embedding = store, embedding
        self._view = CurrentView(store, path, self._searchable_state)

    @staticmethod
    def exists(path: str | Path) -> bool:
        """Return whether a directory holds a collection."""
        return exists(collection_directory(path))

    @classmethod
    def create(
        cls,
        path: str | Path,
        settings: Settings | None = None,
        *,
        trust_pickle: bool = False,
        wait: float = 0.0,
        progress: Progress = silent,
    ) -> Self:
        """Create an empty collection in the directory `path`, and import word vectors if the settings name a source.

        `settings`: None for the defaults. `trust_pickle`: load pickled vectors, which can run any code. `wait`: seconds
        to wait for another writer. `progress`: called while vectors are imported. Raises UsageError for invalid
        settings, VectorsError for unusable vectors, and CollectionError if there is a collection already. A failure
        leaves nothing behind.
        """
        from moverank.indexer.indexing.creation import create

        directory = collection_directory(path)
        created = create(directory, settings or Settings(), trust_pickle=trust_pickle, wait=wait, progress=progress)
        return cls(directory, *created, wait)

    @classmethod
    def open(cls, path: str | Path, *, wait: float = 0.0) -> Self:
        """Open the collection in the directory `path`; NoCollection without one, CollectionError if it is not usable.

        `wait`: seconds that each change waits for another writer.
        """
        directory = collection_directory(path)
        return cls(directory, *open_collection(directory), wait)

    def discard(self) -> None:
        """Close the collection; remove it if nothing was ever committed and no other process is writing to it."""
        from moverank.indexer.indexing.creation import remove_if_empty

        self._view.close()
        remove_if_empty(self._store, self.path)

    def close(self) -> None:
        """Close the database and all files."""
        self._view.close()
        self._store.close()

    def refresh(self) -> None:
        """Make changes by other processes visible: searches otherwise use the state at the first search."""
        self._view.close()
        self.settings, self._embedding = current_settings(self._store, self.path, self._embedding)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def has_vectors(self) -> bool:
        """Return whether there are word vectors yet: training waits for enough text."""
        return self._embedding is not None

    @property
    def embedding(self) -> "Embedding":
        """Return the word vectors; CollectionError where there are none yet."""
        if self._embedding is None:
            raise CollectionError(f"{self.path} has no word vectors yet: index more text, and they are trained on it")
        return self._embedding

    @property
    def directory(self) -> Path:
        """Return the directory of the collection: of one in a database, that of its derived files."""
        return self.path

    @property
    def revision(self) -> int:
        """Return the number of the last committed change, 0 before the first."""
        with self._store.reading() as reader:
            return reader.revision()

    @property
    def coverage(self) -> float | None:
        """Return the share of the running words that have a vector, 0 to 1; None if there are no words.

        Stop words are left out. Words without a vector do not count in a distance.
        """
        from moverank.indexer.snapshot.coverage import coverage

        with self._store.reading() as reader:
            return coverage(reader, self.path, *self._state(reader)).share

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Open a consistent view of the database."""
        with self._store.reading() as reader:
            yield reader

    @contextmanager
    def contents(self, where: Where | None = None) -> Iterator[Contents]:
        """Open one state of the documents that pass a filter, as in `SearchOptions.where`."""
        with self._store.reading() as reader:
            yield Contents(reader, where)
        if self._store.reopen_if_changed():
            self.refresh()
            raise CollectionError(f"{self.path} was changed by another process while it was read: try again")

    def change_settings(self, *, progress: Progress = silent, **choices: Any) -> None:
        """Change settings that may change later: weights, gamma, title weight, first stage and its place, faiss.

        Raises SettingsError for any other that differs. No text is read again: weights derive from the stored counts.
        `progress` is called while vectors are written to a database.
        """
        from moverank.indexer.indexing.settings_change import change_settings

        with locked_for_writing(self._store, self.path, self.wait):
            self.refresh()
            state = (self._store, self.path, self.settings, self._embedding)
            self.settings = change_settings(*state, choices, progress)

    def index(
        self,
        records: Iterable[Document | Rejection],
        *,
        vectors: "KeyedVectors | VectorsByKey | None" = None,
        scope: Scope = _WITHOUT_SOURCE,
        prune: bool = False,
        confirmed: bool = False,
        dry_run: bool = False,
        strict: bool = False,
        upkeep: bool = True,
        rejected: Callable[[Rejection], None] = lambda _: None,
        changed: Callable[[str, str], None] = lambda _, __: None,
        progress: Progress = silent,
    ) -> Changes:
        """Add or update documents; with `prune`, remove those of the `scope` that the `records` do not contain.

        `vectors`: vectors of the documents for the first stage `given`, instead of those in `records`: a mapping of
        keys to vectors, or a list of keys (n,) with a matrix (n, d). All of a collection have the same dimension.
        The default scope is all documents without a source: those which were added by a program, not read from files.
        Unless it is `confirmed`, PruneRefused is raised, and nothing changes, if more than half would be removed.
        `dry_run`: change nothing, and return what would be changed; `changed` is called with "added", "updated" or
        "removed" and each key. Unchanged documents, recognised by a digest, are skipped. Bad records are passed to
        `rejected`; a `strict` run raises RecordError at the first and writes nothing. Unless the word vectors were
        imported, they are trained on the collection's texts if there are none yet, and again when the texts have grown
        much: see the manual's page `settings`. `progress` is called during training and compaction. With `upkeep`
        False, training and compaction are left to a later `upkeep`, and the coverage is not measured: that is faster
        for many small changes. Raises LockedError while another process writes.
        """
        from moverank.indexer.indexing.stage_update import stage_follower
        from moverank.indexer.indexing.sync import Sync
        from moverank.indexer.indexing.word_counts import WordCounter
        from moverank.indexer.readers.vectors_by_key import VectorsByKey
        from moverank.rerank.words.tokenizer import Tokenizer

        flags = {"prune": prune, "confirmed": confirmed, "dry_run": dry_run, "strict": strict, "upkeep": upkeep}
        for name, value in flags.items():
            switch(name, value)
        items("records", records)
        with locked_for_writing(self._store, self.path, self.wait):
            self.refresh()
            check_first_stage(self.settings)
            counter = WordCounter(Tokenizer(frozenset(self.settings.stop_words)), self._embedding)
            salt = self.settings.tokens_digest()
            callbacks: dict[str, Any] = {"rejected": rejected, "changed": changed}
            if not dry_run:
                callbacks["follow"] = stage_follower(self._store, self.path, self.settings, self._embedding)
            sync = Sync(self._store, counter, salt, scope=scope, strict=strict, **callbacks)
            if vectors is not None:
                records = VectorsByKey.of(vectors).attached(records)
            changes = sync.run(records, prune=prune, confirmed=confirmed, dry_run=dry_run)
            if dry_run:
                return changes
            self._view.close()
            return self._fit_and_compact(changes, progress) if upkeep else changes

    def upkeep(self, *, progress: Progress = silent) -> Changes:
        """Train word vectors and compact if that is due after changes without; see `index`. Raises LockedError."""
        with locked_for_writing(self._store, self.path, self.wait):
            self.refresh()
            self._view.close()
            with self._store.reading() as reader:
                found = Changes(unchanged=reader.document_count(), revision=reader.revision())
            return self._fit_and_compact(found, progress)

    def _fit_and_compact(self, changes: Changes, progress: Progress) -> Changes:
        """Train word vectors and compact if that is due, and return the `changes` with the coverage."""
        from moverank.indexer.indexing.automatic_training import fit_vectors, may_train

        if not may_train(self.settings, self._embedding):
            self._compact(progress)
            return replace(changes, coverage=self.coverage)  # counted faster in the new snapshot
        fitted = fit_vectors(self._store, self.path, self.settings, self._embedding, changes, progress)
        self.settings, self._embedding, changes = fitted
        self._compact(progress)
        return changes

    def sources(self) -> list[StoredSource]:
        """Return the sources that documents were read from, with their numbers of documents."""
        with self._store.reading() as reader:
            return [source for source in reader.sources() if source.documents]

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
        """Remove documents by key; if any key is unknown, remove nothing and raise UnknownKey.

        `where`, `source`: remove instead the documents that pass this filter, those of this source or of a part of one,
        named as `moverank info --source` lists it, or with both those of the source that pass the filter. UsageError if
        these are all documents and a filter chose them, unless `everything` confirms it; CollectionError for a source
        that no document came from. `dry_run`: change nothing, and return the changes that there would be. `upkeep`: as
        for `index`.
        """
        from moverank.indexer.indexing.removal import Selection, count_documents, remove_documents
        from moverank.indexer.indexing.stage_update import stage_follower

        for name, value in {"everything": everything, "dry_run": dry_run, "upkeep": upkeep}.items():
            switch(name, value)
        keys = texts("keys", keys)
        chosen = Selection(keys, where, source, everything=everything or dry_run)
        if dry_run:
            return count_documents(self._store, chosen)
        with locked_for_writing(self._store, self.path, self.wait):
            self.refresh()
            check_first_stage(self.settings)
            follow = stage_follower(self._store, self.path, self.settings, self._embedding)
            changes = remove_documents(self._store, chosen, follow)
            self._view.close()
            if upkeep:
                self._compact(progress)
        return changes

    def refit(
        self,
        *,
        embedding: str | None = None,
        vectors: bool = False,
        train_options: Sequence[str] | None = None,
        normalize: bool | None = None,
        trust_pickle: bool = False,
        progress: Progress = silent,
    ) -> None:
        """Fit the first stage's encoder again, to the current documents; without it, the existing fit encodes new ones.

        `vectors`: first train the word vectors again on all texts. `embedding`: replace them by those of a file, by
        "gensim:NAME", or by trained ones ("train", "lsi"); no text is read again for imported ones. `train_options`,
        `normalize`, `trust_pickle`: as for a new collection; None: as before, or the default for vectors of another
        kind. Searches see either the old vectors or the new ones. Raises LockedError while another process writes,
        UsageError for invalid choices, VectorsError for unusable vectors; nothing is changed then.
        """
        from moverank.indexer.indexing.vectors_change import change_vectors

        given = {"embedding": embedding, "train_options": train_options and tuple(train_options)}
        choices = {name: value for name, value in (given | {"normalize": normalize}).items() if value is not None}
        changed = vectors or embedding is not None
        if choices and not changed:
            raise UsageError("options of word vectors need --vectors or --embedding")
        with locked_for_writing(self._store, self.path, self.wait):
            self.refresh()
            if changed:
                now = change_vectors(self._store, self.path, choices, trust_pickle=trust_pickle, progress=progress)
                self.settings, self._embedding = now.settings, now.embedding
            self._compact(progress, refit=True, stage_is_new=changed)

    def _state(self, reader: Reader) -> "tuple[Settings, Embedding | None]":
        """Return the settings and word vectors of the state of `reader`, which another process may have changed."""
        stored = reader.settings()
        self.settings, self._embedding = (
            Settings.restored(stored),
            current_vectors(reader, self.path, stored, self._embedding),
        )
        return self.settings, self._embedding

    def _searchable_state(self, reader: Reader) -> "tuple[Settings, Embedding]":
        return self._state(reader)[0], self.embedding

    def _compact(self, progress: Progress, *, refit: bool = False, stage_is_new: bool = False) -> None:
        """Write derived data if that is due; `stage_is_new`: the first stage in the database has just been fitted."""
        from moverank.indexer.indexing.stage_update import keep_stage
        from moverank.indexer.snapshot.compaction import compact_if_due, needs_snapshot

        def compact() -> None:
            remove_other_vectors(self._store, self.path)
            again = refit and not stage_is_new
            keep_stage(self._store, self.path, self.settings, self._embedding, progress, refit=again)
            if self._embedding is not None and needs_snapshot(self.path, self.settings):
                compact_if_due(self._store, self.path, self.settings, self._embedding, progress, refit=refit)

        self._view.close()
        repeated(compact)  # the change before it was committed

    def prepare(self, options: SearchOptions | None = None, *, progress: Progress = silent, **fields: Any) -> None:
        """Compute what searches with these options need of all documents: distances from a sample for mutual proximity.

        A search does so itself if it is the first, but without `progress`. An interrupted run continues later.
        """
        chosen = SearchOptions.of(options, fields)
        self._view.run_search(lambda searcher: searcher.prepare(chosen, progress), chosen)

    def search(
        self,
        query: QueryText,
        options: SearchOptions | None = None,
        *,
        vector: Iterable[float] | None = None,
        **fields: Any,
    ) -> "Ranking":
        """Find the documents nearest to a text, or to a `Document`: its title and ranks count as those of stored ones.

        Its key does not matter: a stored document with the same content is a hit at distance 0. `vector`: that of the
        query where the first stage is `given`, instead of the vector of a `Document`; QueryVectorError if it has none
        although candidates are chosen by it, or an unusable one.
        """
        chosen, text = SearchOptions.of(options, fields), with_vector(query, vector, self.settings.encoder)
        return self._view.run_search(lambda searcher: searcher.search(text, chosen), chosen)

    def similar(self, key: str, options: SearchOptions | None = None, **fields: Any) -> "Ranking":
        """Find the documents nearest to a stored one, which is excluded. Raises UnknownKey."""
        chosen = SearchOptions.of(options, fields)
        return self._view.run_search(lambda searcher: searcher.similar(key, chosen), chosen)

    def search_many(
        self, queries: Iterable[QueryText], options: SearchOptions | None = None, **fields: Any
    ) -> "Iterator[Ranking]":
        """Find the documents nearest to each of many texts or `Document`s, in order, faster than one by one.

        A query without any known word has no hits; `Ranking.problem` gives the reason.
        """
        chosen = SearchOptions.of(options, fields)
        return self._view.run_searches(lambda searcher: searcher.search_many(queries, chosen), chosen)

    def similar_many(
        self, keys: Iterable[str], options: SearchOptions | None = None, **fields: Any
    ) -> "Iterator[Ranking]":
        """Find the documents nearest to each of many stored ones; see `search_many`."""
        chosen = SearchOptions.of(options, fields)
        return self._view.run_searches(lambda searcher: searcher.similar_many(keys, chosen), chosen)

    def rerank(
        self,
        query: QueryText,
        keys: Sequence[str],
        k: int | None = None,
        scores: "Scores | None" = None,
        rank: str | None = None,
        gamma: float | None = None,
        *,
        full: bool = False,
    ) -> "Ranking":
        """Rank stored documents, the candidates of another engine, by their stored words: no text is read.

        All of them come back, as of `Reranker.rank`, which has the same options; with `full`, they have their whole
        texts, which are read then. A key that the collection lacks comes
        last, as `wordless`; UnknownKey if it lacks all of them.
        """
        options = SearchOptions(rank=rank, gamma=gamma, full=full)
        return self._view.run(lambda searcher: searcher.rerank(query, keys, k, scores, options))

    def rerank_many(
        self,
        queries: Iterable[QueryText],
        keys: Iterable[Sequence[str]],
        k: int | None = None,
        scores: "Iterable[Scores | None]" = _NO_SCORES,
        rank: str | None = None,
        gamma: float | None = None,
        *,
        full: bool = False,
    ) -> "Iterator[Ranking]":
        """Rank the documents `keys` of each of many queries, in order, faster than one by one; see `rerank`.

        A query that cannot be ranked has a `problem`, and its candidates in the order given, as wordless.
        """
        options = SearchOptions(rank=rank, gamma=gamma, full=full)
        given = (items(name, value) for name, value in (("queries", queries), ("keys", keys), ("scores", scores)))
        tasks = ((query, own, known) for query, own, known in zip(*given, strict=False))
        return self._view.run_many(lambda searcher: searcher.rerank_many(tasks, k, options), options)

    def document_frequencies(self, languages: Iterable[str] = ()) -> "DocumentFrequencies":
        """Return in how many documents each word occurs, and each stem of some `languages`, for `Reranker`."""
        return self._view.run(lambda searcher: searcher.document_frequencies(set(texts("languages", languages))))

    def explain(
        self,
        query: QueryText | None = None,
        key: str = "",
        *,
        similar: str | None = None,
        vector: Iterable[float] | None = None,
        gamma: float | None = None,
        rank: str | None = None,
    ) -> "Explanation":
        """Return the exact distance of a text or record, `query`, from the document `key`, and its flows.

        `similar`: instead of a `query`, the key of a stored document that is compared with the other one.
        `gamma`: sensitivity to rank, and `rank`: the ranking whose terms are explained; by default the collection's.
        `vector` as in `search`. Raises UnknownKey.
        """
        options, text = SearchOptions(gamma=gamma, rank=rank), asked(query, similar, vector, self.settings.encoder)
        return self._view.run(lambda searcher: searcher.explain(text, key, options))

    def why_not(
        self,
        query: QueryText | None = None,
        key: str = "",
        options: SearchOptions | None = None,
        *,
        similar: str | None = None,
        vector: Iterable[float] | None = None,
        **fields: Any,
    ) -> "WhyNot":
        """Return the stage at which a search for `query` excludes the document `key`, with its bounds and distance.

        `options` and `vector` are those of the search; `similar` as in `explain`. Raises UnknownKey.
        """
        chosen, text = SearchOptions.of(options, fields), asked(query, similar, vector, self.settings.encoder)
        return self._view.run(lambda searcher: searcher.why_not(text, key, chosen))

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
    ) -> "Pairs":
        """Find all pairs of documents whose distance is at most `within`, or the `k` nearest of them, exactly.

        `rank`: "wmd" or "pwmd" with options, by default with the collection's gamma and word weights; or a sum, by the
        larger of its totals with either document as the query, in as many searches as there are documents. `gamma` and
        `where` as in `SearchOptions`. `unknown`: words without a vector are "ignored", or "far" from all other words.
        `progress` is called after each document; an interrupted run continues at the
        next call with the same arguments. Raises UsageError for other rankings, and without `within` and `k`.
        """
        from moverank.indexer.search.pairs import far_words, pair_options

        options, limit = pair_options(within, k, rank, gamma, where, self.settings.ranking)
        far = far_words(unknown)
        return self._view.run(lambda searcher: searcher.pairs(limit, k, options, progress, far=far))

    def neighbours(self, k: int = 10, *, gamma: float | None = None, progress: Progress = silent) -> "Neighbours":
        """Find the exact `k` nearest neighbours of every document that has a bag, by one search for each.

        `gamma`: sensitivity to rank, by default the collection's. `progress` is called after each search.
        """
        return self._view.run(lambda searcher: searcher.neighbours(k, gamma, progress))

    def index_in_use(self) -> "IndexInUse | None":
        """Return the FAISS index of the first stage; None before there are enough documents for one."""
        from moverank.indexer.snapshot.snapshot_reader import newest_snapshot

        with self._store.reading() as reader:
            settings, embedding = self._state(reader)
            base = newest_snapshot(reader, self.path, settings, embedding) if embedding else None
        return base.index if base else None

    def info(self) -> dict[str, Any]:
        """Return sizes, revision and settings by name."""
        from moverank.indexer.contents.summary import summary
        from moverank.indexer.snapshot.coverage import coverage
        from moverank.indexer.snapshot.database_stage import StageRecord

        with self._store.reading() as reader:
            settings, embedding = self._state(reader)
            index, record = self.index_in_use(), StageRecord.of(reader.settings())
            in_use = {
                "faiss_in_use": index.factory if index else None,
                "database_stage": str(record) if record else None,
            }
            vectors = (len(embedding.words), embedding.dim) if embedding else (0, 0)
            share = coverage(reader, self.path, settings, embedding).share
            return summary(reader, self.path, settings, vectors, share, in_use)
