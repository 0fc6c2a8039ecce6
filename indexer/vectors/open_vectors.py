"""The directory that holds an embedding, mapped and checked: the words on opening, vectors when they are read.

vectors         (v, d) float32, row i for word i
words ends      the words' UTF-8 concatenated (bytes,) uint8, and the end of each (v,) int64
order           the rows sorted by word (v,) int32
form-hashes     hashes of the other forms of words (m,) uint64, increasing, if these are looked up: see `Forms`
form-rows       the row of each (m,) int32
subwords        the vectors of subwords (b, d) float32, if there are any: fastText's n-grams, or pieces of
tokenizer.json  this tokenizer, of a static embedding model
lengths         the lengths (v,) float32 of vectors before they were scaled to length 1; missing for other vectors
vectors-sums    checksums of the blocks of vectors (n,) uint64; subwords-sums likewise
embedding.json  the manifest: the source, the sizes, the fingerprint, and the checksums of the other files

Opening detects missing and unexpected files, wrong sizes, and damage to the words. Damage to the numbers is detected
when a block of them is first read: a search reads the rows of a few words, and checking a file of gigabytes first would
take longer than the search.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile, VectorsError
from moverank.indexer.files.arrays import are_starts, is_within, map_array
from moverank.indexer.files.checksums import FileChecksum, check_data, check_names, short_checksum
from moverank.indexer.vectors.manifest import LENGTHS, MANIFEST, REPAIR_HINT, TOKENIZER, read_manifest
from moverank.rerank.errors import EmbeddingError, OptionError
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.forms import Forms
from moverank.rerank.words.languages import language_of
from moverank.rerank.words.subwords import NGrams, Pieces, Splitter, Subwords
from moverank.rerank.words.vocabulary import Vocabulary

HASHES, ROWS = "form-hashes", "form-rows"

BLOCK = 1 << 16
"""Number of bytes covered by one checksum."""


def block_count(matrix: NDArray[Any]) -> int:
    """Return the number of blocks of a matrix."""
    return -(-matrix.nbytes // BLOCK)


def block_checksums(matrix: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the checksums of a matrix's blocks; the last block may be shorter."""
    data = _buffer(matrix)
    starts = range(0, len(data), BLOCK)
    return np.array([short_checksum(data[start : start + BLOCK]) for start in starts], np.uint64)


class BlockChecker:
    """Compares each block of a mapped `matrix` (n, d) with its checksum when a row in it is first read.

    `path` is the matrix's file, named in errors; `checksums` (b,) are the expected ones.
    """

    def __init__(self, path: Path, matrix: NDArray[Any], checksums: NDArray[np.uint64]) -> None:
        self._path, self._data, self._checksums = path, _buffer(matrix), checksums
        self._stride = matrix.shape[1] * matrix.itemsize
        self._verified = np.zeros(len(checksums), bool)

    def check(self, rows: NDArray[np.integer[Any]]) -> None:
        """Raise VectorsError if a block that contains any part of the `rows` (m,) is damaged."""
        starts = np.asarray(rows, np.int64) * self._stride
        first, last = starts // BLOCK, (starts + self._stride - 1) // BLOCK
        for i in range(int((last - first).max(initial=0)) + 1):
            touched = np.unique(np.minimum(first + i, last))
            for block in touched[~self._verified[touched]].tolist():
                start = block * BLOCK
                if short_checksum(self._data[start : start + BLOCK]) != int(self._checksums[block]):
                    raise VectorsError(
                        f"{self._path} is damaged at byte {start:,} of its numbers or after: {REPAIR_HINT}"
                    )
                self._verified[block] = True


