"""Opens snapshots: finds the newest valid one, verifies checksums, and maps arrays into memory.

Missing and unexpected files and wrong sizes are detected on opening. The content of a file is compared with its
checksum before it is used: on opening if every search needs it, else on first use, to open quickly. Likewise,
indices are compared with the arrays that they point into: a checksum can be forged.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.arrays import are_starts, is_increasing, is_within, map_array
from moverank.indexer.files.checksums import check_data, check_names, checksum
from moverank.indexer.snapshot.content_sample import DIGEST_BYTES, ContentSample
from moverank.indexer.snapshot.content_sample import SAMPLE as SIZE
from moverank.indexer.snapshot.document_vectors import GivenRows
from moverank.indexer.snapshot.encoder_fit import FittedEncoder, known_words
from moverank.indexer.snapshot.faiss_index import FirstStage, IndexInUse
from moverank.indexer.snapshot.segment import Segment, Terms
from moverank.indexer.snapshot.snapshot_layout import (
    ARRAYS,
    DOCUMENT_VECTORS,
    ENCODER,
    FIRST_STAGE,
    META,
    SAME_AS,
    SAMPLE,
    VECTOR_FILES,
    VECTOR_IDS,
    VOCABULARY,
    derived_from,
    ignore_damage,
    newest_of,
    valid_for,
)
from moverank.indexer.store import Reader
from moverank.indexer.values.documents import GIVEN
from moverank.indexer.values.settings import Settings
from moverank.rerank.bags.bag import TITLE, Bags, lookup
from moverank.rerank.bags.weights import PartCounts
from moverank.rerank.words.embedding import Embedding

_IMPOSSIBLE = "matches its checksum, but holds values that no version writes"
_SMALLEST = 1e-300  # the smallest weight: weights are positive
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A segment mapped from files, its bags at the collection's own gamma, and the first stage over their vectors.

    The bags are weighted without factors of words: idf changes with every added document. A first stage has either an
    `encoder` or `given` vectors. The first use of any file may raise
    DamagedFile. `segment.state` identifies the content of all files.
    """

    revision: int
    segment: Segment
    bags: Callable[[], Bags]
    first_stage: FirstStage
    encoder: FittedEncoder | None
    given: GivenRows | None
    index: IndexInUse
    path: Path
    sample: ContentSample

    def check(self) -> None:
        """Compare all files with their checksums and with each other; DamagedFile names the first that is wrong."""
        self.bags()
        _ = self.segment.counts, self.segment.terms.counts
        self.first_stage.check()
        if self.encoder:
            self.encoder.check()
        if self.given:
            _ = self.given.rows, self.given.vectors


def made_for(settings: Settings, embedding: Embedding) -> dict[str, Any]:
    """Return the settings and the fingerprint that a snapshot depends on."""
    return derived_from(settings, embedding.fingerprint)


def newest_snapshot(
    reader: Reader,
    directory: Path,
    settings: Settings,
    embedding: Embedding,
    damaged: Callable[[DamagedFile], None] = ignore_damage,
    distrusted: AbstractSet[Path] = frozenset(),
) -> Snapshot | None:
    """Open the newest snapshot that is valid for the state of `reader`; see `newest_of` for `damaged` and `distrusted`.

    `directory`, `settings` and `embedding` are the collection's. A snapshot older than the recorded removals is
    invalid.
    """
    wanted, valid = made_for(settings, embedding), valid_for(reader)

    def opened(path: Path, meta: dict[str, Any]) -> Snapshot:
        snapshot = opened_snapshot(path, meta)
        last = max(reader.last_document_id(), *reader.removed_ids(snapshot.revision), 0)
        terms = snapshot.segment.terms
        if not is_within(terms.ids[-1:], 0, last + 1):
            raise DamagedFile(path / "term_ids", _IMPOSSIBLE)
        if not is_within(terms.word_ids[-1:], 0, reader.last_word_id() + 1):
            raise DamagedFile(path / "all_word_ids", _IMPOSSIBLE)
        return snapshot

    return newest_of(directory, wanted, valid, opened, damaged, distrusted)


