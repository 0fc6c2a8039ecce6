"""Opens the state that a search uses: maps the newest snapshot, and reads later changes from the store."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile
from moverank.indexer.search.segment_words import WordTexts
from moverank.indexer.search.segments import LiveSegment, counted_idf
from moverank.indexer.search.view import View
from moverank.indexer.snapshot.content_sample import ContentSample
from moverank.indexer.snapshot.document_vectors import GivenRows, stored_vectors
from moverank.indexer.snapshot.snapshot_files import newest_snapshot, read_tail
from moverank.indexer.store import Reader
from moverank.indexer.values.given_vectors import Space
from moverank.indexer.values.settings import Settings
from moverank.indexer.values.word_factors import WordFactors
from moverank.rerank.words.embedding import Embedding

_Ids = NDArray[np.int64]
_NO_IDS = np.empty(0, np.int64)
_FEW_WORDS = 30_000  # to find more, one by one, takes longer than to read all words


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
    tail = read_tail(reader, since, embedding, base)
    space = settings.space(reader.vector_dim())
    documents, weight = reader.document_count(), float(settings.title_weight)
    parts, gone = list[LiveSegment](), _NO_IDS
    texts = _word_texts(reader)
    factors = WordFactors.by(embedding, counted_idf(parts, documents), texts)
    if base:
        gone = np.array(reader.changed_ids(since) + reader.removed_ids(since), np.int64)
        stored = base.first_stage, settings.gamma, base.bags, directory
        parts.append(LiveSegment(base.segment, gone, factors, weight, base.given, *stored))
    if len(tail.terms.ids):
        given = _read_given(reader, tail.ids, space) if space and len(tail.ids) else None
        parts.append(LiveSegment(tail, _NO_IDS, factors, weight, given))
    return replace(
        View.of(parts, documents, factors, texts, embedding.dim),
        revision=revision,
        gamma=settings.gamma,
        weights=settings.weights,
        fitted=base.encoder if base else None,
        snapshot=base.path if base else None,
        directory=directory,
        space=space,
        sampled_content=ContentSample.current(reader, since, base.sample if base else None, gone),
    )


def _read_given(reader: Reader, ids: NDArray[np.int64], space: Space) -> GivenRows:
    """Read the given vectors of the documents `ids` (n,) of the tail."""
    own, vectors = stored_vectors(reader, ids, space)
    return GivenRows.of(np.searchsorted(ids, own), vectors)


def _word_texts(reader: Reader) -> WordTexts:
    """Return a function from ids to words; many are read at once."""

    def texts(ids: NDArray[np.int64]) -> list[str]:
        found = reader.words_of(ids.tolist()) if len(ids) <= _FEW_WORDS else reader.all_words()
        words = {word.id: word.word for word in found}
        return [words[id_] for id_ in ids.tolist()]

    return texts
