"""Opens snapshots: verifies checksums, and maps arrays into memory.

Missing and unexpected files and wrong sizes are detected on opening. The content of a file is compared with its
checksum before it is used: on opening if every search needs it, else on first use, to open quickly.
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
from moverank.indexer.files.checksums import FileChecksum, check_data, check_names, checksum
from moverank.indexer.given_vectors import GIVEN
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.content_sample import ContentSample
from moverank.indexer.snapshot.first_stage import FirstStage
from moverank.indexer.snapshot.fitted_encoder import FittedEncoder
from moverank.indexer.snapshot.index_choice import IndexInUse
from moverank.indexer.snapshot.segment import Segment, Terms
from moverank.indexer.snapshot.snapshot_layout import (
    ARRAYS,
    ENCODER,
    FIRST_STAGE,
    META,
    SAME_AS,
    SAMPLE,
    STAGE,
    STAGE_IDS,
    STAGE_VECTORS,
    VOCABULARY,
)
from moverank.indexer.snapshot.snapshot_meta import derived_from, ignored, newest_of, valid_for
from moverank.indexer.snapshot.stage_vectors import GivenRows
from moverank.indexer.store import Reader
from moverank.rerank.bags.bag import Bags
from moverank.rerank.bags.weights import PartCounts
from moverank.rerank.words.embedding import Embedding


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A segment mapped from files, its bags at the collection's own gamma, and the first stage over their vectors.

    The bags are weighted without idf, which changes with every added document. A first stage has either an `encoder` or
    `given` vectors. A snapshot of an earlier version has no `sample`. The first use of any file may raise DamagedFile.
    `terms.state` identifies the content of all files.
    """

    revision: int
    segment: Segment
    terms: Terms
    bags: Callable[[], Bags]
    stage: FirstStage
    encoder: FittedEncoder | None
    given: GivenRows | None
    index: IndexInUse
    path: Path
    sample: ContentSample | None

    def check(self) -> None:
        """Compare all files with their checksums; DamagedFile names the first that differs."""
        self.bags()
        _ = self.segment.counts, self.terms.counts
        self.stage.check()
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
    damaged: Callable[[DamagedFile], None] = ignored,
    distrusted: AbstractSet[Path] = frozenset(),
) -> Snapshot | None:
    """Open the newest snapshot that is valid for the state of `reader`; see `newest` for `damaged` and `distrusted`.

    `directory`, `settings` and `embedding` are the collection's. One older than the recorded removals is invalid.
    """
    wanted, valid = made_for(settings, embedding), valid_for(reader)
    return newest_of(directory, wanted, valid, _opened, damaged, distrusted)


def newest(
    directory: Path,
    wanted: dict[str, Any],
    valid: Callable[[int, str], bool],
    damaged: Callable[[DamagedFile], None] = ignored,
    distrusted: AbstractSet[Path] = frozenset(),
) -> Snapshot | None:
    """Open the newest snapshot in `directory` that was made for `wanted`; see `snapshot_meta.newest_of`."""
    return newest_of(directory, wanted, valid, _opened, damaged, distrusted)


def map_array(path: Path, kind: str, size: int | None = None) -> NDArray[Any]:
    """Map the file `path` into memory as an array of the dtype `kind`: all of it, or `size` items."""
    size = path.stat().st_size // np.dtype(kind).itemsize if size is None else size
    # Copy-on-write, although nothing is written: numba would compile each kernel again for read-only arrays.
    return np.asarray(np.memmap(path, kind, "c", shape=(size,))) if size else np.empty(0, kind)


def _opened(path: Path, meta: dict[str, Any]) -> Snapshot:
    """Map a snapshot's arrays; check those that every search needs now, the others on first use."""
    sizes, checksums = meta["sizes"], meta["files"]
    check_names(path, checksums, META)
    is_given = meta["made_for"]["first_stage"] == GIVEN
    kinds = {name: kind for name, kind in ARRAYS.items() if name in sizes} | VOCABULARY | (STAGE if is_given else {})
    maps = {name: map_array(path / name, kind) for name, kind in kinds.items()}

    @cache
    def checked(name: str) -> NDArray[Any]:
        return _checked(path / name, maps[name], checksums[name])

    @cache
    def counts(prefix: str) -> PartCounts:
        starts, words, ranks, amounts = (f"{prefix}{name}" for name in ("starts", "words", "ranks", "counts"))
        ranked = checked(ranks) if ranks in maps else np.broadcast_to(np.int32(0), sizes[words])
        return PartCounts(checked(starts), checked(words), ranked, checked(amounts))

    @cache
    def bags() -> Bags:
        starts, words = (name if name in maps else SAME_AS[name] for name in ("bag_starts", "bag_words"))
        return Bags(checked(starts), checked(words), checked("weights"))

    vectors = checked("vectors").reshape(-1, sizes["dim"])
    segment = Segment(checked("ids"), partial(counts, ""), checked("word_ids"), vectors)
    state = checksum("".join(checksums[name]["xxh3"] for name in sorted(checksums)).encode())
    terms = Terms(checked("term_ids"), partial(counts, "term_"), checked("all_word_ids"), state)

    @cache
    def rows() -> NDArray[np.int64]:
        return np.searchsorted(segment.ids, checked(STAGE_IDS))

    given = GivenRows(rows, lambda: checked(STAGE_VECTORS).reshape(-1, sizes["encoded"]))
    stage = FirstStage(path / FIRST_STAGE, meta["factory"], checksums[FIRST_STAGE])
    index = IndexInUse(stage.factory, sizes[STAGE_IDS if is_given else "ids"], sizes["encoded"], sizes["first_stage"])
    encoder = None
    if not is_given:
        encoder = FittedEncoder(path / ENCODER, meta["made_for"]["first_stage"], checksums[ENCODER])
    sample = None
    if SAMPLE in checksums:
        sample = ContentSample.read(_checked(path / SAMPLE, map_array(path / SAMPLE, "<f8"), checksums[SAMPLE]))
    own = given if is_given else None
    return Snapshot(meta["revision"], segment, terms, bags, stage, encoder, own, index, path, sample)


def _checked(path: Path, array: NDArray[Any], checksum: FileChecksum) -> NDArray[Any]:
    check_data(path, array, checksum)
    return array
