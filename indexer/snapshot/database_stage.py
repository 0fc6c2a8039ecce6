"""The first stage in the database: a table of documents' vectors, and the encoder that all machines share.

Each fit has a table of its own; a setting describes the current one, and the revision that it was brought up to.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile, VectorsError
from moverank.indexer.files.atomic_write import durable_file
from moverank.indexer.given_vectors import GIVEN, Space
from moverank.indexer.settings import DATABASE, Settings
from moverank.indexer.snapshot.fitted_encoder import FittedEncoder, save_encoder
from moverank.indexer.snapshot.segment import assemble, concatenated, documents_of
from moverank.indexer.snapshot.snapshot_layout import ENCODER
from moverank.indexer.snapshot.snapshot_reader import made_for
from moverank.indexer.snapshot.stage_tokens import tokens_by_document
from moverank.indexer.snapshot.stage_vectors import EncodedVectors, GivenVectors, StageVectors
from moverank.indexer.snapshot.word_frequencies import WordFrequencies
from moverank.indexer.store import CountedPart, Reader, StageRow, StageTable
from moverank.indexer.store.stage_table import PREFIX
from moverank.indexer.store.stored_files import fetch_folder
from moverank.rerank.bags.weights import weigh
from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.unknown import UNKNOWN

STAGE = "stage"
"""Name of the setting that describes the table; empty or absent without one."""

_FREQUENCIES = "frequencies.npz"
_PARTS = 20_000  # encoded at once


@dataclass(frozen=True, slots=True)
class StageRecord:
    """What the database says about its first stage.

    `revision` is that which the vectors belong to, `made_for` the settings and word vectors; see
    `snapshot_reader.made_for`. `tokens` are the totals of all documents; see `stage_tokens`. `indexed`: the index of
    the table has been made.
    """

    table: StageTable
    revision: int
    made_for: Mapping[str, Any]
    tokens: Mapping[str, int]
    indexed: bool = False

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self | None:
        """Return the one in stored settings, None if there is none."""
        values = stored.get(STAGE)
        return cls(**values | {"table": StageTable.restored(values["table"])}) if values else None

    def __str__(self) -> str:
        order = f"HNSW{self.table.links}" if self.indexed else "exact order"
        return f"{self.table.kind}({self.table.dim}), {order}"

    def setting(self) -> dict[str, Any]:
        """Return the stored settings that describe it."""
        return {STAGE: asdict(replace(self, tokens=dict(self.tokens)))}  # `asdict` breaks a Counter

    @property
    def exact(self) -> bool:
        """Return whether candidates are the nearest vectors; those of an index may be others."""
        return not self.indexed


@dataclass(frozen=True, slots=True, eq=False)
class DatabaseStage:
    """A first stage whose vectors are by an `encoder`, or given in a `space`.

    `frequencies` are those of the fit, with whose idf bags are weighted; None without idf.
    """

    record: StageRecord
    encoder: Encoder | None
    space: Space | None
    frequencies: WordFrequencies | None = None

    def vectors(self, reader: Reader, word_ids: NDArray[np.int64], vectors: NDArray[np.float32]) -> StageVectors:
        """Return the vectors of documents over the words `word_ids` (v,), whose vectors are `vectors` (v, d)."""
        if self.encoder is None:
            return GivenVectors(reader, self.space or Space("cosine", 0))
        idf = self.frequencies.idf(word_ids) if self.frequencies else None
        return EncodedVectors(self.encoder, word_ids, vectors, idf)

    def rows(
        self, reader: Reader, settings: Settings, embedding: Embedding, since: int = 0
    ) -> Iterator[list[StageRow]]:
        """Iterate over the rows of the documents changed after a revision, by document id, many at a time."""
        for parts in documents_of(reader.counted_parts(since), _PARTS):
            word_ids, vectors = known_words(reader, parts, embedding)
            found = self._encoded(reader, parts, settings, word_ids, vectors)
            tokens = tokens_by_document(parts, word_ids)
            yield [StageRow(id_, packed, found.get(id_)) for id_, packed in tokens.items()]

    def _encoded(
        self,
        reader: Reader,
        parts: Sequence[CountedPart],
        settings: Settings,
        word_ids: NDArray[np.int64],
        vectors: NDArray[np.float32],
    ) -> dict[int, NDArray[np.float32]]:
        """Return the vectors of those documents that have one, as the column holds them."""
        ids, counts = concatenated(list(assemble(parts, word_ids)))
        if not len(ids):
            return {}
        bags = weigh(counts, settings.gamma, title_weight=settings.title_weight)
        lengths = counts.lengths(settings.title_weight)
        own, encoded = self.vectors(reader, word_ids, vectors).of(ids, bags, lengths)
        return dict(zip(own.tolist(), self.record.table.rounded(encoded), strict=True))

    def save(self, directory: Path) -> Path:
        """Write what other machines need to a new folder in a collection's directory, and return it."""
        folder = directory / self.record.table.name
        folder.mkdir()
        if self.encoder is not None:
            save_encoder(self.encoder, folder / ENCODER)
        if self.frequencies is not None:
            counted = self.frequencies
            with durable_file(folder / _FREQUENCIES) as file:
                np.savez(file, ids=counted.ids, frequencies=counted.frequencies, documents=counted.documents)
        return folder


