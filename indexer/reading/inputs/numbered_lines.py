"""Files with one entry per line (queries, judgments, labels): a bad line rejects the whole file, or only itself."""

from collections.abc import Iterator
from contextlib import contextmanager

from moverank.indexer.errors import ReadError
from moverank.indexer.files.gzip_limit import DAMAGED, GzipBomb
from moverank.indexer.reading.finding.files import Source
from moverank.indexer.reading.records import BadRecord
from moverank.indexer.reading.streams import Stream, decode_line, open_source


def numbered_lines(path: str, *, latin1_columns: int | None = None) -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text, without its line end, of each line that is not blank.

    `path` is a file, gzipped or not, or `-` for standard input. Lines are UTF-8, except that lines of exactly
    `latin1_columns` columns, separated by `|`, are Latin-1. Raises ReadError, which names the file, and the line if one
    is bad.
    """
    for number, text in lines_and_bad_ones(path, latin1_columns=latin1_columns):
        if isinstance(text, BadRecord):
            raise ReadError(f"{path}:{number}: {text.reason}") from text
        yield number, text


def lines_and_bad_ones(path: str, *, latin1_columns: int | None = None) -> Iterator[tuple[int, str | BadRecord]]:
    """Yield lines as `numbered_lines` does, but for a bad line its fault."""
    with opened(path) as stream:
        for line in stream.lines():
            if line is not None and latin1_columns == line.count(b"|") + 1:
                text: str | BadRecord = line.decode("latin-1")
            else:
                text = decode_line(line)
            if isinstance(text, BadRecord):
                yield stream.line, text
            elif text.strip():
                yield stream.line, text.strip("\r\n")


@contextmanager
def opened(path: str) -> Iterator[Stream]:
    """Open a file, gzipped or not, or standard input, `-`; ReadError names it if it cannot be read."""
    try:
        with open_source(Source(path, path)) as stream:
            yield stream
    except GzipBomb as error:
        raise ReadError(f"{path}: {error}") from error
    except DAMAGED as error:
        raise ReadError(f"{path}: the gzip data are damaged or cut short: {error}") from error
    except ReadError:
        raise
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror or error}") from error
