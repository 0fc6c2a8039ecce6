"""Word vectors as text: word2vec's and fastText's with a header `words dim`, GloVe's without."""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.vectors.vector_file import Source
from moverank.indexer.vectors.vector_rows import Chunk, Table, line_after

# A megabyte of text is tens of megabytes while its numbers are being read.
_BLOCK = 1 << 20
MAX_LINE = 1 << 24
"""Bytes. A longer line is no line of word vectors."""

_NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE)


def numbers_at_end(line: bytes) -> int:
    """Return how many numbers the line ends in, its first field not counted: the dimension of a file without header."""
    fields = line.rstrip(b" \r\n").split(b" ")[1:]
    for count, field in enumerate(reversed(fields)):
        if not _NUMBER.fullmatch(field):
            return count
    return len(fields)


def read_text(source: Source, count: int | None, dim: int) -> Table:
    """Read the lines after the header, or all of them where there was none (`count` None).

    The last `dim` fields of a line are the vector, so that a word may hold spaces, as in GloVe's 840B. Only the space
    and the newline divide: the other white space of Unicode is found in words. Raises VectorsError.
    """
    if count is None:
        return Table("GloVe text", dim, None, line_after(0), _chunks(source, None, dim))
    return Table("word2vec text", dim, count, line_after(1), _chunks(source, count, dim))


def _chunks(source: Source, count: int | None, dim: int) -> Iterator[Chunk]:
    done, header = 0, 0 if count is None else 1
    for lines in _blocks(source):
        places = [f"{source.path}, line {done + header + i + 1}" for i in range(len(lines))]
        if count is not None and done + len(lines) > count:
            raise VectorsError(f"{places[count - done]} is beyond the {count} words that the header promises: mend it")
        divided = [_divided(line, dim, place) for line, place in zip(lines, places, strict=True)]
        yield [word for word, _ in divided], _parsed([numbers for _, numbers in divided], dim, places)
        done += len(lines)
    if count is not None and done < count:
        raise VectorsError(
            f"{source.path} ends after {done} words, but its header promises {count}: "
            "it is cut short or its header is wrong"
        )


def _blocks(source: Source) -> Iterator[list[bytes]]:
    """Yield the lines, without their ends, some at a time; empty ones at the end of the file are none."""
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


def _divided(line: bytes, dim: int, place: str) -> tuple[bytes, bytes]:
    """Return the word of a line, and its numbers with a space between each."""
    word, _, numbers = line.partition(b" ")
    if numbers.count(b" ") == dim - 1 and numbers:
        return word, numbers
    fields = line.rsplit(b" ", dim)
    found = numbers_at_end(line)
    # A word of several parts may hold a number, but not end in one: then the line has a number too many.
    if len(fields) <= dim or found != dim:
        raise VectorsError(f"{place} has {found} numbers, not {dim}: remove or mend it")
    return fields[0], b" ".join(fields[1:])


def _parsed(rows: list[bytes], dim: int, places: list[str]) -> NDArray[np.float32]:
    """Return the vectors (n, dim) written in `rows`."""
    try:
        with np.errstate(over="ignore"):  # told later, as a number that is not finite
            return np.array(b" ".join(rows).split(b" "), np.float32).reshape(-1, dim)
    except ValueError:
        for row, place in zip(rows, places, strict=True):
            for field in row.split(b" "):
                if not _NUMBER.fullmatch(field):
                    raise VectorsError(f"{place}: {field[:40]!r} is not a number: remove or mend it") from None
        raise
