"""Changes the word vectors of a collection, or its language: vectors are trained on its texts, or imported.

The new vectors are written to a folder of their own. Then one transaction stores its name, the settings, and the row of
each word's vector, and for another language the words of all texts: a process killed before leaves the old vectors in
use. The caller holds the writer's lock.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import TooFewWords, UsageError
from moverank.indexer.indexing.collection_vectors import (
    FINGERPRINT,
    FOLDER,
    new_vectors_folder,
    publish_vectors,
    remove_other_vectors,
    stored_settings,
    vectors_folder,
)
from moverank.indexer.indexing.coverage import counted, word_steps
from moverank.indexer.indexing.creation import TRAINED, check_choices, imported_vectors, with_words_of
from moverank.indexer.indexing.first_texts import with_stored_vocabulary
from moverank.indexer.indexing.recount import count_again
from moverank.indexer.indexing.training import train
from moverank.indexer.snapshot.cached_coverage import Coverage
from moverank.indexer.store import CountedPart, Store, Writer
from moverank.indexer.values.search_options import Progress
from moverank.indexer.values.settings import Settings
from moverank.indexer.vectors.importing import is_model
from moverank.indexer.vectors.vectors_writer import rewrite_forms
from moverank.rerank.words.embedding import Embedding

TRAINING = "training"
"""Name of the setting that stores the last `Training`; empty for imported vectors."""


class Training(NamedTuple):
    """The last training of word vectors."""

    words: int
    """The number of the collection's running words then."""
    known: int
    """The number of these words that got a vector."""
    choice: str
    """The setting `embedding` before the training, which replaces "auto" by the method used."""

    @property
    def share(self) -> float:
        """Return the share of the running words that got a vector."""
        return self.known / self.words if self.words else 0.0

    @classmethod
    def stored(cls, settings: Mapping[str, Any]) -> "Training | None":
        """Return the training in stored settings; None for imported vectors."""
        values = settings.get(TRAINING)
        return cls(**values) if values else None


class ChangedVectors(NamedTuple):
    """The state after a change: settings, vectors, wordless documents of the collection, coverage, and revision."""

    settings: Settings
    embedding: Embedding
    wordless: int
    coverage: Coverage
    revision: int


Make = Callable[[Path], tuple[Settings, Embedding]]
"""Writes word vectors to a folder; returns the settings that name them, and the vectors."""


def change_vectors(
    store: Store,
    directory: Path,
    choices: Mapping[str, Any],
    words: Mapping[str, Any],
    *,
    trust_pickle: bool,
    progress: Progress,
) -> ChangedVectors:
    """Replace the word vectors of a collection by vectors that `choices` name, or train its own again.

    `choices` are new values of the settings `embedding`, `train_options` and `normalize`, by name; a choice that is
    left out stays if the vectors are of the same kind as before, trained or of a file or of a model, else it gets its
    default. `words` are as in `change_language`, if the language changes, too.
    Raises UsageError for invalid choices, VectorsError for unusable vectors, TooFewWords for too few texts.
    """
    stored = stored_settings(store)
    before = Settings.restored(stored)
    settings = _chosen(before.in_language(**words) if words else before, Training.stored(stored), choices)
    check_choices(settings)
    first = _counting(before, progress)
    if settings.embedding in TRAINED:
        return train_again(store, directory, _with_vocabulary(store, settings), progress, first)

    def make(path: Path) -> tuple[Settings, Embedding]:
        own, imported = imported_vectors(path, settings, trust_pickle, progress)
        return _with_vocabulary(store, own), imported

    return _put(store, directory, make, None, first)


def change_language(
    store: Store, directory: Path, words: Mapping[str, Any], embedding: Embedding | None, progress: Progress
) -> tuple[Settings, Embedding | None]:
    """Change the language of a collection, and return its settings and vectors.

    `words` are the setting `language`, and perhaps `stop_words` and `segmentation`, by name; `embedding` are the
    collection's vectors. The words of all texts are counted again; trained vectors are trained again, others are kept.
    Raises UsageError for invalid choices, TooFewWords if vectors could no longer be trained.
    """
    stored = stored_settings(store)
    before = Settings.restored(stored)
    settings = _with_vocabulary(store, before.in_language(**words), embedding)
    check_choices(settings, embedding)
    first = _counting(before, progress)
    if settings == before and not _finds_other_forms(embedding, settings):
        return settings, embedding
    if settings.embedding in TRAINED:
        training = Training.stored(stored)
        chosen = replace(settings, embedding=training.choice) if training else settings
        with suppress(*([] if embedding else [TooFewWords])):
            now = train_again(store, directory, chosen, progress, first)
            return now.settings, now.embedding
    elif embedding and embedding.forms:
        now = _put(store, directory, _relabelled(settings, vectors_folder(directory, stored)), None, first)
        return now.settings, now.embedding
    with store.writing() as writer:
        first(writer, settings)
        if embedding:
            assign_rows(writer, embedding)
        else:
            writer.mark_wordless([], writer.next_revision())
        writer.set_settings(settings.stored())
    return settings, embedding


def follow_language(store: Store, directory: Path, settings: Settings, embedding: Embedding) -> ChangedVectors | None:
    """Let imported vectors find the forms of words of the collection's language; None if they do, or find no forms."""
    if not _finds_other_forms(embedding, settings):
        return None
    return _put(store, directory, _relabelled(settings, vectors_folder(directory, stored_settings(store))), None)


