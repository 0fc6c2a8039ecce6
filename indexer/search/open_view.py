"""Opens the state that a search uses: maps the newest snapshot, and reads later changes from the store."""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile
from moverank.indexer.given_vectors import Space
from moverank.indexer.search.live_segment import LazyFrequencies, LiveSegment
from moverank.indexer.search.live_terms import LiveTerms
from moverank.indexer.search.stemmed_terms import Texts
from moverank.indexer.search.term_scores import TermScores
from moverank.indexer.search.view import View
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.content_sample import ContentSample
from moverank.indexer.snapshot.segment import Segment, Terms, assemble, concatenated, keep_words
from moverank.indexer.snapshot.snapshot_reader import Snapshot, newest_snapshot
from moverank.indexer.snapshot.stage_vectors import GivenRows, stored_vectors
from moverank.indexer.snapshot.sums_cache import SumsCache
from moverank.indexer.snapshot.word_frequencies import WordFrequencies
from moverank.indexer.store import Reader
from moverank.rerank.bags.lookup import lookup
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.unknown import UNKNOWN

_FEW_WORDS = 30_000  # more are read with all others, which takes less time than finding each


def open_view(
    reader: Reader,
    directory: Path,
    settings: Settings,
    embedding: Embedding,
    damaged: Callable[[DamagedFile], None] = lambda _: None,
    distrusted: AbstractSet[Path] = frozenset(),
) -> View:
    """Open the newest snapshot, and read later changes from the store.

    `reader`, `directory`, `settings` and `embedding` are the collection's; `damaged` and `distrusted` as in
    `newest_snapshot`.
    """
    # The first statement fixes the state that the reader sees: a snapshot written later is not valid for it.
    revision = reader.revision()
    base = newest_snapshot(reader, directory, settings, embedding, damaged, distrusted)
    since = base.revision if base else 0
    tail, terms = _read_tail(reader, since, embedding, base)
    space = settings.space(reader.vector_dim())
    documents, weight = reader.document_count(), float(settings.title_weight)
    segments, counted, gone = list[LiveSegment](), list[LiveTerms](), np.empty(0, np.int64)
    frequencies = LazyFrequencies(lambda: _frequencies(segments, documents))
    if base:
        gone = np.array(reader.changed_ids(since) + reader.removed_ids(since), np.int64)
        live = ~np.isin(base.segment.ids, gone)
        counted.append(LiveTerms(base.terms, gone, base.segment, weight, directory))
        stored = settings.gamma, base.bags, SumsCache(directory, base.terms.state)
        segments.append(LiveSegment(base.segment, live, frequencies, weight, base.stage, base.given, *stored))
    if len(tail.ids):
        given = _read_given(reader, tail.ids, space) if space else None
        segments.append(LiveSegment(tail, np.ones(len(tail.ids), bool), frequencies, weight, given=given))
    if len(terms.ids):
        counted.append(LiveTerms(terms, np.empty(0, np.int64), tail, weight))
    scores = TermScores(counted, documents, _word_texts(reader))
    fitted, path = (base.encoder, base.path) if base else (None, None)
    own = settings.gamma, settings.weights
    sample = ContentSample.current(reader, since, base.sample if base else None, gone)
    view = View(revision, tuple(segments), *own, frequencies, scores, fitted, embedding.dim, path, directory)
    return replace(view, space=space, sampled_content=sample)


def _frequencies(segments: Sequence[LiveSegment], documents: int) -> WordFrequencies:
    """Return the frequencies of words; a snapshot has nothing of those of the `documents` that have no word."""
    return WordFrequencies.counted(
        ((part.segment.word_ids, part.frequencies_of_words()) for part in segments), documents
    )


def _read_tail(reader: Reader, since: int, embedding: Embedding, base: Snapshot | None) -> tuple[Segment, Terms]:
    """Read the documents changed after revision `since` into a segment with its own vocabulary.

    The vectors of words that the snapshot `base` has are taken from it.
    """
    parts = list(reader.counted_parts(since))
    all_words = np.unique(np.frombuffer(b"".join(part.words for part in parts), "<i4")).astype(np.int64)
    ids, counts = concatenated(list(assemble(parts, all_words)))
    word_ids, vectors = _word_vectors(reader, all_words, embedding, base)
    segment = Segment(*keep_words(ids, counts, all_words, word_ids), word_ids, vectors)
    return segment, Terms(ids, counts, all_words)


def _word_vectors(
    reader: Reader, words: NDArray[np.int64], embedding: Embedding, base: Snapshot | None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the ids (v,) of those of `words` (t,), all increasing, that have a vector, and the vectors (v, d)."""
    own = base.segment.word_ids if base else np.empty(0, np.int64)
    places, stored = lookup(words, own)
    new = words[~stored if base is None else ~stored & ~np.isin(words, base.terms.word_ids)]
    rows = {id_: row for id_, row in reader.word_rows(new.tolist()).items() if row != UNKNOWN}
    texts = reader.word_texts(sorted(rows))
    read = embedding.gather(list(texts.values()), np.array([rows[id_] for id_ in texts], np.int64))
    ids = np.append(words[stored], np.array(list(texts), np.int64))
    order = np.argsort(ids)
    return ids[order], np.concatenate([base.segment.vectors[places[stored]], read])[order] if base else read[order]


def _read_given(reader: Reader, ids: NDArray[np.int64], space: Space) -> GivenRows:
    """Read the given vectors of the documents `ids` (n,) of the tail."""
    own, vectors = stored_vectors(reader, ids, space)
    return GivenRows.of(np.searchsorted(ids, own), vectors)


def _word_texts(reader: Reader) -> Texts:
    """Return a function from ids to words; many are read at once."""

    def texts(ids: NDArray[np.int64]) -> list[str]:
        few = len(ids) <= _FEW_WORDS
        words = reader.word_texts(ids.tolist()) if few else {word.id: word.word for word in reader.all_words()}
        return [words[id_] for id_ in ids.tolist()]

    return texts
