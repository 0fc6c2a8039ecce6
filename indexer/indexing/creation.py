"""Creates a collection atomically, after checks of its settings, and removes one that stayed empty."""

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from moverank.indexer.errors import CollectionError, LockedError, UsageError
from moverank.indexer.files.directory import DATABASE, UNFINISHED, VECTORS, clear_unfinished, is_leftover
from moverank.indexer.files.directory import remove_directory as remove_directory
from moverank.indexer.files.location import database_url, display_name
from moverank.indexer.files.systems import sync_path
from moverank.indexer.files.writer_lock import locked
from moverank.indexer.indexing.collection_vectors import (
    FINGERPRINT,
    FOLDER,
    copy_vectors,
    new_vectors_folder,
    publish_vectors,
)
from moverank.indexer.snapshot.faiss_index import check_factory
from moverank.indexer.store import Store, exists, open_store, sqlite_url
from moverank.indexer.values.search_options import Progress
from moverank.indexer.values.settings import AUTO_INDEX, FLAT_INDEX, Settings, check_settings
from moverank.indexer.values.word_factors import check_own_weights, check_trained_weights
from moverank.indexer.vectors.importing import import_vectors
from moverank.indexer.vectors.open_vectors import open_vectors
from moverank.indexer.vectors.word2vec_training import TrainingMethod, training_options
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.segmentation import vocabulary_of

TRAINED = ("auto", "train", "lsi")
"""Values of the setting `embedding` for vectors that are trained on the collection's texts."""


def check_choices(settings: Settings, embedding: Embedding | None = None) -> None:
    """Raise UsageError for invalid settings; `embedding` are the word vectors, None if not known yet."""
    check_settings(settings)
    if embedding:
        check_own_weights(settings.ranking, embedding)
    elif settings.embedding in TRAINED:
        check_trained_weights(settings.ranking, normalize=settings.normalize is not False)
    check_training(settings.embedding, settings.train_options)
    if settings.faiss not in (AUTO_INDEX, FLAT_INDEX):
        space = settings.space(0)
        # The word vectors do not determine the dimension of given ones.
        check_factory(
            settings.faiss,
            None if space or not embedding else embedding.dim,
            products=space is not None and space.products,
        )


def check_training(embedding: str, options: tuple[str, ...]) -> None:
    """Raise UsageError for training options that are invalid with this value of `embedding`."""
    if embedding in ("train", "lsi"):
        training_method(embedding, options)
    elif options:
        raise UsageError("options of training need --embedding train or --embedding lsi")


def training_method(embedding: str, options: tuple[str, ...]) -> tuple[TrainingMethod, dict[str, Any]]:
    """Return the training method and its other options; the option `method` chooses skip-gram or cbow."""
    if embedding == "lsi":
        return "lsi", training_options("lsi", options)
    named = [option.partition("=")[2] for option in options if option.startswith("method=")]
    rest = [option for option in options if not option.startswith("method=")]
    for method in ("skip-gram", "cbow"):
        if method == (named or ["skip-gram"])[-1]:
            return method, training_options(method, rest)
    raise UsageError(f"method={named[-1]}: method must be skip-gram or cbow")


Created = tuple[Store, Settings, Embedding | None]

VectorsMaker = Callable[[Path, Settings], tuple[Settings, Embedding | None]]
"""Writes word vectors to a folder; returns the settings to store, and the vectors, None if they are trained later."""


def create_like(origin: Path, directory: Path, *, wait: float = 0.0) -> None:
    """Create an empty collection in `directory` with the settings and word vectors of the collection in `origin`.

    Raises CollectionError if one of the places cannot be used. A failure leaves nothing behind.
    """
    with closing(open_store(origin)) as store, store.reading() as reader:
        stored = reader.settings()

        def copied(folder: Path, settings: Settings) -> tuple[Settings, Embedding | None]:
            if FINGERPRINT not in stored:
                return settings, None
            copy_vectors(reader, origin, stored, folder)
            return settings, open_vectors(folder)

        new, *_ = _create(directory, Settings.restored(stored), copied, wait)
        new.close()


def create_collection(
    directory: Path, settings: Settings, *, trust_pickle: bool, wait: float, progress: Progress
) -> Created:
    """Create an empty collection in `directory`, and import word vectors if the `settings` name a source.

    `trust_pickle` allows pickled vectors; `wait` is the time in seconds to wait for another writer; `progress` is
    called during the import. Raises UsageError for invalid settings, VectorsError for unusable vectors, and
    CollectionError if there is a collection already. A failure leaves nothing behind.
    """
    check_choices(settings)

    def imported(folder: Path, settings: Settings) -> tuple[Settings, Embedding | None]:
        return _imported(folder, settings, trust_pickle, progress)

    return _create(directory, settings, imported, wait)


