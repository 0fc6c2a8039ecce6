"""Reads documents and threads from files, in a named or a detected format.

A file that cannot be read at all raises an error; a record that cannot become a document is yielded as a `Rejection`,
and reading continues. Memory does not grow with the size of a file, except for what `Validation` and
`read_mail_threads` store per key.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from moverank.indexer.documents import Document, NamedSource, Rejection
from moverank.indexer.errors import ReadError, UsageError
from moverank.indexer.files.gzip_limit import DAMAGED, GzipBomb
from moverank.indexer.progress import Progress, silent
from moverank.indexer.readers.bad_record import BadRecord, ReadResult
from moverank.indexer.readers.csv_table import read_table
from moverank.indexer.readers.detect import document_format, refuse_utf16, thread_format
from moverank.indexer.readers.jsonl import read_jsonl
from moverank.indexer.readers.mail_threads import read_mail_threads
from moverank.indexer.readers.messages import read_mbox, read_message
from moverank.indexer.readers.origins import Origins
from moverank.indexer.readers.plain_text import read_labelled_lines, read_lines, read_text
from moverank.indexer.readers.records import Build, Fields, Record, document_of
from moverank.indexer.readers.sources import Source, find_sources
from moverank.indexer.readers.stackexchange import read_stackexchange
from moverank.indexer.readers.stored_record import is_stored_record, stored_document
from moverank.indexer.readers.streams import Meter, Stream, open_source
from moverank.indexer.readers.threads import thread_of
from moverank.indexer.readers.validation import Validation

DOCUMENT_FORMATS = ("text", "lines", "labelled-lines", "jsonl", "csv", "tsv", "mbox", "message")
THREAD_FORMATS = ("jsonl", "stackexchange", "mbox")

_Reader = Callable[[Stream], Iterator[ReadResult]]
_Detect = Callable[[Source, bytes], str]


def read_documents(
    paths: Sequence[str],
    *,
    fields: Fields = Fields(),  # noqa: B008 - frozen
    format: str | None = None,  # noqa: A002 - the name of the option
    origins: Origins | None = None,
    progress: Progress = silent,
) -> Iterator[Document | Rejection]:
    """Read the documents of `paths` (files, directories, patterns, `-`).

    `fields` names the fields of JSONL and CSV records; `format` is one of `DOCUMENT_FORMATS`, by default detected for
    each file; `origins` assigns files to sources; `progress` is called with the number of bytes read from disk. Before
    the first document is read, raises `UsageError` for an unknown format, and `ReadError` for a missing or unreadable
    path or an empty directory.
    """
    build = _any_record(partial(document_of, fields=fields), stored=fields.text is None)
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
    detect = _detector(format, DOCUMENT_FORMATS, document_format)
    return _read(find_sources(paths), readers, detect, origins or Origins(paths), progress)


def read_threads(
    paths: Sequence[str],
    *,
    format: str | None = None,  # noqa: A002 - the name of the option
    origins: Origins | None = None,
    progress: Progress = silent,
) -> Iterator[Document | Rejection]:
    """Read the threads of `paths`; `format` is one of `THREAD_FORMATS`. For the rest see `read_documents`."""
    readers: dict[str, _Reader] = {
        "jsonl": partial(read_jsonl, build=_any_record(thread_of)),
        "stackexchange": read_stackexchange,
        "mbox": read_mail_threads,
    }
    detect = _detector(format, THREAD_FORMATS, thread_format)
    return _read(find_sources(paths), readers, detect, origins or Origins(paths), progress)


def _any_record(build: Build, *, stored: bool = True) -> Build:
    """Return `build`, or with `stored` a function that reads exported records, too."""

    def built(record: Record, default_key: str) -> Document:
        read = stored_document if stored and is_stored_record(record) else build
        return read(record, default_key)

    return built


def _detector(name: str | None, formats: tuple[str, ...], detect: _Detect) -> _Detect:
    """Return `detect`, or a function that returns `name` for every source if the format is named."""
    if name is None:
        return detect
    if name not in formats:
        raise UsageError(f"there is no format {name!r}: choose one of {', '.join(formats)}")
    return lambda _source, _head: name


def _read(
    sources: list[Source], readers: dict[str, _Reader], detect: _Detect, origins: Origins, progress: Progress
) -> Iterator[Document | Rejection]:
    sizes = [source.size for source in sources]
    known = [size for size in sizes if size is not None]
    meter = Meter(progress, sum(known) if len(known) == len(sizes) else None)
    validation = Validation()
    meter.report()
    for source in sources:
        located = origins.locate(source)
        if located is None:
            continue
        keyed, origin = located
        validation.start_source(source.name)
        for line, result in _results(keyed, readers, detect, meter):
            checked = validation.check(line, _prefixed(result, origin.source))
            yield replace(checked, origin=origin._replace(line=line))
    meter.report()


def _prefixed(result: Document | BadRecord, source: NamedSource) -> Document | BadRecord:
    """Put the prefix of a source in front of the key of a result."""
    if not source.prefix or not result.key:
        return result
    if isinstance(result, Document):
        return replace(result, key=source.prefixed(result.key))
    return BadRecord(result.reason, source.prefixed(result.key))


def _results(source: Source, readers: dict[str, _Reader], detect: _Detect, meter: Meter) -> Iterator[ReadResult]:
    """Read one source; a fault of the whole file is yielded as a result if other files can still be read."""
    stream: Stream | None = None
    try:
        with open_source(source, meter) as stream:
            head = stream.head()
            refuse_utf16(head)
            yield from readers[detect(source, head)](stream)
    except BadRecord as bad:
        yield 0, bad
    except GzipBomb as error:
        yield stream.line if stream else 0, BadRecord(f"from here on it is not read: {error}")
    except DAMAGED as error:
        reason = f"from here on the gzip data are damaged or cut short ({error}): gzip -t reports more"
        yield stream.line if stream else 0, BadRecord(reason)
    except ReadError:
        raise
    except OSError as error:
        raise ReadError(f"{source.name}: cannot be read: {error.strerror or error}") from error
