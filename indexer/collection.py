"""A collection: one directory with documents, word vectors, and derived files for fast searches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from moverank.indexer import indexing, reading
from moverank.indexer.errors import CollectionError, UsageError
from moverank.indexer.files.location import collection_directory
from moverank.indexer.indexing.collection_vectors import (
    current_settings,
    current_vectors,
    open_collection,
    remove_other_vectors,
)
from moverank.indexer.indexing.followers import new_follower
from moverank.indexer.operations.operated import Operated
from moverank.indexer.operations.operation import Found, OperatedState, Operation, Work
from moverank.indexer.operations.operation_registry import operation_named
from moverank.indexer.state.contents import Contents
from moverank.indexer.state.follower import Follower
from moverank.indexer.state.open_state import OpenState
from moverank.indexer.state.summary import StoredDocuments, summary
from moverank.indexer.store import Reader, Store, StoredSource, Writer, exists, locked_for_writing, repeated
from moverank.indexer.values.arguments import items, switch, texts
from moverank.indexer.values.documents import Changes, Document, Rejection
from moverank.indexer.values.queries import QueryText, StoredKey
from moverank.indexer.values.ranking_spec import RankingSpec
from moverank.indexer.values.scope import Scope
from moverank.indexer.values.search_options import Progress, SearchOptions, Where, silent
from moverank.indexer.values.settings import Settings, check_first_stage
from moverank.indexer.values.word_factors import CorpusVocabulary
from moverank.rerank.words.languages import AUTO_LANGUAGE
from moverank.rerank.words.tokenizer import StopWords

if TYPE_CHECKING:  # only the methods that need these import them: every command opens a collection
    from moverank.indexer.indexing.removal import DocumentsToRemove
    from moverank.indexer.indexing.uncompared import Uncompared
    from moverank.indexer.reading.inputs.vectors_by_key import KeyedVectors, VectorsByKey
    from moverank.indexer.search.differences import Facts
    from moverank.indexer.search.document_frequencies import DocumentFrequencies
    from moverank.indexer.search.pairs import Neighbours
    from moverank.indexer.snapshot.faiss_index import IndexInUse
    from moverank.indexer.state.counted_documents import CountedDocuments
    from moverank.indexer.values.queries import Scores
    from moverank.rerank.ranking import Ranking
    from moverank.rerank.words.detection import Detected
    from moverank.rerank.words.embedding import Embedding

_NO_SCORES = repeat(None)
_WITHOUT_SOURCE = Scope(unknown=True)


class Collection(Operated, StoredDocuments):
    """An open collection; close it, or use it in a `with` block. Get one by `create` or `open`, not by the constructor.

    It is also a container of its documents: `for document in collection`, `len`, `key in collection`, `get`, `keys`.

    Search methods take a `SearchOptions`, or its fields as keywords: `search("late train", k=3)`. They use the state
    at the first search until `refresh`, in PostgreSQL until others change the collection; they raise NoKnownWords,
    UsageError and CollectionError.
    """

    settings: Settings

    def __init__(
        self, path: Path, store: Store, settings: Settings, embedding: "Embedding | None", wait: float = 0.0
    ) -> None:
        self.path, self.settings, self.wait = path, settings, wait
        self.detected: Detected | None = None
        self._followers = dict[str, Any]()
        self._moving = False  # documents from another shard, which are not new
        self._store, self._embedding = store, embedding
        self._states = Follower(OpenState, store, path, lambda: self._embedding, self._opened)

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
        directory = collection_directory(path)
        created = indexing.create_collection(
            directory, settings or Settings(), trust_pickle=trust_pickle, wait=wait, progress=progress
        )
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
        self._states.close()
        indexing.remove_if_empty(self._store, self.path)

    def close(self) -> None:
        """Close the database and all files."""
        with closing(self._store):  # also where a damaged database cannot end the transaction of a state
            self._states.close()

    def changed(self) -> bool:
        """Return whether there is a later state than the searched one; CollectionError if the database was removed."""
        return self._states.is_behind()

    def refresh(self) -> None:
        """Make changes by other processes visible: searches otherwise use the state at the first search."""
        self._states.close()
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
            raise CollectionError(
                f"{self.path} has no word vectors yet: index more text, or the same again if their training was "
                "interrupted; `refit --embedding FILE` reads them"
            )
        return self._embedding

    @property
    def directory(self) -> Path:
        """Return the directory of the collection; for a collection in a database, the directory of derived files."""
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
        with self._store.reading() as reader:
            return indexing.measured_coverage(reader, self.path, *self._state(reader)).share

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Open a consistent view of the database, as of the last commit."""
        self._store.reopen_if_changed(self._states.close)
        with self._store.reading() as reader:
            yield reader

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """Hold the writer's lock, and open a transaction. Raises LockedError while another process writes."""
        with locked_for_writing(self._store, self.path, self.wait), self._store.writing() as writer:
            yield writer

    @contextmanager
    def contents(self, where: Where | None = None) -> Iterator[Contents]:
        """Open one state of the documents that pass a filter, as in `SearchOptions.where`."""
        with self._store.reading() as reader:
            yield Contents(reader, where)
        if self._store.reopen_if_changed(self._states.close):
            self.refresh()
            raise CollectionError(f"{self.path} was changed by another process while it was read: try again")

    def change_settings(self, **choices: Any) -> None:
        """Change settings that may change later: weights, gamma, title weight, rank, first stage, faiss.

        Raises SettingsError for any other setting that differs. No text is read again: stored counts give the weights.
        """
        with locked_for_writing(self._store, self.path, self.wait):
            self.refresh()
            state = (self._store, self.path, self.settings, self._embedding)
            self.settings = indexing.change_settings(*state, choices)

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
        dedupe: float | None = None,
        upkeep: bool = True,
        rejected: Callable[[Rejection], None] = lambda _: None,
        changed: Callable[[str, str], None] = lambda _, __: None,
        progress: Progress = silent,
    ) -> Changes:
        """Add or update documents; with `prune`, remove documents of the `scope` that `records` lack.

        `vectors`: vectors of the documents for the first stage `given`, instead of vectors in `records`: a mapping of
        keys to vectors, or a list of keys (n,) with a matrix (n, d). All vectors of a collection have one dimension.
        The default scope is all documents without a source: documents that a program added, not read from files.
        Unless it is `confirmed`, PruneRefused is raised, and nothing changes, if more than half would be removed.
        `dry_run`: change nothing, and return what would be changed; `changed` is called with "added", "updated" or
        "removed" and each key. Unchanged documents, recognised by a digest, are skipped. Bad records are passed to
        `rejected`; a `strict` run raises RecordError at the first and writes nothing. `dedupe`: once documents are
        stored, those new and changed ones are removed that are within this distance of a kept one, as by the method
        `dedupe` in the order "first"; the documents that were there before are kept. `changed` is called with
        "duplicate" and the key of each; events of watches that they have yielded stay. Raises CollectionError if there
        are no word vectors to compare documents by.
        Unless the word vectors were imported, they are trained on the collection's texts if there are none yet, and
        again when the texts have grown much: see the manual's page `settings`. `progress` is called during training,
        comparison and compaction. With `upkeep` False, training and compaction are left to a later `upkeep`, and the
        coverage is not measured: that is faster for many small changes. Raises LockedError while another process
        writes.
        """
        flags = {"prune": prune, "confirmed": confirmed, "dry_run": dry_run, "strict": strict, "upkeep": upkeep}
        for name, value in flags.items():
            switch(name, value)
        items("records", records)
        within = None if dedupe is None else indexing.check_dedupe(dedupe, dry_run=dry_run)
        with self._locked():
            settings, records, self.detected = indexing.with_language(self.settings, records)
            settings, records = indexing.with_vocabulary(indexing.with_words_of(self._embedding, settings), records)
            counter = indexing.WordCounter(settings.tokenizer, self._embedding)
            new = indexing.Uncompared(self._store, within)
            followers = [] if dry_run else self._run_followers(settings)
            follow = [] if dry_run else [new.follow, *(one.follow for one in followers)]
            callbacks = indexing.SyncCallbacks(rejected, changed, new.add, follow=follow)
            if settings != self.settings:
                callbacks = replace(callbacks, begin=lambda writer: writer.set_settings(settings.stored()))
            salt = settings.tokens_digest()
            sync = indexing.Sync(self._store, counter, salt, scope=scope, strict=strict, callbacks=callbacks)
            if vectors is not None:
                records = reading.VectorsByKey.of(vectors).attached(records)
            changes = sync.run(records, prune=prune, confirmed=confirmed, dry_run=dry_run)
            if dry_run:
                return changes
            self.settings = settings
            changes = replace(changes, events=sum(one.events for one in followers))
            if self.detected:
                changes = self._follow_language(changes)
            self._states.close()
            changes = self._fit_and_compact(changes, progress) if upkeep else changes
            return self._without_duplicates(changes, new, changed, progress, upkeep=upkeep)

    def _without_duplicates(
        self,
        changes: Changes,
        new: "Uncompared",
        changed: Callable[[str, str], None],
        progress: Progress,
        *,
        upkeep: bool,
    ) -> Changes:
        """Remove `new` documents that are near other ones, and return the `changes` of the run; see `index`."""
        within = new.within
        if within is None or not len(new.ids):
            return changes
        if self._embedding is None:
            raise CollectionError(
                "documents were stored, but there are no word vectors yet to compare them by: index more text, and the "
                "next run with dedupe compares them, too"
            )
        self._compact(progress)  # so that the search opens a stored snapshot, and need not write
        found = self._states.run(lambda state: state.searcher.duplicates_among(new.ids, within, progress))
        removed = self._removed(indexing.DocumentsToRemove([*found.values()]), progress, new.clear, upkeep=upkeep)
        for key in found.values():
            changed("duplicate", key)
        coverage = self.coverage if upkeep and found else changes.coverage
        return replace(new.without(found, changes), revision=removed.revision, coverage=coverage)

    def _take_over(self, documents: Iterable[Document]) -> None:
        """Index documents that another shard had: they are not new, and yield no events of watches."""
        self._moving = True
        try:
            self.index(documents, upkeep=False, strict=True)
        finally:
            self._moving = False

    def _run_followers(self, settings: Settings) -> list[Any]:
        """Return what follows the transactions of a run that begins; see `followers`. The lock must be held."""
        with self._store.reading() as reader:
            names = () if self._embedding is None or self._moving else reader.followed()
            self._followers |= {name: new_follower(name) for name in names if name not in self._followers}
            return [self._followers[name].begin(reader, settings, self._embedding) for name in names]

    def _follow_language(self, changes: Changes) -> Changes:
        """Let imported vectors find the forms of words of the language found; return `changes` with the revision."""
        self.refresh()
        if self._embedding is None:
            return changes
        now = indexing.follow_language(self._store, self.path, self.settings, self._embedding)
        if now is None:
            return changes
        self._embedding = now.embedding
        return replace(changes, wordless=now.wordless, revision=now.revision)

    def upkeep(self, *, progress: Progress = silent) -> Changes:
        """Train word vectors and compact if changes without upkeep require it; see `index`. Raises LockedError."""
        with locked_for_writing(self._store, self.path, self.wait):
            self.refresh()
            self._states.close()
            with self._store.reading() as reader:
                found = Changes(unchanged=reader.document_count(), revision=reader.revision())
            return self._fit_and_compact(found, progress)

    def _fit_and_compact(self, changes: Changes, progress: Progress) -> Changes:
        """Train word vectors and compact if the `changes` require it, and return the changes with the coverage."""
        if not indexing.may_train(self.settings, self._embedding):
            self._compact(progress)
            return replace(changes, coverage=self.coverage)  # counted faster in the new snapshot
        fitted = indexing.fit_vectors(self._store, self.path, self.settings, self._embedding, changes, progress)
        self.settings, self._embedding, changes = fitted
        self._compact(progress)
        return changes

    def watched_distance(
        self, query: QueryText, within: float | str, *, rank: str | None = None, gamma: float | None = None
    ) -> tuple[float, RankingSpec]:
        """Return the largest distance of a watch, and its ranking; see `watch`."""
        kind: Any = operation_named("watch")
        watch = kind(name="", query=query, within=within, rank=rank, gamma=gamma)
        found: tuple[float, RankingSpec] = watch.distance(self)
        return found

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

        `where`, `source`: instead of `keys`, remove the documents that pass this filter, the documents of this source,
        or of a part of one as `moverank info --source` lists it, or with both the documents that match both. UsageError
        if a filter chose all documents, unless `everything` confirms it; CollectionError for a source without
        documents. `dry_run`: change nothing, and return what would be changed. `upkeep`: as for `index`.
        """
        for name, value in {"everything": everything, "dry_run": dry_run, "upkeep": upkeep}.items():
            switch(name, value)
        keys = texts("keys", keys)
        chosen = indexing.DocumentsToRemove(keys, where, source, everything=everything or dry_run)
        if dry_run:
            return indexing.count_removals(self._store, chosen)
        with self._locked():
            return self._removed(chosen, progress, upkeep=upkeep)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the writer's lock, with the newest state; UsageError if the first stage cannot be used."""
        with locked_for_writing(self._store, self.path, self.wait):
            self.refresh()
            check_first_stage(self.settings)
            yield

    def _removed(
        self,
        chosen: "DocumentsToRemove",
        progress: Progress,
        follow: Callable[[Writer], None] = lambda _: None,
        *,
        upkeep: bool,
    ) -> Changes:
        """Remove the chosen documents, and call `follow` in the same transaction; the lock is held."""
        changes = indexing.remove_documents(self._store, chosen, [follow])
        self._states.close()
        if upkeep:
            self._compact(progress)
        return changes

    def _checked_writable(self) -> Self:
        with self._locked():
            return self

    def _remove_unless_changed(self, keys: Sequence[str], state: tuple[Any, Settings], progress: Progress) -> Changes:
        with self._locked():
            indexing.check_unchanged(state, (self.revision, self.settings))
            return self._removed(indexing.DocumentsToRemove(keys), progress, upkeep=True)

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
        """Fit the first stage's encoder again, to the current documents; without it, the existing fit encodes new ones.

        `vectors`: first train the word vectors again on all texts. `embedding`: replace them by vectors of a file or of
        a model's directory, by "gensim:NAME" or "hf:NAME", or by training ("train", "lsi"); no text is read again for
        imported ones, unless they have other phrases. `train_options`, `normalize`, `trust_pickle`: as for a new
        collection; None: as before, or the default for vectors of another kind. `language`: split all stored texts
        again by the newest rule, as texts of this language ("auto": the one found from them), without its stop words,
        and train trained vectors again; `stop_words` and `segmentation` as for a new collection, None: the user's own
        words stay. Searches see either the old state or the new one. Raises LockedError while another process writes,
        UsageError for invalid choices, VectorsError for unusable vectors; nothing is changed then.
        """
        given = {"embedding": embedding, "train_options": train_options and tuple(train_options)}
        choices = {name: value for name, value in (given | {"normalize": normalize}).items() if value is not None}
        changed = vectors or embedding is not None
        if choices and not changed:
            raise UsageError("options of word vectors need --vectors or --embedding")
        of_words = {"language": language, "stop_words": stop_words, "segmentation": segmentation}
        words = {name: value for name, value in of_words.items() if value is not None}
        if words and language is None:
            raise UsageError("stop words and segmentation are changed with the language: name it, too (--language)")
        with locked_for_writing(self._store, self.path, self.wait):
            self.refresh()
            self.detected = None
            if language == AUTO_LANGUAGE:
                words = self._found_language() | {name: words[name] for name in words if name != "language"}
            state = (self._store, self.path)
            if changed:
                now = indexing.change_vectors(*state, choices, words, trust_pickle=trust_pickle, progress=progress)
                self.settings, self._embedding = now.settings, now.embedding
            elif words:
                self.settings, self._embedding = indexing.change_language(*state, words, self._embedding, progress)
            self._compact(progress, refit=True)

    def _found_language(self) -> dict[str, str]:
        """Return the settings by the language of the first stored texts; UsageError if there is no text."""
        with self._store.reading() as reader:
            self.detected = indexing.stored_language(reader)
        if not self.detected.texts:
            raise UsageError("there is no text yet from which the language could be found: name it")
        return indexing.settings_of(self.detected)

    def _state(self, reader: Reader) -> "tuple[Settings, Embedding | None]":
        """Return the settings and word vectors of the state of `reader`, which another process may have changed."""
        stored = reader.settings()
        self.settings, self._embedding = (
            Settings.restored(stored),
            current_vectors(reader, self.path, stored, self._embedding),
        )
        return self.settings, self._embedding

    def _opened(self, state: OpenState) -> None:
        """Take over the settings and word vectors of a state that is searched from now on."""
        self.settings, self._embedding = state.settings, state.embedding

    def _compact(self, progress: Progress, *, refit: bool = False) -> None:
        """Write derived data if necessary."""
        from moverank.indexer.snapshot.compaction import compact_if_due

        def compact() -> None:
            remove_other_vectors(self._store, self.path)
            if self._embedding is not None:
                compact_if_due(self._store, self.path, self.settings, self._embedding, progress, refit=refit)

        self._states.close()
        repeated(compact)  # the preceding change is committed already

    def run(self, operation: Operation[Found], *, progress: Progress = silent) -> Found:
        """Return the answer to an operation, on the state that is searched, see `Operation.OF_STATE`."""
        if not operation.OF_STATE:
            return operation.run(cast("OperatedState", self), Work(progress))
        return self._states.run(partial(operation.run, work=Work(progress)))

    def _prepare(self, options: SearchOptions, progress: Progress) -> None:
        self._states.run(lambda state: state.searcher.prepare(options, progress))

    def _answer_many(self, requests: "Iterable[QueryText | StoredKey]", options: SearchOptions) -> "Iterator[Ranking]":
        return self._states.run_many(lambda state: state.searcher.answer_many(requests, options), options)

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
        highlight: bool = False,
        passage: int | None = None,
    ) -> "Iterator[Ranking]":
        """Rank the documents `keys` of each of many queries, in order, faster than one by one; see `rerank`.

        A query that cannot be ranked has a `problem`, and its candidates in the order given, as wordless.
        """
        options = SearchOptions(rank=rank, gamma=gamma, full=full, highlight=highlight, passage=passage)
        given = (items(name, value) for name, value in (("queries", queries), ("keys", keys), ("scores", scores)))
        tasks = ((query, own, known) for query, own, known in zip(*given, strict=False))
        return self._states.run_many(lambda state: state.searcher.rerank_many(tasks, k, options), options)

    def document_frequencies(self, languages: Iterable[str] = ()) -> "DocumentFrequencies":
        """Return in how many documents each word occurs, and each stem of some `languages`, for `Reranker`.

        In the place of a language, "ngrams=4" stands for sequences of four letters.
        """
        return self._states.run(lambda state: state.searcher.document_frequencies(set(texts("languages", languages))))

    def neighbours(self, k: int = 10, *, gamma: float | None = None, progress: Progress = silent) -> "Neighbours":
        """Find the exact `k` nearest neighbours of every document that has a bag, by one search for each.

        By WMD, or P-WMD with a gamma, with the word weights of the collection's ranking. `gamma`: sensitivity to rank,
        by default the collection's. `progress` is called after each search.
        """
        return self._states.run(lambda state: state.searcher.neighbours(k, gamma, progress))

    def counted_documents(self, fields: Iterable[str] = ()) -> "list[CountedDocuments]":
        """Return all documents that have a word, counted, with the numbers in some fields; a list as shards have it."""
        from moverank.indexer.state.counted_documents import CountedDocuments

        with self._store.reading() as reader:
            return [CountedDocuments.of(reader, fields)]

    def facts(self, keys: Sequence[str]) -> "dict[str, Facts]":
        """Return what the documents with some keys state, and how they begin; unknown keys are left out."""
        from moverank.indexer.search.differences import stored_facts

        with self.reading() as reader:
            ids = {found.id: key for key, found in reader.known(list(keys)).items()}
            facts = stored_facts(reader, sorted(ids), self.settings.tokenizer)
        return {ids[id_]: own for id_, own in facts.items()}

    def vectors_of(self, words: Sequence[str]) -> CorpusVocabulary:
        """Return words with their vectors; CollectionError before there are any."""
        return CorpusVocabulary.of(words, self.embedding)

    def index_in_use(self) -> "IndexInUse | None":
        """Return the FAISS index of the first stage; None before there are enough documents for one."""
        from moverank.indexer.snapshot.snapshot_files import newest_snapshot

        with self._store.reading() as reader:
            settings, embedding = self._state(reader)
            base = newest_snapshot(reader, self.path, settings, embedding) if embedding else None
        return base.index if base else None

    def info(self) -> dict[str, Any]:
        """Return sizes, revision and settings by name."""
        with self._store.reading() as reader:
            settings, embedding = self._state(reader)
            index = self.index_in_use()
            vectors = (len(embedding.words), embedding.dim) if embedding else (0, 0)
            covered = indexing.measured_coverage(reader, self.path, settings, embedding)
            return summary(reader, self.path, settings, vectors, covered, index.factory if index else None)
