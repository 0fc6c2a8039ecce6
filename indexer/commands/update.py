"""One run of `index` or `threads`: the collection is opened or made, brought up to date, and what matters is told."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from moverank.indexer.collection import Collection
from moverank.indexer.documents import Changes, Document, Rejection
from moverank.indexer.errors import PruneRefused
from moverank.indexer.progress import Progress
from moverank.indexer.readers.stop_word_file import choose_stop_words
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.first_stage import FLAT
from moverank.indexer.snapshot.index_choice import AUTO


@dataclass(frozen=True, slots=True)
class Updated:
    """What a run did, in how many seconds, and what its user should know; `failed`: less was done than asked for."""

    changes: Changes
    seconds: float
    notes: tuple[str, ...]
    failed: bool


def update(
    path: Path,
    records: Iterator[Document | Rejection],
    choices: Mapping[str, Any],
    *,
    defaults: Mapping[str, Any],
    trust_pickle: bool,
    prune: bool,
    strict: bool,
    rejected: Callable[[Rejection], None],
    wait: float = 0.0,
    progress: Progress,
) -> Updated:
    """Bring the collection of a directory up to date with records.

    `choices` are the settings that were named, `defaults` those of a new collection that were not. A new collection
    that nothing got into is removed again, so that the next run may choose anew.
    """
    refused: tuple[str, ...] = ()
    with _opened(path, choices, defaults, trust_pickle, wait, progress) as collection:
        source, index, began = collection.settings.embedding, _factory(collection), perf_counter()
        try:
            changes = collection.index(records, prune=prune, strict=strict, rejected=rejected, progress=progress)
        except PruneRefused as error:
            changes, refused = error.changes, (str(error),)
        seconds = perf_counter() - began
        notes = (*_notes(collection, source, changes), *_index_note(collection, index), *refused)
    return Updated(changes, seconds, notes, bool(refused) or bool(changes.rejected and not changes.documents))


@contextmanager
def _opened(
    path: Path,
    choices: Mapping[str, Any],
    defaults: Mapping[str, Any],
    trust_pickle: bool,
    wait: float,
    progress: Progress,
) -> Iterator[Collection]:
    """Open the collection of a directory with the settings named, or make one, which is discarded if it stays empty."""
    if Collection.exists(path):
        with Collection.open(path, wait=wait) as collection:
            collection.change_settings(**choices)
            yield collection
        return
    named = {**defaults, **choices}
    if "stop_words" not in named:
        named["stop_words"] = choose_stop_words(None)
    settings = Settings(**named)
    with Collection.create(path, settings, trust_pickle=trust_pickle, wait=wait, progress=progress) as collection:
        try:
            yield collection
        finally:
            collection.discard()


def _notes(collection: Collection, source: str, changes: Changes) -> Iterator[str]:
    """Tell where the word vectors came from, and when they do not fit the texts."""
    if source == "auto" and collection.settings.embedding != "auto":
        told = collection.info()
        yield (
            f"no word vectors were named, so they were trained on these texts by {told['embedding']}: "
            f"{told['vectors']:,} words, {told['dim']} dimensions (--embedding names others)"
        )
    if changes.documents and not collection.has_vectors:
        yield "there are too few words yet to train word vectors on: index more text before you search"
    elif 2 * changes.wordless > changes.documents > 1:
        yield (
            f"{changes.wordless:,} of these {changes.documents:,} documents have no word with a vector and cannot be "
            "found: a new collection with other word vectors (--embedding) would know them"
        )


def _index_note(collection: Collection, before: str) -> Iterator[str]:
    """Tell which index was chosen by size, when it is another one than before."""
    index = collection.index_in_use()
    if index and collection.settings.faiss == AUTO and index.factory != before:
        yield index.told()


def _factory(collection: Collection) -> str:
    """Return what holds the vectors now: where there are too few for an index, all are looked at, too."""
    index = collection.index_in_use()
    return index.factory if index else FLAT
