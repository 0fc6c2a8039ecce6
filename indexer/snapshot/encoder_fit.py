"""Fits the encoder of a first stage to the documents of a collection, and stores it as a file of plain arrays.

Words with their vectors, and the document frequencies for the weights of bags, are read from the database.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.arrays import map_array, mapped_arrays
from moverank.indexer.files.checksums import FileChecksum, check_data
from moverank.indexer.snapshot.segment import Portion, assemble, concatenated
from moverank.indexer.store import Reader, StoredWord
from moverank.indexer.values.ranking_spec import Weights
from moverank.indexer.values.settings import Settings
from moverank.indexer.values.word_factors import WordFactors
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import Frequencies, weigh
from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.encoders.encoder import Documents, Encoder, encode
from moverank.rerank.encoders.first_stages import choose_encoder, encoder_class
from moverank.rerank.errors import EncoderError
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.vocabulary import UNKNOWN

FIT_SAMPLE = 50_000
"""An encoder is fitted to up to this many documents; if there are more, to evenly spaced ones, under twice as many."""


def learns(settings: Settings) -> bool:
    """Return whether the encoder that the settings name learns anything from documents."""
    return settings.encoder != Centroid.name or Centroid.learns(settings.encoder_options())


class KnownWords(NamedTuple):
    """Words that have a vector."""

    ids: NDArray[np.int64]  # (v,)
    vectors: NDArray[np.float32]  # (v, d)
    texts: Sequence[str]  # (v,)

    def factors(
        self, weights: Weights, embedding: Embedding, frequencies: Callable[[], Frequencies]
    ) -> NDArray[np.float64] | None:
        """Return the factors (v,) of the words, whose vectors are in `embedding`; see `WordFactors.of`."""
        factors = WordFactors.by(embedding, lambda ids, _: frequencies().idf(ids), lambda _: self.texts)
        return factors.of(weights, self.ids)


def known_words(words: Iterable[StoredWord], embedding: Embedding) -> KnownWords:
    """Return the words among `words`, ordered by id, that have a vector."""
    known = [word for word in words if word.row != UNKNOWN]
    texts = [word.word for word in known]
    vectors = embedding.gather(texts, np.array([word.row for word in known], np.int64))
    return KnownWords(np.array([word.id for word in known], np.int64), vectors, texts)


def stored_frequencies(reader: Reader) -> Frequencies:
    """Return the document frequencies in the database, which each change updates."""
    pairs = np.array(reader.frequencies(), np.int64).reshape(-1, 2)
    return Frequencies(pairs[:, 0], pairs[:, 1], reader.document_count())


def fit_encoder(reader: Reader, words: KnownWords, settings: Settings, factors: NDArray[np.float64] | None) -> Encoder:
    """Fit the encoder that the settings name to a sample of documents; `factors` (v,) weigh the `words`."""
    stride, first = max(1, reader.document_count() // FIT_SAMPLE), 0
    sample: list[Portion] = []
    if learns(settings):
        for ids, counts in assemble(reader.counted_parts(), words.ids):
            rows = np.arange(-first % stride, len(ids), stride)
            sample.append((ids[rows], counts.take(rows)))
            first += len(ids)
    _, counts = concatenated(sample)
    bags = weigh(counts, settings.gamma, factors, settings.title_weight)
    documents = Documents(bags, counts.lengths(settings.title_weight), words.ids, words.vectors)
    return choose_encoder(settings.encoder, settings.encoder_options()).fit(documents, settings.encoder_options())


class FittedEncoder:
    """The encoder `name` in the file `path`, compared with its `checksum` and restored on first use.

    `dims` are the dimensions of word vectors, which it takes, and of documents' vectors, which it returns; None: any.
    """

    def __init__(
        self, path: Path, name: str, checksum: FileChecksum | None = None, dims: tuple[int, int] | None = None
    ) -> None:
        self._path, self._name, self._checksum, self._dims = path, name, checksum, dims
        self._file = map_array(path, "|u1")
        self._encoder: Encoder | None = None

    def check(self) -> None:
        """Restore the encoder, if its package is installed; DamagedFile if the file does not hold it."""
        with suppress(EncoderError):
            self.restored()

    def restored(self) -> Encoder:
        """Return the encoder; DamagedFile if the file does not hold one, EncoderError if its package is missing."""
        if self._encoder is None:
            if self._checksum is not None:
                check_data(self._path, self._file, self._checksum)
            encoder = encoder_class(self._name)  # outside of the block: a missing package is no damage
            try:
                restored = encoder.restore(mapped_arrays(self._file))
                self._require_dims(restored)
            except (EncoderError, ValueError, KeyError, TypeError) as error:
                raise DamagedFile(self._path, f"holds no encoder: {error}") from error
            self._encoder = restored
        return self._encoder

    def _require_dims(self, restored: Encoder) -> None:
        """Raise ValueError or EncoderError for an encoder of other dimensions, by encoding one word."""
        if self._dims is not None:
            taken, returned = self._dims
            bags = Bags(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1))
            word = Documents(bags, np.ones(1), np.zeros(1, np.int64), np.zeros((1, taken), np.float32))
            if encode(restored, word).shape[1] != returned:
                raise ValueError(f"its vectors have {restored.dim} dimensions, not {returned}")
