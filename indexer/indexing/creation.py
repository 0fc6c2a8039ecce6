"""Making a collection: all of it, or nothing."""

import shutil
from dataclasses import replace
from pathlib import Path

from moverank.indexer.errors import CollectionError
from moverank.indexer.files.directory import DATABASE, UNFINISHED, VECTORS, clear, exists, leftover, locked
from moverank.indexer.indexing.train_vectors import TRAINED, check_training
from moverank.indexer.progress import Progress
from moverank.indexer.settings import Settings, check_settings
from moverank.indexer.snapshot.first_stage import FLAT, check_factory
from moverank.indexer.snapshot.index_choice import AUTO
from moverank.indexer.store import Store, sqlite_url
from moverank.indexer.vectors import import_vectors
from moverank.rerank.words.embedding import Embedding

FINGERPRINT = "fingerprint"
"""Setting: the fingerprint of the vectors whose rows the words have; missing until there are any."""

Made = tuple[Store, Settings, Embedding | None]


def create(place: Path, settings: Settings, *, trust_pickle: bool, wait: float, progress: Progress) -> Made:
    """Make an empty collection in a directory, and import its word vectors if the settings name a source of them.

    Raises UsageError for settings that cannot be meant, VectorsError for vectors that cannot be used, and
    CollectionError where there is one already. Nothing is left behind by a failure.
    """
    check_choices(settings)
    _refuse_second(place)
    try:
        found = place.exists()
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CollectionError(f"{place} cannot be made: {error.strerror}") from error
    foreign = [file.name for file in place.iterdir() if not leftover(file)]
    if foreign:
        raise CollectionError(f"{place} holds {foreign[0]} and no collection: choose another place")
    with locked(place, wait):
        _refuse_second(place)  # another process may have been quicker
        try:
            clear(place)
            return _filled(place, settings, trust_pickle, progress)
        except BaseException:
            clear(place)
            if not found:
                shutil.rmtree(place, ignore_errors=True)
            raise


def check_choices(settings: Settings, dim: int | None = None) -> None:
    """Refuse settings that cannot be meant, with UsageError; `dim` where the vectors are known."""
    check_settings(settings)
    check_training(settings.embedding, settings.train_options)
    if settings.faiss not in (AUTO, FLAT):
        check_factory(settings.faiss, dim)


def _refuse_second(place: Path) -> None:
    if exists(place):
        raise CollectionError(f"{place} holds a collection already: open it, or choose another place")


def _filled(place: Path, settings: Settings, trust_pickle: bool, progress: Progress) -> Made:
    embedding = None
    if settings.embedding not in TRAINED:
        normalize = bool(settings.normalize)
        settings = replace(settings, normalize=normalize)
        embedding = import_vectors(
            settings.embedding, place / VECTORS, normalize=normalize, trust_pickle=trust_pickle, progress=progress
        )
        check_choices(settings, embedding.dim)
    # A database under its own name has its settings: whoever is killed before that has made no collection.
    store = Store(sqlite_url(place / UNFINISHED))
    with store.writing() as writer:
        writer.set_settings(settings.stored() | ({FINGERPRINT: embedding.fingerprint} if embedding else {}))
    store.close()
    (place / UNFINISHED).rename(place / DATABASE)
    return Store(sqlite_url(place / DATABASE)), settings, embedding
