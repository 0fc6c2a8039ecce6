"""Notes about the word vectors of a collection after a run: on their training, or that they do not fit the texts."""

from collections.abc import Iterator
from shlex import quote

from moverank.indexer import formatters, indexing
from moverank.indexer.collection import Collection
from moverank.indexer.commands.text_notes import chosen_language_note, refit_command
from moverank.indexer.indexing.training import SMALL_COLLECTION, few_texts
from moverank.indexer.opening import Opened
from moverank.indexer.values.documents import GIVEN, Changes
from moverank.indexer.values.settings import default_rank
from moverank.rerank.ranking import AUTO_RANK

_FIRST_WORDS = 20_000
"""Number of first words of a vector file that are searched for capitals; the file is sorted by frequency."""

_MANY = 0.2
"""Share of words with capitals from which a note is printed."""


def notes_of_run(collection: "Collection", source: str, words: int, changes: "Changes") -> Iterator[str]:
    """Report training, and vectors that do not fit the texts.

    `source`: the setting `embedding` before the run; `words`: the number of vectors then. `changes`: the run's changes.
    """
    yield from _training_notes(collection, source, words, changes)
    if changes.documents and not collection.has_vectors:
        yield "there are too few words yet to train word vectors on: index more text before you search"
    elif 2 * changes.wordless > changes.documents > 1:
        yield (
            f"{changes.wordless:,} of these {changes.documents:,} documents have no word with a vector, so that no "
            f"distance ranks them: {_remedy(collection, trained_now=changes.trained_seconds is not None)}"
        )
    elif changes.documents:
        yield from coverage_notes(collection, changes.coverage, trained_now=changes.trained_seconds is not None)


def refit_notes(collection: "Opened", coverage: float | None, *, language: bool, vectors: bool) -> Iterator[str]:
    """Report the language that a refit found, and a `coverage` that is too low; `language`, `vectors`: what changed."""
    if isinstance(collection, Collection):
        if collection.detected:
            yield chosen_language_note(collection.detected, collection)
        if language or vectors:
            trained = collection.settings.embedding in indexing.TRAINED
            yield from coverage_notes(collection, coverage, trained_now=vectors or trained)


def coverage_notes(collection: "Collection", coverage: float | None, *, trained_now: bool) -> Iterator[str]:
    """Report a `coverage` that is too low, with the remedy; `trained_now`: the vectors have just been trained."""
    if coverage is None or coverage >= indexing.LOW:
        return
    own, weak = collection.settings, "train"
    cautious = ""
    if own.rank == AUTO_RANK and own.embedding != weak and not own.letters:
        rank = default_rank(own.gamma, stem=own.stem, letters=own.letters, embedding=weak)
        cautious = f"; until then --rank {quote(rank)} relies on words more"
    yield (
        f"only {formatters.percentage(coverage)} of the words of these texts have a vector, distances leave the others "
        "out: " + _remedy(collection, trained_now=trained_now) + cautious
    )


def given_vectors_notes(collection: "Collection") -> Iterator[str]:
    """Report documents without a vector where the first stage is over given vectors, and vectors that are not used."""
    with collection.reading() as reader:
        given, documents = reader.vector_count(), reader.document_count()
    if collection.settings.encoder != GIVEN:
        if given:
            yield f"the vectors of {given:,} documents are stored, but not used: --first-stage given searches by them"
    elif given < documents:
        yield (
            f"{documents - given:,} of {documents:,} documents have no vector: they are no candidates of a search with "
            "--depth; a search of all documents, and a scorer, find them"
        )


def _training_notes(collection: "Collection", source: str, words: int, changes: "Changes") -> Iterator[str]:
    few = few_texts(len(collection), collection.settings) if changes.documents and collection.has_vectors else None
    if few:
        yield f"{few}; {_remedy(collection, trained_now=True)}"
        return
    if changes.trained_seconds is None:
        return
    vectors = collection.embedding
    seconds, method = f"{changes.trained_seconds:.1f} s", collection.settings.embedding
    if words:
        yield (
            f"the texts have changed much, so the word vectors were trained on them again by {method} ({seconds}): "
            f"{len(vectors.words):,} words instead of {words:,}, {vectors.dim} dimensions; distances differ from "
            "earlier ones"
        )
    elif source == "auto":
        yield (
            f"no word vectors were named, so they were trained on these texts by {method} ({seconds}): "
            f"{len(vectors.words):,} words, {vectors.dim} dimensions (--embedding selects others)"
        )
    if len(collection) < SMALL_COLLECTION:
        yield (
            f"{len(collection)} texts are few to learn word vectors from: below {SMALL_COLLECTION}, those of a file "
            f"rank better; {_remedy(collection, trained_now=True)}"
        )


def _remedy(collection: "Collection", *, trained_now: bool) -> str:
    """Return how to get word vectors that fit the texts."""
    if collection.settings.embedding in indexing.TRAINED and not trained_now:
        return f"{refit_command(collection, '--vectors')} trains them again on all texts"
    return f"{refit_command(collection, '--embedding FILE')} takes word vectors that fit these texts"
