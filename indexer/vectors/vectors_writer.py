"""From a reader's rows to the files of `indexer.vectors.layout`, checked on the way."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from moverank.indexer.errors import VectorsError
from moverank.indexer.files.checksums import checksummed_json, file_checksums
from moverank.indexer.progress import Progress, silent
from moverank.indexer.vectors.arrays import ArrayFile
from moverank.indexer.vectors.block_checksums import block_sums
from moverank.indexer.vectors.layout import ABOUT, MATRICES, VERSION, sums_of
from moverank.indexer.vectors.vector_rows import MAX_WORD, Chunk, Table
from moverank.rerank.words.embedding import Subwords, fingerprint, unit_rows, unusable_rows
from moverank.rerank.words.vocabulary import Vocabulary

# A file in another encoding has them by the dozen; word2vec's own tool, which cuts long words short, has a few.
_UNDECODABLE_IN = 100


def write_vectors(
    folder: Path, table: Table, name: str, *, normalize: bool = False, progress: Progress = silent
) -> dict[str, Any]:
    """Write the words and vectors that `table` brings into `folder`, and return their sizes for `write_about`.

    `name` is the source's, for what is wrong with it: a row without a word, a number that is not finite, a word twice.
    Memory: the words and one chunk. Raises VectorsError.
    """
    words: list[bytes] = []
    undecodable: list[int] = []
    with ArrayFile(folder / "vectors.npy", "<f4", (table.dim,)) as file:
        for chunk in table.chunks:
            _check(name, table, chunk, len(words))
            spelled, bad = _spelled(chunk[0])
            undecodable += [len(words) + row for row in bad]
            words += spelled
            file.write(unit_rows(chunk[1]) if normalize else chunk[1])
            progress("Importing vectors", len(words), table.count, "words")
    if len(undecodable) > max(len(words) // _UNDECODABLE_IN, 1):
        raise VectorsError(
            f"{name}, {table.place(undecodable[0])}: this word and {len(undecodable) - 1} more are not UTF-8: "
            "convert the file, or mend its header"
        )
    vocabulary = _write_words(folder, words, name, table)
    digests = [file.digest, table.subwords_digest] if table.subwords else [file.digest]
    return {
        "format": table.format,
        "words": len(vocabulary),
        "dim": table.dim,
        "word_bytes": len(vocabulary.blob),
        "undecodable": len(undecodable),
        "normalized": normalize,
        "subwords": _lengths(table.subwords),
        "fingerprint": fingerprint(vocabulary, digests, table.subwords, unit=normalize),
    }


def write_about(folder: Path, about: Mapping[str, Any]) -> None:
    """Write embedding.json: sizes, source, options, and the seals of all other files; and the checksums of matrices."""
    for name in MATRICES:
        if (folder / name).exists():
            with ArrayFile(folder / sums_of(name), "<u8") as file:
                file.write(block_sums(np.load(folder / name, "r", allow_pickle=False)))
    sealed = checksummed_json({"version": VERSION, **about, "files": file_checksums(folder)})
    with (folder / ABOUT).open("xb") as described:
        described.write(sealed)
        described.flush()
        os.fsync(described.fileno())


def _check(name: str, table: Table, chunk: Chunk, before: int) -> None:
    """Raise VectorsError for the first row without a word, or with a number that is not finite."""
    words, rows = chunk
    for i, word in enumerate(words):
        if not word or len(word) > MAX_WORD:
            what = "no word before its vector" if not word else f"a word of {len(word)} bytes"
            raise VectorsError(f"{name}, {table.place(before + i)} has {what}: the header is wrong or the file damaged")
    bad = unusable_rows(rows).tolist()
    if bad:
        shown = words[bad[0]].decode("utf-8", "backslashreplace")
        place = table.place(before + bad[0])
        raise VectorsError(
            f"{name}, {place} ({shown[:40]!r}): a number is not finite, or beyond 1e15; remove or mend that row"
        )


def _spelled(words: list[bytes]) -> tuple[list[bytes], list[int]]:
    r"""Return the words as UTF-8, and which were not: their stray bytes are spelled like `\xe9`, so none is lost."""
    try:
        b" ".join(words).decode()
    except UnicodeDecodeError:
        spelled = [word.decode("utf-8", "backslashreplace").encode() for word in words]
        return spelled, [i for i, (new, old) in enumerate(zip(spelled, words, strict=True)) if new != old]
    return words, []


def _write_words(folder: Path, words: list[bytes], name: str, table: Table) -> Vocabulary:
    vocabulary = Vocabulary.pack(words)
    pair = vocabulary.repeated()
    if pair:
        first, second = (table.place(row) for row in sorted(pair))
        raise VectorsError(
            f"{name} has the word {vocabulary[pair[0]][:40]!r} twice, in {first} and {second}: remove one"
        )
    for file, dtype, array in (
        ("words.npy", "|u1", vocabulary.blob),
        ("ends.npy", "<i8", vocabulary.ends),
        ("order.npy", "<i4", vocabulary.order),
    ):
        with ArrayFile(folder / file, dtype) as target:
            target.write(array)
    return vocabulary


def _lengths(subwords: Subwords | None) -> dict[str, int] | None:
    if subwords is None:
        return None
    return {"buckets": len(subwords.buckets), "min_n": subwords.min_n, "max_n": subwords.max_n}
