"""Checks the derived files against the database: checksums first, then the content."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import CollectionError, DamagedFile
from moverank.indexer.files.arrays import is_intact
from moverank.indexer.files.checksums import read_checksummed_json
from moverank.indexer.files.directory import CACHED
from moverank.indexer.snapshot.document_vectors import stored_vectors
from moverank.indexer.snapshot.encoder_fit import KnownWords, stored_frequencies
from moverank.indexer.snapshot.segment import assemble, keep_words
from moverank.indexer.snapshot.snapshot_files import Snapshot, newest_snapshot
from moverank.indexer.store import Reader
from moverank.indexer.values.settings import Settings
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import PartCounts, weigh, with_factors
from moverank.rerank.encoders.encoder import Documents
from moverank.rerank.words.embedding import Embedding

_CLOSE = 1e-5


def check_snapshot(reader: Reader, directory: Path, settings: Settings, embedding: Embedding) -> Iterator[str]:
    """Yield the faults of the newest snapshot and its caches.

    `directory`, `settings` and `embedding` are the collection's; `reader` sees the state to compare with.
    """
    damages: list[DamagedFile] = []
    base = newest_snapshot(reader, directory, settings, embedding, damages.append)
    try:
        if base:
            base.check()
            yield from _compared(reader, base, settings, embedding)
    except DamagedFile as damage:
        damages.append(damage)
    except (CollectionError, ValueError, IndexError) as error:
        yield f"{base.path if base else directory} is not what its checksums promise: {error}"
    yield from map(str, damages)
    for path in sorted(directory.glob(f"{CACHED}*")):
        try:
            if not is_cache_intact(path):
                yield f"{path} does not match its checksum"
        except OSError as error:
            yield f"{path} cannot be read: {error.strerror}"


def is_cache_intact(path: Path) -> bool:
    """Return whether a file `cached-...` matches its checksum; OSError if it cannot be read."""
    if path.suffix != ".json":
        return is_intact(path)
    with suppress(DamagedFile):
        read_checksummed_json(path)
        return True
    return False


def _compared(reader: Reader, base: Snapshot, settings: Settings, embedding: Embedding) -> Iterator[str]:
    """Compare a snapshot with the documents that have not changed since it was written."""
    segment = base.segment
    gone = np.array(reader.changed_ids(base.revision) + reader.removed_ids(base.revision), np.int64)
    vocabulary = {word.id: word for word in reader.all_words(known=True)}
    if any(id_ not in vocabulary for id_ in segment.word_ids.tolist()):
        yield f"{base.path}: it has words that the database does not know"
        return
    words = [vocabulary[id_] for id_ in segment.word_ids.tolist()]
    vectors = embedding.gather([word.word for word in words], np.array([word.row for word in words], np.int64))
    if not np.array_equal(vectors, segment.vectors):
        yield f"{base.path}: its word vectors are not those of the collection"
    yield from _documents(reader, base, gone, settings)
    known = KnownWords(segment.word_ids, segment.vectors, [word.word for word in words])
    factors = known.factors(settings.weights, embedding, lambda: stored_frequencies(reader))
    yield from _first_stage(reader, base, settings, gone, factors)


def _documents(reader: Reader, base: Snapshot, gone: NDArray[np.int64], settings: Settings) -> Iterator[str]:
    """Compare with the documents not `gone`: the counts of all words and of words with a vector, and the bags."""
    segment, terms, bags = base.segment, base.segment.terms, base.bags()
    sizes, same = np.zeros(2, np.int64), True
    for found, portion in assemble(reader.counted_parts(), terms.word_ids):
        unchanged = np.flatnonzero(~np.isin(found, gone))
        all_ids, all_counts = found[unchanged], portion.take(unchanged)
        ids, counts = keep_words(all_ids, all_counts, terms.word_ids, segment.word_ids)
        rows, all_rows = np.searchsorted(segment.ids, ids), np.searchsorted(terms.ids, all_ids)
        if not (_has(segment.ids, rows, ids) and _has(terms.ids, all_rows, all_ids)):
            yield f"{base.path}: documents are missing from it"
            return
        same = same and _same_counts(segment.counts.take(rows), counts)
        same = same and _same_counts(terms.counts.take(all_rows), all_counts)
        weighed = weigh(counts, settings.gamma, title_weight=settings.title_weight)
        same = same and _same_bags(bags.take(rows), weighed)
        sizes += len(ids), len(all_ids)
    if not same:
        yield f"{base.path}: its bags are not those of the documents"
    if sizes.tolist() != [int((~np.isin(own, gone)).sum()) for own in (segment.ids, terms.ids)]:
        yield f"{base.path}: it has documents that the database does not know"


def _has(own: NDArray[np.int64], rows: NDArray[np.int64], ids: NDArray[np.int64]) -> bool:
    """Return which of `ids` are in `own`, at `rows`."""
    return bool(np.all(rows < len(own))) and np.array_equal(own[rows], ids)


def _first_stage(
    reader: Reader,
    base: Snapshot,
    settings: Settings,
    gone: NDArray[np.int64],
    factors: NDArray[np.float64] | None,
) -> Iterator[str]:
    """Compare the first stage's ids with the documents, and vectors that it stores unchanged with their bags.

    `factors` (v,) weigh the segment's words. With tf-idf weights and later changes, the idf of that revision is gone:
    then only ids are compared.
    """
    segment = base.segment
    ids, vectors = base.first_stage.stored()
    if base.encoder is None:
        yield from _given_stage(reader, base, settings, gone)
        return
    if not np.array_equal(np.sort(ids), segment.ids):
        yield f"{base.path}: its first stage has other documents"
    elif vectors is not None and (settings.weights != "tfidf" or reader.revision() == base.revision):
        bags, counts = base.bags(), segment.counts
        if factors is not None:
            bags = with_factors(bags, factors)
        encoder = base.encoder.restored()
        expected = encoder.encode(
            Documents(bags, counts.lengths(settings.title_weight), segment.word_ids, segment.vectors)
        )
        if not np.allclose(vectors[np.argsort(ids)], expected, rtol=_CLOSE, atol=_CLOSE * _largest(expected)):
            yield f"{base.path}: the vectors of its first stage are not those of the bags"


def _given_stage(reader: Reader, base: Snapshot, settings: Settings, gone: NDArray[np.int64]) -> Iterator[str]:
    """Compare the first stage's ids and given vectors with the documents that are not `gone`."""
    space = settings.space(reader.vector_dim())
    if space is None or base.given is None:
        return
    given, (indexed, _) = base.given, base.first_stage.stored()
    own = base.segment.ids[given.rows]
    unchanged = np.flatnonzero(~np.isin(own, gone))
    ids, vectors = stored_vectors(reader, base.segment.ids[~np.isin(base.segment.ids, gone)], space)
    if not np.array_equal(np.sort(indexed), own) or not np.array_equal(ids, own[unchanged]):
        yield f"{base.path}: its first stage has other documents"
    elif len(ids) and not np.array_equal(vectors, given.vectors[unchanged]):
        yield f"{base.path}: the vectors of its first stage are not those of the documents"


def _largest(vectors: NDArray[np.float32]) -> float:
    return float(np.abs(vectors).max(initial=1e-30))


def _same_counts(one: PartCounts, other: PartCounts) -> bool:
    pairs = ((one.starts, other.starts), (one.words, other.words), (one.ranks, other.ranks), (one.counts, other.counts))
    return all(np.array_equal(a, b) for a, b in pairs)


def _same_bags(one: Bags, other: Bags) -> bool:
    same = np.array_equal(one.starts, other.starts) and np.array_equal(one.words, other.words)
    return same and np.allclose(one.weights, other.weights, rtol=1e-12, atol=0)
