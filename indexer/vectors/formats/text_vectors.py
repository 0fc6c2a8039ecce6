"""Word vectors as text: word2vec's and fastText's with a header `words dim`, GloVe's without."""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.vectors.formats.word2vec import Chunk, VectorTable, line_label
from moverank.indexer.vectors.vector_file import VectorFile

# Parsing a megabyte of text takes tens of megabytes.
_BLOCK = 1 << 20
MAX_LINE = 1 << 24
"""Maximum length of a line in bytes: a file with a longer line does not hold word vectors."""

_NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE)


def numbers_at_end(line: bytes) -> int:
    """Return how many fields at the end of a line, its first excepted, are numbers: the dimension without a header."""
    fields = line.rstrip(b" \r\n").split(b" ")[1:]
    for count, field in enumerate(reversed(fields)):
        if not _NUMBER.fullmatch(field):
            return count
    return len(fields)


_BLANKS = re.compile(rb"[ \t]+(?=[-+.\d]|nan\b|inf)", re.IGNORECASE)


def is_aligned(line: bytes) -> bool:
    """Return whether the fields of a line are separated by tabs, or by several spaces."""
    return b"\t" in line or b"  " in line.strip()


def with_single_spaces(line: bytes) -> bytes:
    """Return a line with one space before each number."""
    return _BLANKS.sub(b" ", line) if is_aligned(line) else line


def read_text_vectors(source: VectorFile, count: int | None, dim: int, *, aligned: bool = False) -> VectorTable:
    """Read the `count` lines of `source` after the header, or all lines without one (None). Raises VectorsError.

    The last `dim` fields of a line are the vector, so a word may contain spaces, as in GloVe's 840B. Only space and
    newline separate fields: words may contain other white space; if the first line is `aligned`, tabs and several
    spaces separate numbers, too.
    """
    if count is None:
        return VectorTable("GloVe text", dim, None, line_label(0), _chunks(source, None, dim, aligned=aligned))
    return VectorTable("word2vec text", dim, count, line_label(1), _chunks(source, count, dim, aligned=aligned))


def _chunks(source: VectorFile, count: int | None, dim: int, *, aligned: bool) -> Iterator[Chunk]:
    done, row_label = 0, line_label(0 if count is None else 1)
    for block in _blocks(source):
        lines = list(map(with_single_spaces, block)) if aligned else block
        labels = [f"{source.path}, {row_label(done + i)}" for i in range(len(lines))]
        if count is not None and done + len(lines) > count:
            raise VectorsError(
                f"{labels[count - done]} is beyond the {count} words that the header promises: correct it"
            )
        rows = [_split(line, dim, label) for line, label in zip(lines, labels, strict=True)]
        yield [word for word, _ in rows], _parse([numbers for _, numbers in rows], dim, labels)
        done += len(lines)
    if count is not None and done < count:
        raise VectorsError(
            f"{source.path} ends after {done} words, but its header promises {count}: "
            "it is cut short or its header is wrong"
        )


def _blocks(source: VectorFile) -> Iterator[list[bytes]]:
    """Yield the lines without their ends, block by block; empty lines at the end of the file are skipped."""
    rest, blank = b"", 0
    while True:
        block = source.read(_BLOCK)
        lines = (rest + block).split(b"\n")
        rest = lines.pop() if block else b""
        if len(rest) > MAX_LINE:
            raise VectorsError(f"{source.path} has a line of over {MAX_LINE} bytes: it holds no word vectors")
        lines = [b""] * blank + [line.rstrip(b" \r") for line in lines]
        blank = 0
        while lines and not lines[-1]:
            lines.pop()
            blank += 1
        if lines:
            yield lines
        if not block:
            return


def _split(line: bytes, dim: int, label: str) -> tuple[bytes, bytes]:
    """Return the word of a line, and its numbers separated by single spaces; `label` names the line in errors."""
    word, _, numbers = line.partition(b" ")
    if numbers.count(b" ") == dim - 1 and numbers:
        return word, numbers
    fields = line.rsplit(b" ", dim)
    numbers_found = numbers_at_end(line)
    # A word with spaces may contain a number, but not end with one: such a line has one number too many.
    if len(fields) <= dim or numbers_found != dim:
        raise VectorsError(f"{label} has {numbers_found} numbers, not {dim}: remove or correct it")
    return fields[0], b" ".join(fields[1:])


def _parse(rows: list[bytes], dim: int, labels: list[str]) -> NDArray[np.float32]:
    """Return the vectors (n, dim) of the text `rows`; `labels` name them in errors."""
    try:
        with np.errstate(over="ignore"):  # `write_vectors` rejects infinite numbers
            return np.array(b" ".join(rows).split(b" "), np.float32).reshape(-1, dim)
    except ValueError:
        for row, label in zip(rows, labels, strict=True):
            for field in row.split(b" "):
                if not _NUMBER.fullmatch(field):
                    raise VectorsError(f"{label}: {field[:40]!r} is not a number: remove or correct it") from None
        raise