def read_tail(reader: Reader, since: int, embedding: Embedding, base: Snapshot | None) -> Segment:
    """Read the documents changed after revision `since` into a segment with its own vocabulary.

    The vectors of words that the snapshot `base` has are taken from it.
    """
    terms = Terms.stored(list(reader.counted_parts(since)))
    return Segment.of(terms, *_word_vectors(reader, terms.word_ids, embedding, base))


def _word_vectors(
    reader: Reader, words: NDArray[np.int64], embedding: Embedding, base: Snapshot | None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the ids (v,) among `words` (t,), both increasing, that have a vector, and their vectors (v, d)."""
    own = base.segment.word_ids if base else np.empty(0, np.int64)
    places, stored = lookup(words, own)
    new = words[~stored if base is None else ~stored & ~np.isin(words, base.segment.terms.word_ids)]
    new_ids, read, _ = known_words(reader.words_of(new.tolist()), embedding)
    ids = np.append(words[stored], new_ids)
    order = np.argsort(ids)
    return ids[order], np.concatenate([base.segment.vectors[places[stored]], read])[order] if base else read[order]


def opened_snapshot(path: Path, meta: dict[str, Any]) -> Snapshot:
    """Map a snapshot's arrays; check the arrays that every search needs now, the others on first use."""
    sizes, checksums = meta["sizes"], meta["files"]
    check_names(path, checksums, META)
    is_given = meta["made_for"]["first_stage"] == GIVEN
    arrays = _Arrays(path, meta)
    own = arrays.ids("ids"), partial(arrays.counts, ""), arrays.ids("word_ids"), arrays.word_vectors()
    terms = Terms(arrays.ids("term_ids"), partial(arrays.counts, "term_"), arrays.ids("all_word_ids"))
    state = checksum("".join(checksums[name]["xxh3"] for name in sorted(checksums)).encode())
    segment = Segment(*own, terms, state)

    @cache
    def rows() -> NDArray[np.int64]:
        return arrays.rows_of(arrays.ids(VECTOR_IDS), VECTOR_IDS, segment.ids)

    @cache
    def vectors() -> NDArray[np.float32]:
        return arrays.matrix(DOCUMENT_VECTORS, len(rows()), sizes["encoded"])

    arrays.rows_of(segment.ids, "ids", terms.ids)
    arrays.rows_of(segment.word_ids, "word_ids", terms.word_ids)
    given = GivenRows(rows, vectors)
    indexed = (lambda: arrays.ids(VECTOR_IDS)) if is_given else (lambda: segment.ids)
    faiss = FirstStage(path / FIRST_STAGE, meta["factory"], checksums[FIRST_STAGE], (sizes["encoded"], indexed))
    index = IndexInUse(faiss.factory, sizes[VECTOR_IDS if is_given else "ids"], sizes["encoded"], sizes["first_stage"])
    encoder = None
    if not is_given:
        dims = sizes["dim"], sizes["encoded"]
        encoder = FittedEncoder(path / ENCODER, meta["made_for"]["first_stage"], checksums[ENCODER], dims)
    sample = arrays.sample()
    stored = given if is_given else None
    return Snapshot(meta["revision"], segment, arrays.bags, faiss, encoder, stored, index, path, sample)


class _Arrays:
    """The arrays of a snapshot; before use, each is compared with its checksum, and its values with other arrays."""

    def __init__(self, path: Path, meta: dict[str, Any]) -> None:
        self._path, self._checksums, self._dim = path, meta["files"], meta["sizes"]["dim"]
        kinds = ARRAYS | VOCABULARY | VECTOR_FILES | {SAMPLE: "<f8"}
        self._maps = {name: map_array(path / name, kind) for name, kind in kinds.items() if name in self._checksums}
        self._checked: dict[str, NDArray[Any]] = {}
        self._counts: dict[str, PartCounts] = {}
        self._bags: Bags | None = None
        for prefix in ("", "term_"):  # now, since a search of no documents never uses the counts
            self._require(f"{prefix}ids", len(self._maps[f"{prefix}starts"]) == len(self._maps[f"{prefix}ids"]) + 1)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return an array; DamagedFile if the file differs from its checksum."""
        if name not in self._checked:
            check_data(self._path / name, self._maps[name], self._checksums[name])
            self._checked[name] = self._maps[name]
        return self._checked[name]

    def _require(self, name: str, holds: bool) -> None:
        if not holds:
            raise DamagedFile(self._path / name, _IMPOSSIBLE)

    def ids(self, name: str) -> NDArray[np.int64]:
        """Return ids (n,), increasing."""
        ids = self[name]
        self._require(name, is_increasing(ids))
        return ids

    def rows_of(self, ids: NDArray[np.int64], name: str, all_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions (m,) of `ids` (m,) in `all_ids` (n,); DamagedFile for `name` if an id is missing."""
        rows, present = lookup(ids, all_ids)
        self._require(name, bool(present.all()))
        return rows

    def matrix(self, name: str, rows: int, dim: int) -> NDArray[np.float32]:
        """Return vectors (rows, dim), which are finite."""
        values = self[name]
        self._require(name, dim > 0 and len(values) == rows * dim)
        self._require(name, is_within(values, -_LARGEST, np.inf))
        return values.reshape(rows, dim)

    def word_vectors(self) -> NDArray[np.float32]:
        """Return the vectors of the words."""
        return self.matrix("vectors", len(self["word_ids"]), self._dim)

    def sample(self) -> ContentSample:
        """Return the sample of the documents with a bag."""
        half, odd = divmod(len(self[SAMPLE]), 2)
        ids, digests = self[SAMPLE][:half], self[SAMPLE][half:]
        self._require(SAMPLE, not odd and is_within(ids, 0, 2.0**53) and is_within(digests, 0, 256.0**DIGEST_BYTES))
        self._require(SAMPLE, min(SIZE, len(self["ids"])) <= len(np.unique(ids)) == half)
        sample = ContentSample.read(self[SAMPLE])
        self.rows_of(sample.ids, SAMPLE, self["ids"])
        return sample

    def counts(self, prefix: str) -> PartCounts:
        """Return the counts of the words with a vector, or of all words."""
        if prefix not in self._counts:
            starts, words, ranks, amounts = (f"{prefix}{name}" for name in ("starts", "words", "ranks", "counts"))
            self._require_rows(starts, words, "all_word_ids" if prefix else "word_ids", f"{prefix}ids")
            entries = len(self[words])
            ranked = self[ranks] if ranks in self._maps else np.broadcast_to(np.int32(0), entries)
            self._require(ranks, len(ranked) == entries and is_within(ranked, TITLE, np.inf))
            self._require(amounts, len(self[amounts]) == entries and is_within(self[amounts], 1, np.inf))
            self._counts[prefix] = PartCounts(self[starts], self[words], ranked, self[amounts])
        return self._counts[prefix]

    def bags(self) -> Bags:
        """Return the bags, without factors of words."""
        if self._bags is None:
            starts, words = (name if name in self._maps else SAME_AS[name] for name in ("bag_starts", "bag_words"))
            self._require_rows(starts, words, "word_ids", "ids")
            weights = self["weights"]
            self._require("weights", len(weights) == len(self[words]) and is_within(weights, _SMALLEST, 2.0))
            self._bags = Bags(self[starts], self[words], weights)
        return self._bags

    def _require_rows(self, starts: str, words: str, vocabulary: str, ids: str) -> None:
        entries = len(self[words])
        self._require(starts, are_starts(self[starts], len(self[ids]), entries, filled=True))
        self._require(words, is_within(self[words], 0, len(self[vocabulary])))
