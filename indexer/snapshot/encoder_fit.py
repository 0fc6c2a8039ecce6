"""Fits the encoder of a first stage to the documents of a collection."""

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.segment import Portion, assemble, concatenated
from moverank.indexer.store import Reader
from moverank.rerank.bags.weights import weigh
from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.encoders.encoder import Documents, Encoder
from moverank.rerank.encoders.encoder_registry import choose

FIT_SAMPLE = 50_000
"""An encoder is fitted to all documents up to this number, and of more to evenly spaced ones, under twice as many."""


def learns(settings: Settings) -> bool:
    """Return whether the encoder that the settings name learns anything from documents."""
    return settings.encoder != Centroid.name or Centroid.learns(settings.encoder_options())


def fit_encoder(
    reader: Reader,
    word_ids: NDArray[np.int64],
    vectors: NDArray[np.float32],
    settings: Settings,
    idf: NDArray[np.float64] | None,
) -> Encoder:
    """Fit the encoder that the settings name to a sample of documents."""
    stride, first = max(1, reader.document_count() // FIT_SAMPLE), 0
    sample: list[Portion] = []
    if learns(settings):
        for ids, counts in assemble(reader.counted_parts(), word_ids):
            rows = np.arange(-first % stride, len(ids), stride)
            sample.append((ids[rows], counts.take(rows)))
            first += len(ids)
    _, counts = concatenated(sample)
    bags = weigh(counts, settings.gamma, idf, settings.title_weight)
    documents = Documents(bags, counts.lengths(settings.title_weight), word_ids, vectors)
    return choose(settings.encoder, settings.encoder_options()).fit(documents, settings.encoder_options())
