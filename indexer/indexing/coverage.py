"""How much of a collection's text has word vectors: the share of its running words, stop words left out."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile
from moverank.indexer.pgvector.fits import current_record
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.cached_coverage import Coverage, read_coverage, write_coverage
from moverank.indexer.snapshot.snapshot_files import Snapshot, newest_snapshot
from moverank.indexer.store import CountedPart, Reader
from moverank.rerank.runtime.parallel import batches
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.forms import EXACT, STEPS
from moverank.rerank.words.vocabulary import UNKNOWN

LOW = 0.8
"""The share below which the word vectors do not fit the texts: a fifth of the words cannot be compared."""

_CHUNK = 50_000  # parts counted together
_FEW_WORDS = 1000  # if there are more, reading all words takes less time than finding each


def coverage(reader: Reader, directory: Path, settings: Settings, embedding: Embedding | None) -> Coverage:
    """Count the running words of the state of `reader`; titles count once.

    `directory`, `settings` and `embedding` are the collection's. A first stage in the database has counted the
    words already. Else they are counted once for each state, and cached.
    """
    if embedding is None:
        return _in_database(reader, 0)
    record = current_record(reader, settings, embedding)
    if record:
        return record.coverage
    found = read_coverage(reader, directory, embedding.fingerprint)
    if found is None:
        found = _counted(reader, newest_snapshot(reader, directory, settings, embedding))
        if not _has_steps(embedding):
            found = found._replace(steps={EXACT: found.known})
        write_coverage(reader, directory, embedding.fingerprint, found)
    return found


def coverage_by_step(reader: Reader, directory: Path, settings: Settings, embedding: Embedding | None) -> Coverage:
    """Count the running words also by the step of the look-up that found their vectors; see `coverage`.

    That reads the counts of all documents, once for each state, if words can be found otherwise than as they are.
    """
    found = coverage(reader, directory, settings, embedding)
    if embedding is None or found.steps is not None:
        return found
    found = found._replace(steps=_by_step(reader, embedding) if _has_steps(embedding) else {EXACT: found.known})
    write_coverage(reader, directory, embedding.fingerprint, found)
    return found


def _has_steps(embedding: Embedding) -> bool:
    """Return whether words can be found otherwise than as they are."""
    return embedding.forms is not None or embedding.subwords is not None


def _by_step(reader: Reader, embedding: Embedding) -> dict[str, int]:
    """Count the running words that have a vector by step."""
    steps = np.zeros(max(reader.word_ids(), default=0) + 1, np.int64)
    for word in reader.all_words(known=True):
        steps[word.id] = STEPS.index(embedding.step(word.word, word.row))
    totals = np.zeros(len(STEPS), np.int64)
    for words, counts in _words_and_counts(reader.counted_parts()):
        totals += np.bincount(steps[words], counts, len(STEPS)).astype(np.int64)
    return dict(zip(STEPS[1:], totals[1:].tolist(), strict=True))  # the first are the unknown words


def _counted(reader: Reader, base: Snapshot | None) -> Coverage:
    """Count the words in the snapshot `base` and in the changes since.

    That takes a tenth of the time of reading the whole database; a damaged snapshot is not used.
    """
    if base:
        try:
            stored = _in_snapshot(reader, base)
        except DamagedFile:
            base = None
    later = _in_database(reader, base.revision if base else 0)
    return Coverage(stored.words + later.words, stored.known + later.known) if base else later


def _in_snapshot(reader: Reader, base: Snapshot) -> Coverage:
    """Count the words of the documents that have not changed since the snapshot."""
    gone = np.array(reader.changed_ids(base.revision) + reader.removed_ids(base.revision), np.int64)
    both = base.segment.terms, base.segment
    words, known = (terms.counts.lengths(1.0)[~np.isin(terms.ids, gone)].sum() for terms in both)
    return Coverage(int(words), int(known))


def _in_database(reader: Reader, since: int) -> Coverage:
    """Count the words of the documents changed after revision `since`."""
    parts = reader.counted_parts(since)
    first = list(islice(parts, _CHUNK))
    ids = np.unique(np.frombuffer(b"".join(part.words for part in first), "<i4")).tolist()
    if len(ids) <= _FEW_WORDS and len(first) < _CHUNK:
        known = np.zeros(max(ids, default=0) + 1, bool)
        known[[word.id for word in reader.words_of(ids) if word.row != UNKNOWN]] = True
    else:
        known = np.zeros(max(reader.word_ids()) + 1, bool)
        known[[word.id for word in reader.all_words(known=True)]] = True
    return counted(chain(first, parts), known)


def counted(parts: Iterable[CountedPart], known: NDArray[np.bool_]) -> Coverage:
    """Count the words of `parts`; `known` (t,) is True at the ids of words with a vector."""
    total = Coverage(0, 0)
    for words, counts in _words_and_counts(parts):
        total = Coverage(total.words + int(counts.sum()), total.known + int(counts[known[words]].sum()))
    return total


def _words_and_counts(parts: Iterable[CountedPart]) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
    """Yield the words of many parts (n,), and their counts (n,)."""
    for some in batches(parts, _CHUNK):
        words = np.frombuffer(b"".join(part.words for part in some), "<i4")
        yield words, np.frombuffer(b"".join(part.counts for part in some), "<i4").astype(np.int64)
