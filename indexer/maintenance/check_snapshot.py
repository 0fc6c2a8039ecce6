"""The derived files against the database: seals first, then whether they hold what they were made from."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import CollectionError, DamagedFile
from moverank.indexer.search.view import Frequencies, newest_snapshot
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.segment import among, assemble
from moverank.indexer.snapshot.snapshot_files import Snapshot
from moverank.indexer.store import Reader
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import PartCounts, weigh, with_idf
from moverank.rerank.encoders.encoder import Documents
from moverank.rerank.words.embedding import Embedding

_CLOSE = 1e-5


def check_snapshot(reader: Reader, place: Path, settings: Settings, embedding: Embedding) -> Iterator[str]:
    """Tell what is wrong with the newest snapshot."""
    damages: list[DamagedFile] = []
    base = newest_snapshot(reader, place, settings, embedding, damages.append)
    try:
        if base:
            base.check()
            yield from _compared(reader, base, settings, embedding)
    except DamagedFile as met:
        damages.append(met)
    except (CollectionError, ValueError, IndexError) as error:
        yield f"{base.path if base else place} is not what its seals promise: {error}"
    yield from map(str, damages)


def _compared(reader: Reader, base: Snapshot, settings: Settings, embedding: Embedding) -> Iterator[str]:
    """Compare a snapshot with the documents that have not changed since."""
    segment = base.segment
    gone = np.array(reader.changed_ids(base.revision) + reader.removed_ids(base.revision), np.int64)
    vocabulary = {word.id: word for word in reader.vocabulary()}
    if any(id_ not in vocabulary for id_ in segment.word_ids.tolist()):
        yield f"{base.path}: it has words that the database does not know"
        return
    words = [vocabulary[id_] for id_ in segment.word_ids.tolist()]
    vectors = embedding.gather([word.word for word in words], np.array([word.row for word in words], np.int64))
    if not np.array_equal(vectors, segment.vectors):
        yield f"{base.path}: its word vectors are others"
    yield from _documents(reader, base, gone, settings.gamma)
    yield from _stage(reader, base, settings)


def _documents(reader: Reader, base: Snapshot, gone: NDArray[np.int64], gamma: float) -> Iterator[str]:
    """Compare the counts of all words, those of words with a vector, and the bags with the documents not `gone`."""
    segment, terms, bags = base.segment, base.terms, base.bags()
    stored, same = np.zeros(2, np.int64), True
    for found, portion in assemble(reader.counted_parts(), terms.word_ids):
        kept = np.flatnonzero(~np.isin(found, gone))
        every, all_counts = found[kept], portion.take(kept)
        ids, counts = among(every, all_counts, terms.word_ids, segment.word_ids)
        rows, all_rows = np.searchsorted(segment.ids, ids), np.searchsorted(terms.ids, every)
        if not (_has(segment.ids, rows, ids) and _has(terms.ids, all_rows, every)):
            yield f"{base.path}: documents are missing in it"
            return
        same = same and _same_counts(segment.counts.take(rows), counts)
        same = same and _same_counts(terms.counts.take(all_rows), all_counts)
        same = same and _same_bags(bags.take(rows), weigh(counts, gamma))
        stored += len(ids), len(every)
    if not same:
        yield f"{base.path}: its bags are not those of the documents"
    if stored.tolist() != [int((~np.isin(held, gone)).sum()) for held in (segment.ids, terms.ids)]:
        yield f"{base.path}: it has documents that the database does not know"


def _has(held: NDArray[np.int64], rows: NDArray[np.int64], ids: NDArray[np.int64]) -> bool:
    """Say whether `ids` are in `held`, at `rows`."""
    return bool(np.all(rows < len(held))) and np.array_equal(held[rows], ids)


def _stage(reader: Reader, base: Snapshot, settings: Settings) -> Iterator[str]:
    """Compare the first stage's ids with the documents, and its vectors with their bags where it keeps them whole.

    The idf that weighed the bags then was that of another moment where documents came since: then only ids are.
    """
    segment = base.segment
    ids, vectors = base.stage.held()
    if not np.array_equal(np.sort(ids), segment.ids):
        yield f"{base.path}: its first stage has other documents"
    elif vectors is not None and (settings.weights == "tf" or reader.revision() == base.revision):
        bags, counts = base.bags(), segment.counts
        if settings.weights == "tfidf":
            bags = with_idf(bags, Frequencies(reader).idf(segment.word_ids))
        encoder = base.encoder.restored()
        made = encoder.encode(Documents(bags, counts.lengths(), segment.word_ids, segment.vectors))
        if not np.allclose(vectors[np.argsort(ids)], made, rtol=_CLOSE, atol=_CLOSE * _largest(made)):
            yield f"{base.path}: the vectors of its first stage are not those of the bags"


def _largest(vectors: NDArray[np.float32]) -> float:
    return float(np.abs(vectors).max(initial=1e-30))


def _same_counts(one: PartCounts, other: PartCounts) -> bool:
    pairs = ((one.starts, other.starts), (one.words, other.words), (one.ranks, other.ranks), (one.counts, other.counts))
    return all(np.array_equal(a, b) for a, b in pairs)


def _same_bags(one: Bags, other: Bags) -> bool:
    same = np.array_equal(one.starts, other.starts) and np.array_equal(one.words, other.words)
    return same and np.allclose(one.weights, other.weights, rtol=1e-12, atol=0)
