"""A fit of a first stage in the database: its table, its encoder, which all machines share, and the rows of documents.

A setting describes the current fit, and the revision that its table was brought up to. The numbers of tokens by rank,
packed into bytes, give the mean length of documents at any gamma, and the share of tokens with a vector. A rank counts
relative to the best rank of its document (see `bags.weights.weigh`), so totals are kept by both.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile, VectorsError
from moverank.indexer.files.atomic_write import durable_file
from moverank.indexer.given_vectors import GIVEN, Space
from moverank.indexer.pgvector.vector_table import DocumentVectorTable, VectorRow
from moverank.indexer.settings import DATABASE, Settings
from moverank.indexer.snapshot.cached_coverage import Coverage
from moverank.indexer.snapshot.document_vectors import DocumentVectors, EncodedVectors, GivenVectors
from moverank.indexer.snapshot.encoder_fit import (
    FittedEncoder,
    KnownWords,
    known_words,
    save_encoder,
    stored_frequencies,
)
from moverank.indexer.snapshot.segment import assemble, concatenated, documents_of
from moverank.indexer.snapshot.snapshot_files import made_for
from moverank.indexer.snapshot.snapshot_layout import ENCODER
from moverank.indexer.store import CountedPart, Reader
from moverank.indexer.store.stored_files import fetch_folder
from moverank.rerank.bags.bag import TITLE, lookup
from moverank.rerank.bags.weights import Frequencies, weigh
from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.words.embedding import Embedding

SETTING = "stage"
"""Name of the stored setting that describes the current fit; empty or absent without one."""

_KNOWN = "known"  # the name of the number of tokens with a vector
_FREQUENCIES = "frequencies.npz"
_PARTS = 20_000  # encoded at once
_UNREADABLE = (DamagedFile, OSError, KeyError, ValueError, BadZipFile)


@dataclass(frozen=True, slots=True)
class FitRecord:
    """The description of a first stage in the database."""

    table: DocumentVectorTable
    revision: int
    """The revision that the vectors belong to."""
    made_for: Mapping[str, Any]
    """The settings and word vectors; see `snapshot_files.made_for`."""
    tokens: Mapping[str, int]
    """The numbers of tokens of all documents by "BEST:RANK", the best rank of a document and the rank of a part.

    "known": the number of tokens with a vector.
    """
    indexed: bool = False
    """Whether the table has its index."""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self | None:
        """Return the record in stored settings, None if there is none."""
        values = stored.get(SETTING)
        return cls(**values | {"table": DocumentVectorTable(**values["table"])}) if values else None

    def __str__(self) -> str:
        order = f"HNSW{self.table.links}" if self.indexed else "exact order"
        return f"{self.table.kind}({self.table.dim}), {order}"

    def setting(self) -> dict[str, Any]:
        """Return the stored settings that hold the record."""
        return {SETTING: asdict(replace(self, tokens=dict(self.tokens)))}  # `asdict` breaks a Counter

    @property
    def coverage(self) -> Coverage:
        """Return the coverage of all documents."""
        known = self.tokens.get(_KNOWN, 0)
        return Coverage(sum(self.tokens.values()) - known, known)

    def weighted_tokens(self, gamma: float, title_weight: float) -> float:
        """Return the number of all tokens, weighted by rank, tokens of titles by `title_weight`."""
        total = 0.0
        for name, tokens in self.tokens.items():
            if name != _KNOWN:
                best, rank = map(int, name.split(":"))
                share = ((1 + best) / (1 + max(rank, 0))) ** gamma
                total += tokens * share * (title_weight if rank == TITLE else 1.0)
        return total


def totals_of(documents: Iterable[bytes]) -> Counter[str]:
    """Return the sums of the packed tokens of documents, as `FitRecord.tokens` has them."""
    totals = Counter[str]()
    for packed in documents:
        ranks = np.frombuffer(packed, "<i4").reshape(-1, 3).tolist()
        best = min((max(rank, 0) for rank, _, _ in ranks), default=0)
        for rank, tokens, known in ranks:
            totals[f"{best}:{rank}"] += tokens
            totals[_KNOWN] += known
    return totals


def tokens_by_document(parts: Iterable[CountedPart], known: NDArray[np.int64]) -> dict[int, bytes]:
    """Return the packed tokens of each document: for each rank the rank, its tokens, and its tokens with a vector.

    `known` (v,), increasing, are the ids of words with a vector. The numbers are packed as int32.
    """
    documents: dict[int, dict[int, tuple[int, int]]] = {}
    for part in parts:
        tokens = documents.setdefault(part.document_id, {})
        words, counts = np.frombuffer(part.words, "<i4"), np.frombuffer(part.counts, "<i4")
        if len(counts):
            all_before, known_before = tokens.get(part.rank, (0, 0))
            with_vector = lookup(words.astype(np.int64), known)[1]
            tokens[part.rank] = all_before + int(counts.sum()), known_before + int(counts[with_vector].sum())
    ranked = {id_: [(rank, *own) for rank, own in sorted(tokens.items())] for id_, tokens in documents.items()}
    return {id_: np.array(rows, "<i4").tobytes() for id_, rows in ranked.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A first stage in the database whose vectors are by an `encoder`, or given in a `space`.

    `frequencies` give the idf that weighs bags since the fit; None without idf.
    """

    record: FitRecord
    encoder: Encoder | None
    space: Space | None
    frequencies: Frequencies | None = None

    @property
    def is_bound(self) -> bool:
        """Return whether the distance of the last candidate is a lower bound of the WMD of all others."""
        exact = not self.record.indexed and self.record.table.kind == "vector"
        return exact and isinstance(self.encoder, Centroid) and self.encoder.is_bound

    def rows(
        self, reader: Reader, settings: Settings, embedding: Embedding, since: int = 0
    ) -> Iterator[list[VectorRow]]:
        """Iterate over the rows of the documents changed after a revision, by document id, many at a time."""
        for parts in documents_of(reader.counted_parts(since), _PARTS):
            words = np.unique(np.frombuffer(b"".join(part.words for part in parts), "<i4"))
            known = known_words(reader.words_of(words.tolist()), embedding)
            ids, counts = concatenated(list(assemble(parts, known.ids)))
            own: dict[int, NDArray[np.float32]] = {}
            if len(ids):
                bags = weigh(counts, settings.gamma, title_weight=settings.title_weight)
                lengths = counts.lengths(settings.title_weight)
                with_one, encoded = self._vectors(reader, known, settings, embedding).of(ids, bags, lengths)
                own = dict(zip(with_one.tolist(), encoded, strict=True))
            tokens = tokens_by_document(parts, known.ids)
            yield [VectorRow(id_, packed, own.get(id_)) for id_, packed in tokens.items()]

    def _vectors(self, reader: Reader, words: KnownWords, settings: Settings, embedding: Embedding) -> DocumentVectors:
        """Return the vectors of documents over `words`; `settings` and `embedding` are the collection's."""
        if self.encoder is None:
            return GivenVectors(reader, self.space or Space("cosine", 0))
        frequencies = self.frequencies
        factors = words.factors(settings.weights, embedding, lambda: frequencies or stored_frequencies(reader))
        return EncodedVectors(self.encoder, words.ids, words.vectors, factors)

    def save(self, directory: Path) -> Path:
        """Write the files that other machines need to a new folder in a collection's directory, and return it."""
        folder = directory / self.record.table.name
        folder.mkdir()
        if self.encoder is not None:
            save_encoder(self.encoder, folder / ENCODER)
        if self.frequencies is not None:
            counted = self.frequencies
            with durable_file(folder / _FREQUENCIES) as file:
                np.savez(file, ids=counted.ids, frequencies=counted.numbers, documents=counted.documents)
        return folder


