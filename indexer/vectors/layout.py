"""The directory that holds an embedding.

vectors.npy            (v, d) float32, row i for word i
words.npy ends.npy     the words' UTF-8 in a row (bytes,) uint8, and where each ends (v,) int64
order.npy              the rows sorted by word (v,) int32
subwords.npy           fastText's n-gram buckets (b, d) float32, where there are any
vectors-sums.npy       checksums of the blocks of vectors.npy (n,) uint64; subwords-sums.npy likewise
embedding.json         where all this came from, its sizes, its fingerprint, and the seals of the other files

What is missing, foreign or of another size, and damage to the words, is noticed on opening; damage to the numbers when
a block of them is first read.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import DamagedFile, VectorsError
from moverank.indexer.files.checksums import FileChecksum, check_data, check_names, read_checksummed_json
from moverank.indexer.vectors.arrays import map_array
from moverank.indexer.vectors.block_checksums import MEND, Blocks, block_count
from moverank.rerank.errors import EmbeddingError
from moverank.rerank.words.embedding import Embedding, Subwords
from moverank.rerank.words.vocabulary import Vocabulary

VERSION = 2
"""Of the directory's layout."""

ABOUT = "embedding.json"
MATRICES = ("vectors.npy", "subwords.npy")


def sums_of(name: str) -> str:
    """Name the file with the checksums of a matrix."""
    return name.replace(".npy", "-sums.npy")


def read_about(directory: Path) -> dict[str, Any]:
    """Return what embedding.json says: sizes, source, options, fingerprint, seals. Raises VectorsError."""
    path = directory / ABOUT
    try:
        about = read_checksummed_json(path)
    except OSError as error:
        raise VectorsError(f"{directory} holds no word vectors ({error.strerror}): {MEND}") from error
    except DamagedFile as error:
        raise VectorsError(f"{path} is damaged: {MEND}") from error
    if about.get("version") != VERSION:
        raise VectorsError(f"{path} is damaged or of another version: {MEND}")
    return about


def open_vectors(directory: Path) -> Embedding:
    """Open the embedding of `directory`, memory-mapped and read-only, in milliseconds.

    Words are looked through, vectors only as they are read: `check_vectors` reads all of them. Raises VectorsError
    where anything is missing or damaged.
    """
    about = read_about(directory)
    try:
        seals = about["files"]
        check_names(directory, seals, ABOUT)
        v, d = int(about["words"]), int(about["dim"])
        words = Vocabulary(
            _whole(directory / "words.npy", "|u1", int(about["word_bytes"]), seals),
            _whole(directory / "ends.npy", "<i8", v, seals),
            _whole(directory / "order.npy", "<i4", v, seals),
        )
        subwords, n = None, about["subwords"]
        if n:
            buckets, check = _matrix(directory / "subwords.npy", int(n["buckets"]), d, seals)
            subwords = Subwords(buckets, int(n["min_n"]), int(n["max_n"]), check.check)
        vectors, check = _matrix(directory / "vectors.npy", v, d, seals)
        unit, fingerprint = bool(about["normalized"]), str(about["fingerprint"])
        return Embedding(words, vectors, fingerprint, subwords, unit, check.check)
    except VectorsError:
        raise
    except DamagedFile as error:
        raise VectorsError(f"the word vectors are damaged: {error}; {MEND}") from error
    except OSError as error:
        raise VectorsError(f"{directory} cannot be read ({error.strerror}): {MEND}") from error
    except (KeyError, TypeError, ValueError, OverflowError, EmbeddingError) as error:
        raise VectorsError(f"{directory / ABOUT} is damaged: {MEND}") from error


def check_vectors(directory: Path) -> None:
    """Read all of `directory` and raise VectorsError where the content is not that of its fingerprint."""
    stored = open_vectors(directory)
    if stored.before:
        stored.before(np.arange(len(stored.vectors)))
    if stored.subwords and stored.subwords.before:
        stored.subwords.before(np.arange(len(stored.subwords.buckets)))
    if Embedding(stored.words, stored.vectors, "", stored.subwords, stored.unit).fingerprint != stored.fingerprint:
        raise VectorsError(f"{directory} is damaged: its content is not that of its fingerprint; {MEND}")


def _whole(path: Path, kind: str, size: int, seals: dict[str, FileChecksum]) -> NDArray[Any]:
    """Map an array and look through its file."""
    array = map_array(path, kind, (size,))
    check_data(path, path.read_bytes(), seals[path.name])
    return array


def _matrix(path: Path, n: int, d: int, seals: dict[str, FileChecksum]) -> tuple[NDArray[np.float32], Blocks]:
    """Map a matrix, and make what looks through its blocks."""
    matrix = map_array(path, "<f4", (n, d))
    sums = path.with_name(sums_of(path.name))
    return matrix, Blocks(path, matrix, _whole(sums, "<u8", block_count(matrix), seals))
