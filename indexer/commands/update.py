"""One run of `index` or `threads`: opens or creates the collection, updates it, and returns notes for the user."""

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
    """The changes of a run, its seconds, and notes for the user; `failed`: it did not do all that was requested."""

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
    """Update the collection in the directory `path` with `records`.

    `choices`: settings given by the user. `defaults`: other settings of a new collection. `trust_pickle`
    and `wait`: as in `Collection.create`. `prune`, `strict`, `rejected` and `progress`: as in `Collection.index`.
    A new collection that stays empty is removed again, so that the next run can choose other settings.
    """
    refusal: tuple[str, ...] = ()
    with _open_or_create(path, choices, defaults, trust_pickle, wait, progress) as collection:
        source, factory, began = collection.settings.embedding, _index_factory(collection), perf_counter()
        try:
            changes = collection.index(records, prune=prune, strict=strict, rejected=rejected, progress=progress)
        except PruneRefused as error:
            changes, refusal = error.changes, (str(error),)
        seconds = perf_counter() - began
        notes = (*_vector_notes(collection, source, changes), *_index_note(collection, factory), *refusal)
    return Updated(changes, seconds, notes, bool(refusal) or bool(changes.rejected and not changes.documents))


@contextmanager
def _open_or_create(
    path: Path,
    choices: Mapping[str, Any],
    defaults: Mapping[str, Any],
    trust_pickle: bool,
    wait: float,
    progress: Progress,
) -> Iterator[Collection]:
    """Open the collection and change its settings, or create one, discarded if it stays empty; see `update`."""
    if Collection.exists(path):
        with Collection.open(path, wait=wait) as collection:
            collection.change_settings(**choices)
            yield collection
        return
    values = {**defaults, **choices}
    if "stop_words" not in values:
        values["stop_words"] = choose_stop_words(None)
    settings = Settings(**values)
    with Collection.create(path, settings, trust_pickle=trust_pickle, wait=wait, progress=progress) as collection:
        try:
            yield collection
        finally:
            collection.discard()


def _vector_notes(collection: Collection, source: str, changes: Changes) -> Iterator[str]:
    """Report the origin of trained word vectors, and vectors that do not fit the texts.

    `source`: the setting `embedding` before the run. `changes`: those of the run.
    """
    if source == "auto" and collection.settings.embedding != "auto":
        info = collection.info()
        yield (
            f"no word vectors were named, so they were trained on these texts by {info['embedding']}: "
            f"{info['vectors']:,} words, {info['dim']} dimensions (--embedding selects others)"
        )
    if changes.documents and not collection.has_vectors:
        yield "there are too few words yet to train word vectors on: index more text before you search"
    elif 2 * changes.wordless > changes.documents > 1:
        yield (
            f"{changes.wordless:,} of these {changes.documents:,} documents have no word with a vector and cannot be "
            "found: make a new collection with word vectors that fit these texts (--embedding)"
        )


def _index_note(collection: Collection, previous: str) -> Iterator[str]:
    """Report the index that was chosen by size, if it differs from the `previous` factory string."""
    index = collection.index_in_use()
    if index and collection.settings.faiss == AUTO and index.factory != previous:
        yield index.sentence()


def _index_factory(collection: Collection) -> str:
    """Return the factory string of the index in use; without one, all vectors are compared, as in a flat index."""
    index = collection.index_in_use()
    return index.factory if index else FLAT
