"""Trains word vectors on the texts of a collection automatically: first, and again when they no longer fit the texts.

Vectors trained on a few texts cover few words. While a collection is small, they are trained again each time its
running words have doubled; thus all trainings take at most about twice as long as the last one. A larger collection is
trained again only if the words without a vector have become too many. Imported vectors are never replaced.
"""

from dataclasses import replace
from pathlib import Path
from time import perf_counter

from moverank.indexer.errors import TooFewWords
from moverank.indexer.indexing.collection_vectors import stored_settings
from moverank.indexer.indexing.coverage import LOW, measured_coverage
from moverank.indexer.indexing.creation import TRAINED
from moverank.indexer.indexing.training import has_few_texts
from moverank.indexer.indexing.vectors_change import Training, train_again
from moverank.indexer.snapshot.cached_coverage import Coverage
from moverank.indexer.store import Store
from moverank.indexer.values.documents import Changes
from moverank.indexer.values.search_options import Progress
from moverank.indexer.values.settings import AUTO_EMBEDDING, Settings
from moverank.rerank.words.embedding import Embedding

LARGE = 2_000_000
"""Number of running words from which training takes too long to be repeated at each doubling.

Processor time on 20 Newsgroups: LSI 3 s for half a million words and 21 s for two million, skip-gram 72 s for these.
"""

_GROWTH = 2
_FALL = 0.9
"""The coverage must have fallen by a tenth since the last training: it may be low by choice (`min_count`)."""


def may_train(settings: Settings, embedding: Embedding | None) -> bool:
    """Return whether a run may train vectors: imported ones are never replaced."""
    return embedding is None or settings.embedding in TRAINED


def fit_vectors(
    store: Store,
    directory: Path,
    settings: Settings,
    embedding: Embedding | None,
    changes: Changes,
    progress: Progress,
) -> tuple[Settings, Embedding | None, Changes]:
    """Train the vectors of a collection after a run, unless the current ones fit; see `needs_training`.

    `store`, `directory`, `settings` and `embedding` are the collection's, `changes` are the run's; `progress` is
    called during training. Returns the settings and vectors in use, and the changes with the coverage. With too few
    words to train on, nothing is changed, and the next run retries.
    """
    with store.reading() as reader:
        covered = measured_coverage(reader, directory, settings, embedding)
    changes = replace(changes, coverage=covered.share)
    training = Training.stored(stored_settings(store))
    first = embedding is None
    enough = settings.embedding == AUTO_EMBEDDING and not has_few_texts(store)
    due = changes.documents if first else enough or (training is not None and needs_training(covered, training))
    if not due:
        return settings, embedding, changes
    began = perf_counter()
    chosen = replace(settings, embedding=training.choice) if training else settings
    try:
        changed = train_again(store, directory, chosen, progress)
    except TooFewWords:
        return settings, embedding, replace(changes, wordless=changes.documents) if first else changes
    changes = replace(
        changes,
        # With more words known, no more documents of the run are wordless; the first training counts all documents.
        wordless=changed.wordless if first else min(changes.wordless, changed.wordless),
        coverage=changed.coverage.share,
        trained_seconds=round(perf_counter() - began, 6),
        revision=changed.revision,
    )
    return changed.settings, changed.embedding, changes


def needs_training(now: Coverage, last: Training) -> bool:
    """Return whether trained vectors must be trained again."""
    if now.share is None:
        return False
    return (now.words <= LARGE and now.words >= _GROWTH * last.words) or now.share < min(LOW, _FALL * last.share)
