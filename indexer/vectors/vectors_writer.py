"""Checks rows of word vectors, and writes them to the files that `open_vectors` opens."""

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import IndexerError, VectorsError
from moverank.indexer.files.arrays import array_file, map_array, write_array, write_checksums
from moverank.indexer.files.atomic_write import atomic_directory, durable_file
from moverank.indexer.values.search_options import Progress, silent
from moverank.indexer.vectors.formats.word2vec import MAX_WORD, Chunk, VectorTable
from moverank.indexer.vectors.manifest import LENGTHS, MANIFEST, MATRICES, TOKENIZER, VERSION, read_manifest
from moverank.indexer.vectors.open_vectors import (
    HASHES,
    ROWS,
    block_checksums,
    checksums_name,
    open_vectors,
    verify_vectors,
)
from moverank.rerank.words.embedding import Embedding, fingerprint, row_lengths, unit_rows, unusable_rows
from moverank.rerank.words.forms import Forms
from moverank.rerank.words.subwords import NGrams, Pieces, Subwords
from moverank.rerank.words.vocabulary import Vocabulary

# word2vec's own tool truncates long words, which leaves a few undecodable; a file in another encoding has more.
_UNDECODABLE_IN = 100


@contextmanager
def vectors_directory(directory: Path) -> Iterator[Path]:
    """Yield a temporary directory that replaces `directory` when the block ends; after an error nothing changes.

    Raises VectorsError if it cannot be written.
    """
    try:
        with atomic_directory(directory) as temporary:
            yield temporary
    except OSError as error:
        if isinstance(error, IndexerError):  # a ReadError of the documents on which the vectors are trained
            raise
        raise VectorsError(f"{directory.absolute()} cannot be written: {error.strerror or error}") from error


