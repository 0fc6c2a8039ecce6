"""Reads documents and threads from files, in a named or a detected format.

A file that cannot be read, and a record that cannot become a document, are yielded as a `Rejection`, and reading
continues. Memory does not grow with the size of a file, except for the keys in `Validation` and `read_mail_threads`.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

from moverank.indexer.errors import UsageError
from moverank.indexer.reading.converter import Conversion, Converter
from moverank.indexer.reading.detect import document_format, thread_format
from moverank.indexer.reading.encodings import check_encoding
from moverank.indexer.reading.finding.files import MAILDIR, Source, find_sources
from moverank.indexer.reading.finding.origins import Origins
from moverank.indexer.reading.finding.selection import EVERYTHING, Selection
from moverank.indexer.reading.formats.arrow import read_arrow
from moverank.indexer.reading.formats.discourse import (
    is_topic,
    left_out_posts,
    missing_posts,
    refuse_topic,
    topic_of,
)
from moverank.indexer.reading.formats.html import Markup, read_html
from moverank.indexer.reading.formats.json_lines import read_json
from moverank.indexer.reading.formats.mail import read_mbox, read_message
from moverank.indexer.reading.formats.mail_threads import read_mail_threads, read_maildir_threads
from moverank.indexer.reading.formats.notebook import read_notebook
from moverank.indexer.reading.formats.posts import Rows, read_posts, thread_of_posts
from moverank.indexer.reading.formats.stackexchange import read_stackexchange
from moverank.indexer.reading.formats.table import read_table
from moverank.indexer.reading.formats.text import read_labelled_lines, read_lines, read_markdown, read_text
from moverank.indexer.reading.formats.threads import deleted_comments, is_stored_record, stored_document, thread_of
from moverank.indexer.reading.records import BadRecord, Build, Fields, ReadResult, Record, document_of
from moverank.indexer.reading.source_reader import (
    Detect,
    FormatReader,
    Notice,
    RecordReader,
    SourceReader,
    Validation,
    no_form,
)
from moverank.indexer.reading.streams import Meter, Stream
from moverank.indexer.values.documents import Document, Origin, Rejection
from moverank.indexer.values.search_options import Progress, silent
from moverank.rerank.options import did_you_mean

DOCUMENT_FORMATS = (
    "text",
    "markdown",
    "html",
    "notebook",
    "lines",
    "labelled-lines",
    "jsonl",
    "csv",
    "tsv",
    "parquet",
    "arrow",
    "mbox",
    "message",
)
THREAD_FORMATS = ("jsonl", "csv", "tsv", "parquet", "arrow", "stackexchange", "mbox")

Records = Iterator[Document | Rejection]


class Read(Protocol):
    """A reader of sources."""

    def __call__(self, *, origins: Origins, progress: Progress) -> Records:
        """Return the records; raises ReadError at once if a path is missing."""


def read_documents(
    paths: Sequence[str],
    *,
    fields: Fields = Fields(),  # noqa: B008 - frozen
    format: str | None = None,  # noqa: A002 - the name of the option
    selection: Selection = EVERYTHING,
    encoding: str | None = None,
    conversion: Conversion | None = None,
    markup: Markup | None = None,
    origins: Origins | None = None,
    progress: Progress = silent,
) -> Records:
    """Read the documents of `paths` (files, directories, patterns, `-`).

    `fields` names the fields of JSONL and CSV records; `format` is one of `DOCUMENT_FORMATS`, by default detected for
    each file; `selection` leaves out files; `encoding` is the encoding of all texts, by default UTF-8; `conversion`
    makes texts of other files; `markup` says whether HTML is removed from records, by default where it is found;
    `origins` assigns files to sources; `progress` is called with the number of bytes read from disk. Before the first
    document is read, raises `UsageError` for an invalid option, and `ReadError` for a missing path or an empty
    directory.
    """
    document = partial(document_of, fields=fields)
    row = partial(document, any_case=True)
    form = _document_form if fields.text is None else no_form
    readers: dict[str, FormatReader] = {
        "text": read_text,
        "markdown": read_markdown,
        "html": read_html,
        "notebook": read_notebook,
        "lines": read_lines,
        "labelled-lines": read_labelled_lines,
        "jsonl": RecordReader(read_json, document, markup, form),
        "csv": RecordReader(read_table, row, markup),
        "tsv": RecordReader(_read_tsv, row, markup),
        "parquet": RecordReader(read_arrow, document, markup, form),
        "arrow": RecordReader(read_arrow, document, markup, form),
        "mbox": read_mbox,
        "message": read_message,
    }
    check_encoding(encoding)
    detect = _detector(format, DOCUMENT_FORMATS, document_format)
    converter = Converter(conversion) if conversion else None
    found = find_sources(paths, selection)
    # Each message of a Maildir is a document.
    sources = [each for source in found for each in (source.messages if source.format == MAILDIR else (source,))]
    reader = SourceReader(readers, detect, encoding, converter)
    return _read(sources, reader, origins or Origins(paths), progress)


def read_threads(
    paths: Sequence[str],
    *,
    fields: Fields = Fields(),  # noqa: B008 - frozen
    format: str | None = None,  # noqa: A002 - the name of the option
    selection: Selection = EVERYTHING,
    encoding: str | None = None,
    markup: Markup | None = None,
    origins: Origins | None = None,
    progress: Progress = silent,
) -> Records:
    """Read the threads of `paths`; `format` is one of `THREAD_FORMATS`; for the rest see `read_documents`."""
    if fields.thread is None and fields.parent is not None:
        raise UsageError("--parent-field needs --thread-field: the field of a post which names its thread")
    if fields.thread is not None and fields.comments is not None:
        raise UsageError("--thread-field is for records which are posts, --comments-field for those which hold them")
    readers = _readers_of_threads(fields, markup) if fields.thread is None else _readers_of_posts(fields, markup)
    check_encoding(encoding)
    detect = _detector(format, THREAD_FORMATS, thread_format)
    reader = SourceReader(readers, detect, encoding)
    return _read(find_sources(paths, selection), reader, origins or Origins(paths), progress)


def _readers_of_threads(fields: Fields, markup: Markup | None) -> dict[str, FormatReader]:
    """Return the readers of records that are threads, and of formats that join posts themselves."""
    form = _thread_form if fields.text is fields.comments is None else no_form
    build, deleted = partial(thread_of, fields=fields), partial(_deleted, fields)

    def reader(read: Callable[[Stream, Build], Iterator[ReadResult]]) -> RecordReader:
        return RecordReader(read, build, markup, form, threads=True, deleted=deleted)

    return {
        "jsonl": reader(read_json),
        "csv": _refuse_rows,
        "tsv": _refuse_rows,
        "parquet": reader(read_arrow),
        "arrow": reader(read_arrow),
        "stackexchange": read_stackexchange,
        "mbox": read_mail_threads,
    }


def _readers_of_posts(fields: Fields, markup: Markup | None) -> dict[str, FormatReader]:
    """Return the readers of records that are posts; other formats are refused."""
    build = partial(thread_of_posts, fields=fields)
    rows: dict[str, Rows] = {
        "jsonl": read_json,
        "csv": read_table,
        "tsv": _read_tsv,
        "parquet": read_arrow,
        "arrow": read_arrow,
    }
    readers: dict[str, FormatReader] = {
        name: RecordReader(partial(read_posts, read, fields), build, markup, threads=True)
        for name, read in rows.items()
    }
    return readers | dict.fromkeys(("stackexchange", "mbox"), _refuse_thread_field)


_read_tsv = partial(read_table, delimiter="\t")


def _refuse_rows(_: Stream) -> Iterator[ReadResult]:
    raise BadRecord("its rows are posts: name the column of their thread, as in --thread-field topic_id")


def _refuse_thread_field(_: Stream) -> Iterator[ReadResult]:
    raise BadRecord("its posts name their threads in a way of its own: leave --thread-field out")


def _document_form(record: Record, _: Notice) -> Build | None:
    """Return the reader of a record that `export` wrote, or None; BadRecord for a record that only `threads` reads."""
    refuse_topic(record)
    return stored_document if is_stored_record(record) else None


def _thread_form(record: Record, notice: Notice) -> Build | None:
    """Return the reader of a topic of Discourse, or of a record that `export` wrote; None for any other record."""
    if is_topic(record):
        if missing := missing_posts(record):
            notice(missing)
        return topic_of
    return stored_document if is_stored_record(record) else None


def _deleted(fields: Fields, record: Record) -> int:
    """Return how many posts of a thread or a topic are left out since they were deleted."""
    return left_out_posts(record) if is_topic(record) else deleted_comments(record, fields)


def _detector(name: str | None, formats: tuple[str, ...], detect: Detect) -> Detect:
    """Return `detect`, or a function that returns `name` for every source if the format is named."""
    if name is None:
        return detect
    if name not in formats:
        raise UsageError(
            f"there is no format {name!r}{did_you_mean(name, formats)}: choose one of {', '.join(formats)}"
        )
    return lambda _source, _head: name


def _read(sources: Sequence[Source], reader: SourceReader, origins: Origins, progress: Progress) -> Records:
    sizes = [source.size for source in sources if source.fault is None]
    known = [size for size in sizes if size is not None]
    meter = Meter(progress, sum(known) if len(known) == len(sizes) else None)
    validation = Validation()
    meter.report()
    whole = 0
    for source in sources:
        located = origins.locate(source)
        if located is not None:
            keyed, origin = located
            validation.start_source(source.name)
            is_maildir = source.format == MAILDIR
            for line, result in read_maildir_threads(keyed, meter) if is_maildir else reader.results(keyed, meter):
                checked = validation.check(line, origins.completed(result, origin.source))
                # A copy would take ten times as long, and no other code has this new object yet.
                object.__setattr__(checked, "origin", Origin(origin.source, origin.file, line))
                yield checked
        # Some readers read only the beginning of a file.
        whole += source.size or 0
        meter.reach(whole)
    meter.report()