def current_record(reader: Reader, settings: Settings, embedding: Embedding) -> FitRecord | None:
    """Return the record of the database's first stage, if its vectors belong to the state that `reader` sees."""
    record = FitRecord.of(reader.settings()) if settings.first_stage_in == DATABASE else None
    if record is None or record.made_for != made_for(settings, embedding) or record.revision != reader.revision():
        return None
    return record


def current_fit(reader: Reader, directory: Path, settings: Settings, embedding: Embedding) -> Fit | None:
    """Open the fit of the state that `reader` sees, None if there is none; see `open_fit`."""
    record = current_record(reader, settings, embedding)
    return open_fit(reader, directory, settings, record) if record else None


def open_fit(reader: Reader, directory: Path, settings: Settings, record: FitRecord) -> Fit:
    """Open the fit of a record, and keep its table until the transaction of `reader` ends; see `restored_fit`."""
    if not record.table.hold(reader.rows):
        raise VectorsError(
            f"the database has no table {record.table.name} of the first stage: `moverank check --repair` makes it"
        )
    return restored_fit(reader, directory, settings, record)


def restored_fit(reader: Reader, directory: Path, settings: Settings, record: FitRecord) -> Fit:
    """Return the fit of a record; its files are fetched into the collection's `directory` if missing or damaged.

    Raises VectorsError if the fit is damaged, or if another process has just replaced it.
    """
    if settings.encoder == GIVEN:
        return Fit(record, None, settings.space(record.table.dim))
    folder = directory / record.table.name
    try:
        return _read(folder, settings, record)
    except _UNREADABLE:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        if not fetch_folder(reader, folder):
            raise VectorsError(f"the database does not have the encoder of {folder.name}: `moverank check --repair`")
        return _read(folder, settings, record)
    except _UNREADABLE as error:
        raise VectorsError(f"the encoder of the first stage cannot be used: {error}") from error


def _read(folder: Path, settings: Settings, record: FitRecord) -> Fit:
    encoder = FittedEncoder(folder / ENCODER, settings.encoder).restored()
    frequencies = None
    if settings.weights == "tfidf":
        with np.load(folder / _FREQUENCIES, allow_pickle=False) as state:
            frequencies = Frequencies(state["ids"], state["frequencies"], int(state["documents"]))
    return Fit(record, encoder, None, frequencies)