def _buffer(matrix: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(matrix).data.cast("B") if matrix.size else memoryview(b"")


def checksums_name(matrix: str) -> str:
    """Return the name of the file with the block checksums of a matrix."""
    return f"{matrix}-sums"


def open_vectors(directory: Path) -> Embedding:
    """Open the embedding of `directory`, memory-mapped and read-only, in milliseconds.

    The words are checked now, the vectors when they are read; `verify_vectors` checks all of them. Raises VectorsError
    if anything is missing or damaged.
    """
    manifest = read_manifest(directory)
    try:
        checksums = manifest["files"]
        check_names(directory, checksums, MANIFEST)
        v, d = int(manifest["words"]), int(manifest["dim"])
        words = _vocabulary(directory, manifest, checksums)
        subwords, sizes = None, manifest["subwords"]
        if sizes:
            buckets, checker = _matrix(directory / "subwords", int(sizes["buckets"]), d, checksums)
            subwords = Subwords(buckets, _split(directory, sizes, checksums), checker.check)
        vectors, checker = _matrix(directory / "vectors", v, d, checksums)
        unit, fingerprint = bool(manifest["normalized"]), str(manifest["fingerprint"])
        forms = _forms(directory, manifest["forms"], v, checksums) if HASHES in checksums else None
        lengths = _checked_array(directory / LENGTHS, "<f4", v, checksums) if LENGTHS in checksums else None
        return Embedding(words, vectors, fingerprint, subwords, unit, checker.check, forms, lengths)
    except VectorsError:
        raise
    except DamagedFile as error:
        raise VectorsError(f"the word vectors are damaged: {error}; {REPAIR_HINT}") from error
    except OSError as error:
        raise VectorsError(f"{directory} cannot be read ({error.strerror}): {REPAIR_HINT}") from error
    except (KeyError, TypeError, ValueError, OverflowError, EmbeddingError, OptionError) as error:
        raise VectorsError(f"{directory / MANIFEST} is damaged: {REPAIR_HINT}") from error


def verify_vectors(directory: Path) -> None:
    """Read all of `directory`; VectorsError if its content does not match its checksums and fingerprint."""
    stored = open_vectors(directory)
    if stored.before:
        stored.before(np.arange(len(stored.vectors)))
    if stored.subwords and stored.subwords.before:
        stored.subwords.before(np.arange(len(stored.subwords.buckets)))
    if replace(stored, fingerprint="").fingerprint != stored.fingerprint:
        raise VectorsError(f"{directory} is damaged: its content does not match its fingerprint; {REPAIR_HINT}")


def _vocabulary(directory: Path, manifest: Mapping[str, Any], checksums: Mapping[str, FileChecksum]) -> Vocabulary:
    """Map the words; DamagedFile for an index outside of the text or the rows: checksums can be forged."""
    v = int(manifest["words"])
    text = _checked_array(directory / "words", "|u1", int(manifest["word_bytes"]), checksums)
    ends = _checked_array(directory / "ends", "<i8", v, checksums)
    order = _checked_array(directory / "order", "<i4", v, checksums)
    if not (are_starts(np.append(0, ends), v, len(text)) and is_within(order, 0, v)):
        raise DamagedFile(directory / "ends", "does not match the words")
    return Vocabulary(text, ends, order)


def _forms(directory: Path, stored: Mapping[str, Any], v: int, checksums: Mapping[str, FileChecksum]) -> Forms:
    """Map the other forms of `v` words; DamagedFile for a row outside of them."""
    hashes = _checked_array(directory / HASHES, "<u8", int(stored["count"]), checksums)
    rows = _checked_array(directory / ROWS, "<i4", int(stored["count"]), checksums)
    if not is_within(rows, 0, v):
        raise DamagedFile(directory / ROWS, "does not match the words")
    return Forms(language_of(stored["language"]).code, hashes, rows)


def _split(directory: Path, sizes: Mapping[str, Any], checksums: Mapping[str, FileChecksum]) -> Splitter:
    """Return how words are split into subwords, by the manifest's `sizes`."""
    if "drop_unknown" not in sizes:
        return NGrams(int(sizes["min_n"]), int(sizes["max_n"]))
    text = (directory / TOKENIZER).read_bytes()
    check_data(directory / TOKENIZER, text, checksums[TOKENIZER])
    return Pieces(text.decode(), bool(sizes["drop_unknown"]))


def _checked_array(path: Path, dtype: str, size: int, checksums: Mapping[str, FileChecksum]) -> NDArray[Any]:
    """Map an array (size,), and compare its file with its checksum."""
    array = map_array(path, dtype, (size,), mode="r")
    check_data(path, path.read_bytes(), checksums[path.name])
    return array


def _matrix(
    path: Path, n: int, d: int, checksums: Mapping[str, FileChecksum]
) -> tuple[NDArray[np.float32], BlockChecker]:
    """Map a matrix (n, d), and return it with a checker of its blocks."""
    matrix = map_array(path, "<f4", (n, d), mode="r")
    blocks = _checked_array(path.with_name(checksums_name(path.name)), "<u8", block_count(matrix), checksums)
    return matrix, BlockChecker(path, matrix, blocks)
