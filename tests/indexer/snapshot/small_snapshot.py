"""A small snapshot, written without a collection, and the files that a snapshot has."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.snapshot.content_sample import ContentSample
from moverank.indexer.snapshot.document_vectors import EncodedVectors
from moverank.indexer.snapshot.snapshot_files import Snapshot, opened_snapshot
from moverank.indexer.snapshot.snapshot_layout import newest_of
from moverank.indexer.snapshot.snapshot_writer import SnapshotContent, write_snapshot
from moverank.rerank.bags.weights import PartCounts
from moverank.rerank.encoders.centroid import Centroid

_COUNTS = ("ids", "starts", "words", "counts")
_ARRAYS = (*_COUNTS, *(f"term_{name}" for name in _COUNTS), "weights", "word_ids", "all_word_ids", "vectors")
FLAT_FILES = (*_ARRAYS, "sample", "first_stage.faiss", "encoder", "meta.json")
"""Files of a snapshot in which every part has rank 0."""
FILES = (*FLAT_FILES, "ranks", "term_ranks", "bag_starts", "bag_words")

Portion = tuple[NDArray[np.int64], PartCounts]
_TOKEN = "0123abcd"  # noqa: S105 - of a revision
_SAMPLE = ContentSample.of([(id_, bytes(6)) for id_ in (3, 4, 7, 8)])


def _made_for(gamma: float) -> dict[str, object]:
    return {"gamma": gamma, "title_weight": 1, "faiss": "IDMap2,Flat", "weights": "tf", "first_stage": "centroid"}


def portion(first: int) -> Portion:
    """Return documents `first` to `first` + 2: words 0 and 1 in ranks 0 and 1; 3, and 2 without a vector; 2 only."""
    starts = np.array([0, 2, 4, 5])
    arrays = [np.array(values, np.int32) for values in ([0, 1, 2, 3, 2], [0, 1, 0, 0, 0], [1, 2, 5, 3, 6])]
    return np.arange(first, first + 3), PartCounts(starts, *arrays)


def write(directory: Path, revision: int = 1, *, gamma: float = 0.0, portions: Iterable[Portion] | None = None) -> Path:
    """Write a snapshot of six documents, or of the `portions`, and return its path."""
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    words, known = np.array([1, 4, 6, 9]), np.array([1, 4, 9])
    portions = [portion(3), portion(7)] if portions is None else portions
    made = EncodedVectors(Centroid(2), known, vectors, None)
    content = SnapshotContent(revision, _TOKEN, _made_for(gamma), portions, words, known, vectors, made, _SAMPLE)
    return write_snapshot(directory, content)


def open_newest(directory: Path, latest: int, *, gamma: float = 0.0) -> Snapshot | None:
    """Open the newest snapshot for a gamma, of a revision not after `latest`."""

    def valid(revision: int, token: str) -> bool:
        return revision <= latest and token == _TOKEN

    return newest_of(directory, _made_for(gamma), valid, opened_snapshot)