def _create(directory: Path, settings: Settings, vectors: VectorsMaker, wait: float) -> Created:
    """Create an empty collection in `directory`, and its word vectors by `vectors`: `create_collection`."""
    _refuse_second(directory, filled=exists(directory))
    try:
        existed = directory.exists()
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CollectionError(f"{directory} cannot be made: {error.strerror}") from error
    shared = database_url(directory) is not None  # then the directory is a cache
    foreign = [file.name for file in directory.iterdir() if not (shared or is_leftover(file))]
    if foreign:
        raise CollectionError(f"{directory} holds {foreign[0]} and no collection: choose another place")
    with locked(directory, wait):
        if not shared:
            _refuse_second(directory, filled=exists(directory))  # another process may have created one meanwhile
        try:
            clear_unfinished(directory)
            if shared:
                return _fill_shared(directory, settings, vectors, wait)
            return _fill(directory, settings, vectors)
        except BaseException:
            clear_unfinished(directory)
            if not existed:
                shutil.rmtree(directory, ignore_errors=True)
            raise


def remove_if_empty(store: Store, directory: Path) -> None:
    """Close a collection's store, and remove the collection if nothing was ever committed to it.

    It is kept while another process is writing to it.
    """
    try:
        with locked(directory):
            with store.reading() as reader:
                empty = not reader.revision()
            if empty and store.shared:
                with store.locked(), store.writing() as writer:
                    writer.clear()
            store.close()
            if empty:
                remove_directory(directory)
    except LockedError:
        store.close()


def _refuse_second(directory: Path, *, filled: bool) -> None:
    if filled:
        raise CollectionError(f"{display_name(directory)} holds a collection already: open it, or choose another place")


def _fill(directory: Path, settings: Settings, vectors: VectorsMaker) -> Created:
    settings, embedding = vectors(directory / VECTORS, settings)
    # The database gets its final name last: if the process is killed before, there is no collection.
    with closing(Store(sqlite_url(directory / UNFINISHED))) as store, store.writing() as writer:
        writer.set_settings(settings.stored() | ({FINGERPRINT: embedding.fingerprint} if embedding else {}))
    (directory / UNFINISHED).rename(directory / DATABASE)
    sync_path(directory)
    return Store(sqlite_url(directory / DATABASE)), settings, embedding


def _fill_shared(directory: Path, settings: Settings, vectors: VectorsMaker, wait: float) -> Created:
    folder = new_vectors_folder(directory, {}, shared=True)
    settings, embedding = vectors(folder, settings)
    store = open_store(directory)
    try:
        with store.locked(wait), store.writing() as writer:
            _refuse_second(directory, filled=bool(writer.settings()))  # another process has created it meanwhile
            writer.set_settings(settings.stored())
            if embedding:
                writer.set_settings({FINGERPRINT: embedding.fingerprint, FOLDER: folder.name})
                publish_vectors(writer, folder)
    except BaseException:
        store.close()
        raise
    return store, settings, embedding


def _imported(
    folder: Path, settings: Settings, trust_pickle: bool, progress: Progress
) -> tuple[Settings, Embedding | None]:
    """Import the word vectors that `settings` name to `folder`; None if they are to be trained."""
    if settings.embedding in TRAINED:
        return settings, None
    settings, embedding = imported_vectors(folder, settings, trust_pickle, progress)
    check_choices(settings, embedding)
    return settings, embedding


def imported_vectors(
    folder: Path, settings: Settings, trust_pickle: bool, progress: Progress
) -> tuple[Settings, Embedding]:
    """Import the word vectors that `settings` name to `folder`; return the settings with what follows from them."""
    embedding = import_vectors(
        settings.embedding,
        folder,
        normalize=settings.normalize,
        language=settings.tokenizer.language,
        trust_pickle=trust_pickle,
        progress=progress,
    )
    return with_words_of(embedding, replace(settings, normalize=embedding.unit)), embedding


def with_words_of(embedding: Embedding | None, settings: Settings) -> Settings:
    """Return the settings with the phrases of imported vectors, and their words as the vocabulary, if they lack these.

    Vectors of other scripts have too few words: texts will have more.
    """
    if embedding is None or settings.embedding in TRAINED:
        return settings
    if settings.lacks_vocabulary:
        settings = replace(settings, vocabulary=vocabulary_of(embedding.words, settings.language))
    return replace(settings, phrases=embedding.phrases(settings.language)) if settings.lacks_phrases else settings