def write_vectors(
    directory: Path,
    table: VectorTable,
    source: str,
    *,
    normalize: bool = False,
    language: str | None = None,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write the words and vectors of `table` to `directory`, and return their sizes for `write_manifest`.

    Raises VectorsError for a row without a word, an unusable number (see `unusable_rows`), a repeated word, and too
    many words that are not UTF-8. Memory: the words and one chunk.

    `source` names the rows' origin in errors; `normalize` scales vectors to unit length; `language` is the code of the
    texts whose words are also found in other forms, None: as they are; `progress` is called after each chunk.
    """
    words: list[bytes] = []
    lengths = [np.empty(0)]
    undecodable: list[int] = []
    digest = hashlib.sha256()
    with array_file(directory / "vectors", "<f4") as file:
        for chunk in table.chunks:
            _check(source, table, chunk, len(words))
            utf8, bad = _as_utf8(chunk[0])
            undecodable += [len(words) + row for row in bad]
            words += utf8
            digest.update(file.write(unit_rows(chunk[1]) if normalize else chunk[1]))
            if normalize:
                lengths.append(row_lengths(chunk[1]))
            progress("Importing vectors", len(words), table.count, "words")
    if len(undecodable) > max(len(words) // _UNDECODABLE_IN, 1):
        raise VectorsError(
            f"{source}, {table.row_label(undecodable[0])}: this word and {len(undecodable) - 1} more are not UTF-8: "
            "convert the file, or correct its header"
        )
    vocabulary = _write_words(directory, words, source, table)
    forms = _write_forms(directory, vocabulary, language) if language else None
    digests = [digest.digest(), table.subwords_digest] if table.subwords else [digest.digest()]
    if normalize:
        digests.append(_write_lengths(directory, np.concatenate(lengths)))
    return {
        "format": table.format,
        "words": len(vocabulary),
        "dim": table.dim,
        "word_bytes": len(vocabulary.blob),
        "undecodable": len(undecodable),
        "normalized": normalize,
        "subwords": _stored_subwords(directory, table.subwords),
        "fingerprint": fingerprint(vocabulary, digests, table.subwords, forms, unit=normalize),
    } | ({"forms": {"language": forms.language, "count": len(forms.rows)}} if forms else {})


def rewrite_forms(source: Path, target: Path, language: str) -> Embedding:
    """Write the vectors in the directory `source` to `target`, for texts in another language, and open them.

    All files are copied, except those with other forms of words. Raises VectorsError for damaged files.
    """
    verify_vectors(source)  # else damaged numbers would get new checksums
    one, manifest = open_vectors(source), read_manifest(source)
    renewed = {HASHES, ROWS, *map(checksums_name, MATRICES)}
    with vectors_directory(target) as temporary:
        for name in manifest.pop("files").keys() - renewed:
            shutil.copyfile(source / name, temporary / name)
        forms = _write_forms(temporary, Vocabulary.of(one.words), language)
        same = replace(one, fingerprint="", forms=forms)
        stored = {"language": language, "count": len(forms.rows)}
        write_manifest(temporary, manifest | {"fingerprint": same.fingerprint, "forms": stored})
    return open_vectors(target)


def write_manifest(directory: Path, content: Mapping[str, Any]) -> None:
    """Write the matrices' block checksums, and embedding.json: `content` and the checksums of all other files."""
    for name in MATRICES:
        if (directory / name).exists():
            blocks = block_checksums(map_array(directory / name, "<f4", mode="r"))
            write_array(directory / checksums_name(name), "<u8", blocks)
    write_checksums(directory / MANIFEST, {"version": VERSION, **content})


def _check(source: str, table: VectorTable, chunk: Chunk, first: int) -> None:
    """Raise VectorsError for a row without a word or with an unusable number; the chunk starts at row `first`."""
    words, rows = chunk
    for i, word in enumerate(words):
        if not word or len(word) > MAX_WORD:
            fault = "no word before its vector" if not word else f"a word of {len(word)} bytes"
            row = table.row_label(first + i)
            raise VectorsError(f"{source}, {row} has {fault}: the header is wrong or the file damaged")
    bad = unusable_rows(rows).tolist()
    if bad:
        shown = words[bad[0]].decode("utf-8", "backslashreplace")
        row = table.row_label(first + bad[0])
        raise VectorsError(
            f"{source}, {row} ({shown[:40]!r}): a number is not finite, or beyond 1e15; remove or correct that row"
        )


def _as_utf8(words: list[bytes]) -> tuple[list[bytes], list[int]]:
    r"""Return the words as UTF-8, and the indices of changed words: invalid bytes become escapes (`\xe9`)."""
    try:
        b" ".join(words).decode()
    except UnicodeDecodeError:
        utf8 = [word.decode("utf-8", "backslashreplace").encode() for word in words]
        return utf8, [i for i, (new, old) in enumerate(zip(utf8, words, strict=True)) if new != old]
    return words, []


def _write_words(directory: Path, words: list[bytes], source: str, table: VectorTable) -> Vocabulary:
    """Write the files of the words; raise a VectorsError that names both rows for a repeated word."""
    vocabulary = Vocabulary.pack(words)
    pair = vocabulary.repeated()
    if pair:
        first, second = (table.row_label(row) for row in sorted(pair))
        raise VectorsError(
            f"{source} has the word {vocabulary[pair[0]][:40]!r} twice, in {first} and {second}: remove one"
        )
    for file, dtype, array in (
        ("words", "|u1", vocabulary.blob),
        ("ends", "<i8", vocabulary.ends),
        ("order", "<i4", vocabulary.order),
    ):
        write_array(directory / file, dtype, array)
    return vocabulary


def _write_forms(directory: Path, words: Vocabulary, language: str) -> Forms:
    """Write the files of the other forms of words."""
    forms = Forms.of(words, language)
    write_array(directory / HASHES, "<u8", forms.hashes)
    write_array(directory / ROWS, "<i4", forms.rows)
    return forms


def _write_lengths(directory: Path, lengths: NDArray[np.float64]) -> bytes:
    """Write the lengths (v,) of vectors, and return their SHA-256."""
    stored = lengths.astype("<f4")
    write_array(directory / LENGTHS, "<f4", stored)
    return hashlib.sha256(stored.tobytes()).digest()


def _stored_subwords(directory: Path, subwords: Subwords | None) -> dict[str, Any] | None:
    """Return what `open_vectors` makes subwords of; the text of a tokenizer goes into a file of its own."""
    if subwords is None:
        return None
    split, sizes = subwords.split, {"buckets": len(subwords.buckets)}
    if isinstance(split, Pieces):
        with durable_file(directory / TOKENIZER, "xb") as file:
            file.write(split.tokenizer.encode())
        return {**sizes, "drop_unknown": split.drop_unknown}
    if isinstance(split, NGrams):
        return {**sizes, "min_n": split.min_n, "max_n": split.max_n}
    raise TypeError(f"subwords are split by {split}, which cannot be stored")
