"""How much of a collection's text has word vectors: the share of its running words, stop words left out."""

from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.arrays import kept
from moverank.indexer.files.directory import CACHED
from moverank.indexer.snapshot.cached_coverage import Coverage, read_coverage, write_coverage
from moverank.indexer.snapshot.snapshot_files import Snapshot, newest_snapshot
from moverank.indexer.store import CountedPart, Reader, StoredWord
from moverank.indexer.values.settings import Settings
from moverank.rerank.runtime.parallel import batches
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.forms import EXACT, STEPS
from moverank.rerank.words.vocabulary import UNKNOWN

LOW = 0.8
"""The share below which the word vectors do not fit the texts: a fifth of the words cannot be compared."""

_CHUNK = 50_000  # parts counted together
_FEW_WORDS = 1000  # if there are more, reading all words takes less time than finding each


def measured_coverage(reader: Reader, directory: Path, settings: Settings, embedding: Embedding | None) -> Coverage:
    """Count the running words of the state of `reader`, by the step that found their vectors; titles count once.

    `directory`, `settings` and `embedding` are the collection's. The words are counted once for each state, and
    cached.
    """
    if embedding is None:
        return _in_database(reader, 0, None)
    found = read_coverage(reader, directory, embedding.fingerprint)
    if found is None:
        found = _counted(reader, newest_snapshot(reader, directory, settings, embedding), directory, embedding)
        write_coverage(reader, directory, embedding.fingerprint, found)
    return found


def _counted(reader: Reader, base: Snapshot | None, directory: Path, embedding: Embedding) -> Coverage:
    """Count the words in the snapshot `base` and in the changes since.

    That takes a tenth of the time of reading the whole database; a damaged snapshot is not used.
    """
    if base:
        try:
            stored = _in_snapshot(reader, base, directory, embedding)
        except DamagedFile:
            base = None
    later = _in_database(reader, base.revision if base else 0, embedding)
    return stored.added(later) if base else later


def _in_snapshot(reader: Reader, base: Snapshot, directory: Path, embedding: Embedding) -> Coverage:
    """Count the words of the documents that have not changed since the snapshot."""
    gone = np.array(reader.changed_ids(base.revision) + reader.removed_ids(base.revision), np.int64)
    terms, known = base.segment.terms, base.segment
    words = terms.counts.lengths(1.0)[~np.isin(terms.ids, gone)].sum()
    left = known.counts.take(np.flatnonzero(~np.isin(known.ids, gone)))
    steps = _steps_of_snapshot(reader, base, directory, embedding)
    totals = np.bincount(steps[left.words], left.counts, len(STEPS)).astype(np.int64)
    return _coverage(int(words), totals)


def _steps_of_snapshot(reader: Reader, base: Snapshot, directory: Path, embedding: Embedding) -> NDArray[np.int64]:
    """Return the numbers (v,) of the steps that found the words of a snapshot, counted once for each snapshot."""
    word_ids = base.segment.word_ids

    def steps() -> NDArray[np.int64]:
        size = max(int(word_ids[-1]), reader.last_word_id()) + 1
        return word_steps(reader.all_words(known=True), embedding, size)[word_ids]

    if not (len(word_ids) and embedding.has_steps):
        return np.full(len(word_ids), STEPS.index(EXACT))
    key = f"{base.segment.state} {embedding.fingerprint}"
    found = kept(directory / f"{CACHED}steps", key, steps, len(word_ids), np.int64)
    return np.clip(found, 0, len(STEPS) - 1)  # others can be forged


def word_steps(words: Iterable[StoredWord], embedding: Embedding | None, size: int) -> NDArray[np.int64]:
    """Return the numbers (size,) of the steps that found the `words`, at their ids; 0 at other ids."""
    steps = np.zeros(size, np.int64)
    for word in words:
        if word.row != UNKNOWN:
            step = embedding.step(word.word, word.row) if embedding and embedding.has_steps else EXACT
            steps[word.id] = STEPS.index(step)
    return steps


def _in_database(reader: Reader, since: int, embedding: Embedding | None) -> Coverage:
    """Count the words of the documents changed after revision `since`."""
    parts = reader.counted_parts(since)
    first = list(islice(parts, _CHUNK))
    ids = np.unique(np.frombuffer(b"".join(part.words for part in first), "<i4")).tolist()
    if len(ids) <= _FEW_WORDS and len(first) < _CHUNK:
        steps = word_steps(reader.words_of(ids), embedding, max(ids, default=0) + 1)
    else:
        steps = word_steps(reader.all_words(known=True), embedding, max(reader.word_ids()) + 1)
    return counted(chain(first, parts), steps)


def counted(parts: Iterable[CountedPart], steps: NDArray[np.int64]) -> Coverage:
    """Count the words of `parts`; `steps` (t,) are the numbers of the steps that found the words, by id."""
    totals = np.zeros(len(STEPS), np.int64)
    for some in batches(parts, _CHUNK):
        words = np.frombuffer(b"".join(part.words for part in some), "<i4")
        counts = np.frombuffer(b"".join(part.counts for part in some), "<i4")
        totals += np.bincount(steps[words], counts, len(STEPS)).astype(np.int64)
    return _coverage(int(totals.sum()), totals)


def _coverage(words: int, totals: NDArray[np.int64]) -> Coverage:
    """Return the coverage of running words, of which each of the `STEPS` found `totals` (6,); the first are unknown."""
    return Coverage(words, int(totals[1:].sum()), dict(zip(STEPS[1:], totals[1:].tolist(), strict=True)))
