"""A collection: one directory with documents, their word vectors, and whatever makes searching them quick."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar, Unpack

from moverank.indexer.documents import Changes, Document, Rejection
from moverank.indexer.errors import CollectionError, DamagedFile, LockedError, PruneRefused, TooFewWords, UnknownKey
from moverank.indexer.evaluation.corpus import Corpus, read_corpus
from moverank.indexer.files.directory import DATABASE, VECTORS, exists, locked
from moverank.indexer.files.directory import remove as remove_place
from moverank.indexer.indexing.creation import FINGERPRINT, check_choices, create
from moverank.indexer.indexing.sync import Sync, remove
from moverank.indexer.indexing.train_vectors import TRAINED, assign_rows, train
from moverank.indexer.indexing.word_counts import WordCounter
from moverank.indexer.maintenance.automatic_repair import SnapshotRepairer
from moverank.indexer.progress import Progress, silent
from moverank.indexer.search.neighbours import Neighbours
from moverank.indexer.search.searcher import Asked, Searcher
from moverank.indexer.search.view import newest_snapshot
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.compaction import compact_if_due
from moverank.indexer.snapshot.index_choice import InUse
from moverank.indexer.store import Store, explained, sqlite_url
from moverank.indexer.titles import with_weighty_title
from moverank.indexer.vectors import open_vectors, same_source
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.distance.why_not import WhyNot
from moverank.rerank.ranking import Ranking
from moverank.rerank.runtime.threads import single_threaded_blas
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer

_Answer = TypeVar("_Answer")
_LOOKS = 5  # after so many damaged states one after the other, somebody is at work on the files


class Options(TypedDict, total=False):
    """How to search: the keyword arguments of `Collection.search`."""

    k: int
    depth: int | None
    exact: bool
    distance: str | None
    gamma: float | None
    where: dict[str, list[str]] | None
    explained: bool
    budget: float | None
    blend: str | None


class Collection:
    """An open collection; close it, or use it in a `with` block. Make one with `create`, open one with `open`."""

    def __init__(
        self, path: Path, store: Store, settings: Settings, embedding: Embedding | None, wait: float = 0.0
    ) -> None:
        self.path, self.settings, self.wait = path, settings, wait
        self._store, self._embedding = store, embedding
        self._searcher: Searcher | None = None
        self._mender = SnapshotRepairer(store, path)
        self._reading = ExitStack()

    @staticmethod
    def exists(path: str | Path) -> bool:
        """Say whether a directory holds a collection."""
        return exists(Path(path))

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
        """Make an empty collection and import its word vectors, if the settings name a source of them.

        Raises UsageError for settings that cannot be meant, VectorsError for vectors that cannot be used, and
        CollectionError where there is one already. Nothing is left behind by a failure.
        """
        place = Path(path)
        made = create(place, settings or Settings(), trust_pickle=trust_pickle, wait=wait, progress=progress)
        return cls(place, *made, wait)

    @classmethod
    def open(cls, path: str | Path, *, wait: float = 0.0) -> Self:
        """Open the collection of a directory; CollectionError where there is none that can be used.

        `wait` is for how many seconds a change waits for another process that writes.
        """
        place = Path(path)
        if not exists(place):
            raise CollectionError(f"there is no collection in {place}: make one with `moverank index PATH -i {place}`")
        store = Store(sqlite_url(place / DATABASE))
        try:
            settings, embedding = _chosen(store, place, None)
        except BaseException:
            store.close()
            raise
        return cls(place, store, settings, embedding, wait)

    def discard(self) -> None:
        """Close and remove a collection that holds nothing; leave any other as it is, and one that is written to."""
        try:
            with locked(self.path):
                with self._store.reading() as reader:
                    empty = not reader.revision()
                self.close()
                if empty:
                    remove_place(self.path)
        except LockedError:
            self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._forget()
        self._store.close()

    def refresh(self) -> None:
        """See what others have changed: until then, every answer is given from the state first asked for."""
        self._forget()
        self.settings, self._embedding = _chosen(self._store, self.path, self._embedding)

    def _forget(self) -> None:
        self._searcher = None
        self._reading.close()

    @property
    def has_vectors(self) -> bool:
        """Say whether there are word vectors yet: where none were named, they wait for enough text to train them on."""
        return self._embedding is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def change_settings(self, **choices: Any) -> None:
        """Choose anew what may be chosen later: weights, gamma, first stage, faiss.

        SettingsError for anything else that differs.
        No text is read again: weights are made from the stored counts.
        """
        source = choices.pop("embedding", None)
        if source is not None and source != self.settings.embedding:
            same = source not in TRAINED and same_source(self.path / VECTORS, source)
            choices |= {} if same else {"embedding": source}
        with locked(self.path, self.wait):
            self.refresh()
            changed = self.settings.changed(choices)
            if changed == self.settings:
                return
            check_choices(changed, self._embedding.dim if self._embedding else None)
            with self._store.writing() as writer:
                writer.set_settings(changed.stored())
            self.settings = changed

    def index(
        self,
        records: Iterable[Document | Rejection],
        *,
        prune: bool = False,
        strict: bool = False,
        rejected: Callable[[Rejection], None] = lambda _: None,
        progress: Progress = silent,
    ) -> Changes:
        """Add or update documents; with `prune`, remove all that the records do not name.

        A document is compared with what is stored by a digest, and left alone when it is the same. Bad records are
        passed to `rejected`; a `strict` run raises RecordError at the first and writes nothing. PruneRefused is raised
        when everything is done but the pruning. Where the collection has no word vectors yet, they are trained on its
        texts now, if those are enough. Raises LockedError while another process writes.
        """
        with locked(self.path, self.wait):
            self.refresh()
            tokenizer = Tokenizer(frozenset(self.settings.stop_words))
            counter = WordCounter(tokenizer, self._embedding)
            sync = Sync(self._store, counter, self.settings.tokens_digest(), strict=strict, rejected=rejected)
            changes = sync.run(map(self._weighed, records), prune=prune)
            if self._embedding is None and changes.documents:
                changes = self._train(changes, tokenizer, progress)
            self._fold(progress)
        if prune and sync.refused:
            raise PruneRefused(sync.refused, changes)
        return changes

    def remove(self, keys: Sequence[str], *, progress: Progress = silent) -> Changes:
        """Remove documents by key. UnknownKey names those that are not there, and nothing is removed then."""
        with locked(self.path, self.wait):
            self.refresh()
            with self._store.writing() as writer:
                known = writer.known(list(dict.fromkeys(keys)))
                missing = [key for key in keys if key not in known]
                if missing:
                    raise UnknownKey(f"nothing was removed: no document has the key {', '.join(map(repr, missing))}")
                removed = remove(writer, [document.id for document in known.values()])
                changes = Changes(removed=removed, revision=writer.revision())
            self._fold(progress)
        return changes

    def refit(self, *, progress: Progress = silent) -> None:
        """Fit the first stage's encoder again, to all documents as they are now.

        New documents are encoded as the fit has learned, until it is made again. Raises LockedError.
        """
        with locked(self.path, self.wait):
            self.refresh()
            self._fold(progress, refit=True)

    def _train(self, changes: Changes, tokenizer: Tokenizer, progress: Progress) -> Changes:
        """Train the vectors that every search will need, and tell the words about them.

        Texts too few to train on are kept: the next run tries again.
        """
        normalize = self.settings.normalize is not False
        vectors = self.path / VECTORS
        shutil.rmtree(vectors, ignore_errors=True)  # of a run that was killed before it could use them
        settings = self.settings
        try:
            method, embedding = train(
                self._store,
                vectors,
                settings.embedding,
                settings.train_options,
                tokenizer,
                normalize=normalize,
                progress=progress,
            )
        except TooFewWords:
            return replace(changes, wordless=changes.documents)
        self.settings = replace(settings, embedding=method, normalize=normalize)
        check_choices(self.settings, embedding.dim)
        with self._store.writing() as writer:
            wordless = assign_rows(writer, embedding)
            writer.set_settings(self.settings.stored() | {FINGERPRINT: embedding.fingerprint})
            revision = writer.revision()
        self._embedding = embedding
        return replace(changes, wordless=wordless, revision=revision)

    def _fold(self, progress: Progress, *, refit: bool = False) -> None:
        self._forget()
        if self._embedding is not None:
            compact_if_due(self._store, self.path, self.settings, self._embedding, progress, refit=refit)

    def search(self, query: str, **options: Unpack[Options]) -> Ranking:
        """Find the documents nearest to a text.

        `k` (10): hits wanted. `depth`: how many candidates the first stage hands over; `exact`: all documents. Where
        neither is given, all up to two million documents, 20,000 candidates in a larger collection.
        `distance`: "wmd", "pwmd", "rwmd" or "wcd"; default P-WMD where the collection has a gamma, else WMD; or a
        scorer, as "bm25" or "bm25:k1=0.9,b=0.4". `blend`: a scorer with a share in the order, "bm25=0.3", or "bm25" to
        join ranks. `gamma`: sensitivity to rank, default the collection's. `where`: field name -> accepted values; only
        documents that have one of them in every field named are candidates. `explained`: hits carry their flows.
        `budget`: seconds after which the search ends with what it has; `Ranking.largest_error` then says what may be
        missing. `exact` with a `depth` begins with the candidates of the first stage. Raises NoKnownWords, UsageError,
        CollectionError.
        """
        return self._ask(lambda searcher: searcher.search(query, Asked(**options)))

    def search_many(self, queries: Iterable[str], **options: Unpack[Options]) -> Iterator[Ranking]:
        """Answer many queries in their order, quicker than one by one; see `search`.

        One without any known word has no hits, and says so in `Ranking.problem`.
        """
        asked = Asked(**options)
        return self._ask_many(lambda searcher: searcher.search_many(queries, asked), asked)

    def similar_many(self, keys: Iterable[str], **options: Unpack[Options]) -> Iterator[Ranking]:
        """Find the documents nearest to each of many stored ones, quicker than one by one; see `search_many`."""
        asked = Asked(**options)
        return self._ask_many(lambda searcher: searcher.similar_many(keys, asked), asked)

    def similar(self, key: str, **options: Unpack[Options]) -> Ranking:
        """Find the documents nearest to a stored one, which is left out; see `search`. Raises UnknownKey."""
        return self._ask(lambda searcher: searcher.similar(key, Asked(**options)))

    def explain(self, query: str, key: str, *, gamma: float | None = None) -> Explanation:
        """Return the exact distance of a text and a document, and the flows behind it. Raises UnknownKey."""
        return self._ask(lambda searcher: searcher.explain(query, key, gamma))

    def why_not(self, query: str, key: str, **options: Unpack[Options]) -> WhyNot:
        """Say where a document falls out of a search with these options: each bound of it, and what it had to beat.

        Raises UnknownKey, and what `search` raises.
        """
        return self._ask(lambda searcher: searcher.why_not(query, key, Asked(**options)))

    def neighbours(self, k: int = 10, *, gamma: float | None = None, progress: Progress = silent) -> Neighbours:
        """Find the exact `k` nearest others of every document that has a bag: as many searches as documents."""
        return self._ask(lambda searcher: searcher.neighbours(k, gamma, progress))

    def index_in_use(self) -> InUse | None:
        """Return which FAISS index holds the first stage's vectors; None before there are enough for one."""
        if self._embedding is None:
            return None
        with self._store.reading() as reader:
            base = newest_snapshot(reader, self.path, self.settings, self._embedding)
        return base.index if base else None

    def corpus(self, questions: Sequence[tuple[str, str]] = ()) -> Corpus:
        """Read all documents into memory for experiments, and count questions (id, text) over the same words."""
        if self._embedding is None:
            raise CollectionError(f"{self.path} has no word vectors yet: index more text, and they are trained on it")
        tokenizer = Tokenizer(frozenset(self.settings.stop_words))
        with self._store.reading() as reader:
            return read_corpus(reader, self._embedding, tokenizer, questions)

    def info(self) -> dict[str, Any]:
        """Return sizes, revision and settings by name."""
        with self._store.reading() as reader:
            counted = {
                "documents": reader.document_count(),
                "parts": reader.part_count(),
                "wordless": reader.wordless_count(),
                "words": reader.word_count(),
                "known_words": reader.word_count(known=True),
                "fields": reader.field_names(),
                "revision": reader.revision(),
            }
        files = (file for file in self.path.rglob("*") if file.is_file())
        settings = self.settings.stored() | {"stop_words": len(self.settings.stop_words)}
        index = self.index_in_use()
        settings["faiss_in_use"] = index.factory if index else None
        vectors = {"dim": self._embedding.dim, "vectors": len(self._embedding.words)} if self._embedding else {}
        return counted | {"dim": 0, "vectors": 0} | vectors | {"bytes": sum(f.stat().st_size for f in files)} | settings

    def _weighed(self, record: Document | Rejection) -> Document | Rejection:
        """Return a record with its title as often as it counts."""
        return with_weighty_title(record, self.settings.title_weight) if isinstance(record, Document) else record

    def _ask(self, ask: Callable[[Searcher], _Answer]) -> _Answer:
        """Ask the searcher; where it meets a damaged file, have that mended and ask again."""
        for _ in range(_LOOKS):
            searcher, embedding = self._opened()
            try:
                with explained():
                    answer = ask(searcher)
            except DamagedFile as damage:
                self._forget()
                self._mender.mend(self.settings, embedding, [damage])
                continue
            except CollectionError:
                if not self._store.moved():
                    raise
            else:
                if not self._store.moved():
                    return answer
            self._forget()
        return ask(self._opened()[0])

    def _ask_many(self, ask: Callable[[Searcher], Iterator[Ranking]], asked: Asked) -> Iterator[Ranking]:
        """Ask many questions of the searcher, whose files are looked through before the first."""
        self._ask(lambda searcher: searcher.check(asked))
        return _explained(ask(self._opened()[0]))

    def _opened(self) -> tuple[Searcher, Embedding]:
        """Return the searcher of the state that was current when the first question was asked, and its vectors."""
        embedding = self._embedding
        if embedding is None:
            raise CollectionError(f"{self.path} has no word vectors yet: index more text, and they are trained on it")
        for _ in range(_LOOKS):
            if self._searcher is None:
                reader = self._reading.enter_context(self._store.reading())
                view = self._mender.open(reader, self.settings, embedding)
                if view is None:
                    self._forget()
                    continue
                self._searcher = Searcher(reader, view, self.settings, embedding)
                # Held till it closes: each time BLAS gets its threads back, they spin on the next search's cores.
                self._reading.enter_context(single_threaded_blas())
            return self._searcher, embedding
        raise CollectionError(f"{self.path} is being changed by others all the time: try again")


def _explained(rankings: Iterator[Ranking]) -> Iterator[Ranking]:
    with explained():
        yield from rankings


def _chosen(store: Store, place: Path, embedding: Embedding | None) -> tuple[Settings, Embedding | None]:
    """Read the settings as they are now, and open the vectors that go with them unless `embedding` is those."""
    with store.reading() as reader:
        stored = reader.settings()
    if FINGERPRINT not in stored:
        return Settings.restored(stored), None
    if embedding is None or embedding.fingerprint != stored[FINGERPRINT]:
        embedding = _vectors_of(place / VECTORS, stored[FINGERPRINT])
    return Settings.restored(stored), embedding


def _vectors_of(path: Path, fingerprint: str) -> Embedding:
    """Open the vectors that the collection was made with."""
    embedding = open_vectors(path)
    if embedding.fingerprint != fingerprint:
        raise CollectionError(f"{path} holds other word vectors than the collection was made with: put those back")
    return embedding
