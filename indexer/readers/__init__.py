"""Readers: from files of many formats to documents, one at a time.

A file that cannot be read at all raises an error; a record that cannot become a document is handed out as a
`Rejection`, and reading goes on. Memory does not grow with the size of a file, save for what `Validation` and
`read_mail_threads` remember of each key.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from moverank.indexer.documents import Document, Rejection
from moverank.indexer.errors import ReadError, UsageError
from moverank.indexer.progress import Progress, silent
from moverank.indexer.readers.bad_record import BadRecord, Found
from moverank.indexer.readers.csv_table import read_table
from moverank.indexer.readers.detect import document_format, refuse_utf16, thread_format
from moverank.indexer.readers.jsonl import read_jsonl
from moverank.indexer.readers.mail_threads import read_mail_threads
from moverank.indexer.readers.messages import read_mbox, read_message
from moverank.indexer.readers.plain_text import read_labelled_lines, read_lines, read_text
from moverank.indexer.readers.records import Fields, document_of
from moverank.indexer.readers.sources import Source, find_sources
from moverank.indexer.readers.stackexchange import read_stackexchange
from moverank.indexer.readers.streams import DAMAGED, Bomb, Meter, Stream, opened
from moverank.indexer.readers.threads import thread_of
from moverank.indexer.readers.validation import Validation

__all__ = ["DOCUMENT_FORMATS", "THREAD_FORMATS", "Fields", "read_documents", "read_threads"]

DOCUMENT_FORMATS = ("text", "lines", "labelled-lines", "jsonl", "csv", "tsv", "mbox", "message")
THREAD_FORMATS = ("jsonl", "stackexchange", "mbox")

_Reader = Callable[[Stream], Iterator[Found]]
_Detect = Callable[[Source, bytes], str]


def read_documents(
    paths: Sequence[str],
    *,
    fields: Fields = Fields(),  # noqa: B008 - frozen
    format: str | None = None,  # noqa: A002 - the name of the option
    progress: Progress = silent,
) -> Iterator[Document | Rejection]:
    """Read the documents of `paths` (files, directories, patterns, `-`), in one of `DOCUMENT_FORMATS` or as detected.

    `progress` counts the bytes of the files as they are on the disk. Raises `UsageError` for an unknown format and
    `ReadError` for a path that is missing, unreadable or empty: before the first document is read.
    """
    build = partial(document_of, fields=fields)
    readers: dict[str, _Reader] = {
        "text": read_text,
        "lines": read_lines,
        "labelled-lines": read_labelled_lines,
        "jsonl": partial(read_jsonl, build=build),
        "csv": partial(read_table, build=build),
        "tsv": partial(read_table, build=build, delimiter="\t"),
        "mbox": read_mbox,
        "message": read_message,
    }
    return _read(find_sources(paths), readers, _chosen(format, DOCUMENT_FORMATS, document_format), progress)


def read_threads(
    paths: Sequence[str],
    *,
    format: str | None = None,  # noqa: A002 - the name of the option
    progress: Progress = silent,
) -> Iterator[Document | Rejection]:
    """Read the threads of `paths`, in one of `THREAD_FORMATS` or as detected; otherwise like `read_documents`."""
    readers: dict[str, _Reader] = {
        "jsonl": partial(read_jsonl, build=thread_of),
        "stackexchange": read_stackexchange,
        "mbox": read_mail_threads,
    }
    return _read(find_sources(paths), readers, _chosen(format, THREAD_FORMATS, thread_format), progress)


def _chosen(name: str | None, formats: tuple[str, ...], detect: _Detect) -> _Detect:
    if name is None:
        return detect
    if name not in formats:
        raise UsageError(f"there is no format {name!r}: choose one of {', '.join(formats)}")
    return lambda _source, _head: name


def _read(
    sources: list[Source], readers: dict[str, _Reader], detect: _Detect, progress: Progress
) -> Iterator[Document | Rejection]:
    sizes = [source.size for source in sources]
    known = [size for size in sizes if size is not None]
    meter = Meter(progress, sum(known) if len(known) == len(sizes) else None)
    gate = Validation()
    meter.tell()
    for source in sources:
        gate.enter(source.name)
        for line, found in _records(source, readers, detect, meter):
            yield gate.admit(line, found)
    meter.tell()


def _records(source: Source, readers: dict[str, _Reader], detect: _Detect, meter: Meter) -> Iterator[Found]:
    """Read one source: what goes wrong with the whole of it, and is no reason to stop, is one more finding."""
    stream: Stream | None = None
    try:
        with opened(source, meter) as stream:
            head = stream.head()
            refuse_utf16(head)
            yield from readers[detect(source, head)](stream)
    except BadRecord as bad:
        yield 0, bad
    except Bomb as error:
        yield stream.line if stream else 0, BadRecord(f"from here on it is not read: {error}")
    except DAMAGED as error:
        reason = f"from here on the gzip data are damaged or cut short ({error}): gzip -t tells more"
        yield stream.line if stream else 0, BadRecord(reason)
    except ReadError:
        raise
    except OSError as error:
        raise ReadError(f"{source.name}: cannot be read: {error.strerror}") from error
