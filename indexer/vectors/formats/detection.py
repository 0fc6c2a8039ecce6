"""The format of a file of word vectors, detected by its content, not by its name."""

import re
from codecs import BOM_UTF8
from pathlib import Path

from moverank.indexer.errors import VectorsError
from moverank.indexer.values.search_options import Progress
from moverank.indexer.vectors.formats.fasttext import MAGIC, read_fasttext
from moverank.indexer.vectors.formats.text_vectors import (
    MAX_LINE,
    is_aligned,
    numbers_at_end,
    read_text_vectors,
    with_single_spaces,
)
from moverank.indexer.vectors.formats.word2vec import MAX_DIM, VectorTable, read_binary
from moverank.indexer.vectors.vector_file import VectorFile

_HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t]*\r?\n")
_SAMPLE = 1 << 16
"""Number of bytes that are examined."""

# Text has none of these bytes; float32 numbers almost always have some within a sample.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_KNOWN = "word2vec (.bin, .txt), GloVe and fastText (.vec, .bin) files are known, any of them gzipped"


def is_pickle(source: VectorFile) -> bool:
    """Return whether the file starts with the first byte of pickles, with which no other format starts."""
    return source.peek(1) == b"\x80"


def read_vector_rows(source: VectorFile, directory: Path, progress: Progress) -> VectorTable:
    """Return the rows of `source`, in any format but pickles. Raises VectorsError, now or while the rows are read.

    fastText's binary rows are first copied to `directory`, and `progress` is called for each block.
    """
    head = source.peek(_SAMPLE)
    if head.startswith(BOM_UTF8):
        source.read(len(BOM_UTF8))
        head = head.removeprefix(BOM_UTF8)
    if not head.strip():
        raise VectorsError(f"{source.path} is empty: it holds no word vectors")
    if head.startswith(MAGIC):
        return read_fasttext(source, directory, progress)
    if head.startswith(b"PK\x03\x04"):
        raise VectorsError(f"{source.path} is a zip archive: unpack it and give the file of word vectors inside")
    header = _HEADER.match(head)
    if header:
        return _read_with_header(source, header, head[header.end() :])
    line = _first_line(source, head)
    dim = numbers_at_end(with_single_spaces(line))
    if not dim:
        raise VectorsError(f"{source.path} is no file of word vectors: {_KNOWN}")
    return read_text_vectors(source, None, dim, aligned=is_aligned(line))


def _read_with_header(source: VectorFile, header: re.Match[bytes], sample: bytes) -> VectorTable:
    count, dim = int(header[1]), int(header[2])
    if not count or not 0 < dim <= MAX_DIM:
        raise VectorsError(f"{source.path}, line 1 promises {count} words of {dim} numbers: correct the header")
    binary = _is_binary(source, sample, dim)
    min_size = count * (dim * 4 + 2) if binary else count * (dim * 2 + 1)
    if not source.zipped and min_size + header.end() - 1 > source.size:  # the last newline may be missing
        raise VectorsError(
            f"{source.path}, line 1 promises {count} words of {dim} numbers, at least {min_size} bytes, "
            f"but the file has {source.size}: it is cut short or its header is wrong"
        )
    source.read(header.end())
    if binary:
        return read_binary(source, count, dim)
    line = sample.partition(b"\n")[0]
    return read_text_vectors(source, count, dim, aligned=is_aligned(line) and numbers_at_end(line) != dim)


def _is_binary(source: VectorFile, sample: bytes, dim: int) -> bool:
    """Return whether the numbers are float32: if the first row does not parse as text, by name or control bytes."""
    line, newline, _ = sample.partition(b"\n")
    if (newline or len(sample) < _SAMPLE // 2) and numbers_at_end(with_single_spaces(line)) >= dim:
        return False
    return source.suffix == ".bin" or _CONTROL.search(sample) is not None


def _first_line(source: VectorFile, head: bytes) -> bytes:
    line, newline, _ = (head if b"\n" in head else source.peek(MAX_LINE)).partition(b"\n")
    if not newline and len(line) == MAX_LINE:
        raise VectorsError(f"{source.path} is no file of word vectors: {_KNOWN}")
    return line