def known_words(
    reader: Reader, parts: Sequence[CountedPart], embedding: Embedding
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the ids (v,), increasing, of those words of parts that have a vector, and the vectors (v, d)."""
    words = np.unique(np.frombuffer(b"".join(part.words for part in parts), "<i4"))
    known = [word for word in reader.candidate_words(words.tolist()) if word.row != UNKNOWN]
    vectors = embedding.gather([word.word for word in known], np.array([word.row for word in known], np.int64))
    return np.array([word.id for word in known], np.int64), vectors


def current_record(reader: Reader, settings: Settings, embedding: Embedding) -> StageRecord | None:
    """Return what the database says about its first stage, if that is of the state which `reader` sees."""
    record = StageRecord.of(reader.settings()) if settings.first_stage_in == DATABASE else None
    if record is None or record.made_for != made_for(settings, embedding) or record.revision != reader.revision():
        return None
    return record


def open_stage(reader: Reader, directory: Path, settings: Settings, embedding: Embedding) -> DatabaseStage | None:
    """Open the first stage in the database; None if there is none of the state that `reader` sees.

    The encoder is fetched into `directory`, the collection's. Raises VectorsError if another process has just replaced
    it, or if it is damaged.
    """
    record = current_record(reader, settings, embedding)
    if record is None:
        return None
    if not reader.hold_stage(record.table):
        raise VectorsError(
            f"the database has no table {record.table.name} of the first stage: `moverank check --repair` makes it"
        )
    return restored_stage(reader, directory, settings, record)


def restored_stage(reader: Reader, directory: Path, settings: Settings, record: StageRecord) -> DatabaseStage:
    """Return the first stage of a record; its files are fetched where they are missing or damaged."""
    if settings.encoder == GIVEN:
        return DatabaseStage(record, None, settings.space(record.table.dim))
    folder = directory / record.table.name
    try:
        return _read(folder, settings, record)
    except (DamagedFile, OSError, KeyError, ValueError, BadZipFile):
        shutil.rmtree(folder, ignore_errors=True)
    try:
        if not fetch_folder(reader, folder):
            raise VectorsError(f"the database does not have the encoder of {folder.name}: `moverank check --repair`")
        return _read(folder, settings, record)
    except (DamagedFile, OSError, KeyError, ValueError, BadZipFile) as error:
        raise VectorsError(f"the encoder of the first stage cannot be used: {error}") from error


def _read(folder: Path, settings: Settings, record: StageRecord) -> DatabaseStage:
    encoder = FittedEncoder(folder / ENCODER, settings.encoder).restored()
    frequencies = None
    if settings.weights == "tfidf":
        with np.load(folder / _FREQUENCIES, allow_pickle=False) as state:
            frequencies = WordFrequencies(state["ids"], state["frequencies"], int(state["documents"]))
    return DatabaseStage(record, encoder, None, frequencies)


def remove_other_folders(directory: Path, current: StageRecord | None) -> None:
    """Remove the encoders of fits that have been replaced; open readers keep the files."""
    for folder in directory.glob(f"{PREFIX}*"):
        if current is None or folder.name != current.table.name:
            shutil.rmtree(folder, ignore_errors=True)
