"""The directory that holds an embedding.

vectors.npy            (v, d) float32, row i for word i
words.npy ends.npy     the words' UTF-8 concatenated (bytes,) uint8, and the end of each (v,) int64
order.npy              the rows sorted by word (v,) int32
subwords.npy           fastText's n-gram buckets (b, d) float32, if there are any
vectors-sums.npy       checksums of the blocks of vectors.npy (n,) uint64; subwords-sums.npy likewise
embedding.json         the manifest: the source, the sizes, the fingerprint, and the checksums of the other files

Opening detects missing and unexpected files, wrong sizes, and damage to the words. Damage to the numbers is detected
when a block of them is first read.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile, VectorsError
from moverank.indexer.files.checksums import FileChecksum, check_data, check_names
from moverank.indexer.vectors.arrays import map_array
from moverank.indexer.vectors.block_checksums import BlockChecker, block_count
from moverank.indexer.vectors.manifest import MANIFEST, REPAIR_HINT, read_manifest
from moverank.rerank.errors import EmbeddingError
from moverank.rerank.words.embedding import Embedding, Subwords
from moverank.rerank.words.vocabulary import Vocabulary


def checksums_name(matrix: str) -> str:
    """Return the name of the file with the block checksums of a matrix."""
    return matrix.replace(".npy", "-sums.npy")


def open_vectors(directory: Path) -> Embedding:
    """Open the embedding of `directory`, memory-mapped and read-only, in milliseconds.

    The words are checked now, the vectors when they are read; `check_vectors` checks all of them. Raises VectorsError
    if anything is missing or damaged.
    """
    manifest = read_manifest(directory)
    try:
        checksums = manifest["files"]
        check_names(directory, checksums, MANIFEST)
        v, d = int(manifest["words"]), int(manifest["dim"])
        words = Vocabulary(
            _checked_array(directory / "words.npy", "|u1", int(manifest["word_bytes"]), checksums),
            _checked_array(directory / "ends.npy", "<i8", v, checksums),
            _checked_array(directory / "order.npy", "<i4", v, checksums),
        )
        subwords, sizes = None, manifest["subwords"]
        if sizes:
            buckets, checker = _matrix(directory / "subwords.npy", int(sizes["buckets"]), d, checksums)
            subwords = Subwords(buckets, int(sizes["min_n"]), int(sizes["max_n"]), checker.check)
        vectors, checker = _matrix(directory / "vectors.npy", v, d, checksums)
        unit, fingerprint = bool(manifest["normalized"]), str(manifest["fingerprint"])
        return Embedding(words, vectors, fingerprint, subwords, unit, checker.check)
    except VectorsError:
        raise
    except DamagedFile as error:
        raise VectorsError(f"the word vectors are damaged: {error}; {REPAIR_HINT}") from error
    except OSError as error:
        raise VectorsError(f"{directory} cannot be read ({error.strerror}): {REPAIR_HINT}") from error
    except (KeyError, TypeError, ValueError, OverflowError, EmbeddingError) as error:
        raise VectorsError(f"{directory / MANIFEST} is damaged: {REPAIR_HINT}") from error


def check_vectors(directory: Path) -> None:
    """Read all of `directory`; VectorsError if its content does not match its checksums and fingerprint."""
    stored = open_vectors(directory)
    if stored.before:
        stored.before(np.arange(len(stored.vectors)))
    if stored.subwords and stored.subwords.before:
        stored.subwords.before(np.arange(len(stored.subwords.buckets)))
    if Embedding(stored.words, stored.vectors, "", stored.subwords, stored.unit).fingerprint != stored.fingerprint:
        raise VectorsError(f"{directory} is damaged: its content does not match its fingerprint; {REPAIR_HINT}")


def _checked_array(path: Path, dtype: str, size: int, checksums: Mapping[str, FileChecksum]) -> NDArray[Any]:
    """Map an array (size,), and compare its file with its checksum."""
    array = map_array(path, dtype, (size,))
    check_data(path, path.read_bytes(), checksums[path.name])
    return array


def _matrix(
    path: Path, n: int, d: int, checksums: Mapping[str, FileChecksum]
) -> tuple[NDArray[np.float32], BlockChecker]:
    """Map a matrix (n, d), and return it with a checker of its blocks."""
    matrix = map_array(path, "<f4", (n, d))
    blocks = _checked_array(path.with_name(checksums_name(path.name)), "<u8", block_count(matrix), checksums)
    return matrix, BlockChecker(path, matrix, blocks)