def _finds_other_forms(embedding: Embedding | None, settings: Settings) -> bool:
    """Return whether vectors find forms of words by another language than the texts'."""
    return embedding is not None and embedding.forms is not None and embedding.forms.language != settings.language


def _relabelled(settings: Settings, folder: Path) -> Make:
    """Return a function that rewrites the imported vectors of a folder for the language of `settings`."""
    return lambda path: (settings, rewrite_forms(folder, path, settings.language))


def _with_vocabulary(store: Store, settings: Settings, embedding: Embedding | None = None) -> Settings:
    """Return the settings with a vocabulary if they lack one, from imported vectors or from the texts."""
    with store.reading() as reader:
        return with_stored_vocabulary(with_words_of(embedding, settings), reader)


Recount = Callable[[Writer, Settings], None]
"""Counts the words of all texts again, by new settings, if these split them otherwise."""


def _counting(before: Settings, progress: Progress) -> Recount:
    def count(writer: Writer, settings: Settings) -> None:
        if before.tokens_digest() != settings.tokens_digest():
            count_again(writer, settings, progress)

    return count


def train_again(
    store: Store,
    directory: Path,
    settings: Settings,
    progress: Progress,
    first: Recount = lambda *_: None,
) -> ChangedVectors:
    """Train vectors on all texts of a collection by the method that `settings` name, and use them; see `train`.

    `first` is called at the start of the transaction which stores them.
    """

    def make(path: Path) -> tuple[Settings, Embedding]:
        normalize = settings.normalize is not False
        method, embedding = train(store, path, settings, normalize=normalize, progress=progress)
        return replace(settings, embedding=method, normalize=normalize), embedding

    return _put(store, directory, make, settings.embedding, first)


def assign_rows(writer: Writer, embedding: Embedding) -> tuple[int, Coverage]:
    """Store the row of each word's vector; return the number of wordless documents, and the coverage."""
    words = list(writer.all_words())
    rows = embedding.find([word.word for word in words])
    writer.set_word_rows({word.id: row for word, row in zip(words, rows.tolist(), strict=True) if row != word.row})
    renewed = (word._replace(row=row) for word, row in zip(words, rows.tolist(), strict=True))
    steps = word_steps(renewed, embedding, max((word.id for word in words), default=0) + 1)
    with_known_word: set[int] = set()
    covered = counted(_noting(writer.counted_parts(), steps > 0, with_known_word), steps)
    return writer.mark_wordless(sorted(with_known_word), writer.next_revision()), covered


def _noting(parts: Iterator[CountedPart], known: NDArray[np.bool_], found: set[int]) -> Iterator[CountedPart]:
    """Yield the parts, and add to `found` the ids of the documents that have a word which is `known` (t,)."""
    for part in parts:
        if part.document_id not in found and known[np.frombuffer(part.words, "<i4")].any():
            found.add(part.document_id)
        yield part


def _chosen(settings: Settings, training: Training | None, choices: Mapping[str, Any]) -> Settings:
    """Return the settings with new `choices`; see `change_vectors`."""
    if "embedding" not in choices and settings.embedding not in TRAINED:
        raise UsageError(
            f"the word vectors are those of {settings.embedding}, not trained on the texts: name others "
            "(--embedding FILE), or train some (--embedding lsi, or train)"
        )
    before = training.choice if training else settings.embedding
    chosen = replace(settings, embedding=choices.get("embedding", before), phrases=None)
    if _kind(chosen.embedding) != _kind(settings.embedding):
        chosen = replace(chosen, normalize=None)
    if chosen.embedding not in (before, settings.embedding):
        chosen = replace(chosen, train_options=())  # options belong to a method
    return replace(chosen, **choices)


def _kind(embedding: str) -> str:
    """Return the kind of word vectors, which decides whether they have unit length by default."""
    if embedding in TRAINED:
        return "trained"
    return "model" if is_model(embedding) else "file"


def _put(
    store: Store,
    directory: Path,
    make: Make,
    choice: str | None,
    first: Recount = lambda *_: None,
) -> ChangedVectors:
    """Make vectors, and use them from now on; `choice`: see `Training`, None for imported vectors.

    `first` is called at the start of the transaction.
    """
    with _folder(directory, stored_settings(store), shared=store.shared) as path:
        settings, embedding = make(path)
        check_choices(settings, embedding)
        with store.writing() as writer:
            first(writer, settings)
            wordless, coverage = assign_rows(writer, embedding)
            training = Training(coverage.words, coverage.known, choice)._asdict() if choice else {}
            own = {FINGERPRINT: embedding.fingerprint, FOLDER: path.name, TRAINING: training}
            writer.set_settings(settings.stored() | own)
            if store.shared:
                publish_vectors(writer, path)
            revision = writer.revision()
    remove_other_vectors(store, directory)
    return ChangedVectors(settings, embedding, wordless, coverage, revision)


@contextmanager
def _folder(directory: Path, stored: Mapping[str, Any], *, shared: bool) -> Iterator[Path]:
    """Yield the folder for new vectors; after an error it is removed."""
    path = new_vectors_folder(directory, stored, shared=shared)
    try:
        yield path
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
