"""Reads documents and threads from files, in a named or a detected format.

A file that cannot be read, and a record that cannot become a document, are yielded as a `Rejection`, and reading
continues. Memory does not grow with the size of a file, except for what `Validation` and `read_mail_threads` store per
key.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from moverank.indexer.documents import Document, Origin, Rejection
from moverank.indexer.errors import UsageError
from moverank.indexer.progress import Progress, silent
from moverank.indexer.readers.converter import Conversion, Converter
from moverank.indexer.readers.csv_table import read_table
from moverank.indexer.readers.detect import document_format, thread_format
from moverank.indexer.readers.discourse import is_topic, missing_posts, refuse_topic, topic_of
from moverank.indexer.readers.encodings import check_encoding
from moverank.indexer.readers.json_values import read_json
from moverank.indexer.readers.mail_threads import read_mail_threads, read_maildir_threads
from moverank.indexer.readers.markdown import read_markdown
from moverank.indexer.readers.markup import Markup
from moverank.indexer.readers.messages import read_mbox, read_message
from moverank.indexer.readers.notebook import read_notebook
from moverank.indexer.readers.origins import Origins
from moverank.indexer.readers.plain_text import read_labelled_lines, read_lines, read_text
from moverank.indexer.readers.reading_process import SourceRecords
from moverank.indexer.readers.record_reader import Notice, RecordReader, no_form
from moverank.indexer.readers.records import Build, Fields, Record, document_of
from moverank.indexer.readers.selection import EVERYTHING, Selection
from moverank.indexer.readers.source_reader import Detect, Reader, SourceReader
from moverank.indexer.readers.sources import MAILDIR, Source, find_sources
from moverank.indexer.readers.stackexchange import read_stackexchange
from moverank.indexer.readers.stored_record import is_stored_record, stored_document
from moverank.indexer.readers.streams import Meter
from moverank.indexer.readers.threads import thread_of
from moverank.indexer.readers.validation import Validation
from moverank.indexer.readers.web_page import read_html
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
    "mbox",
    "message",
)
_ZIPPED = 3  # how many times as long texts are when they are decompressed

THREAD_FORMATS = ("jsonl", "stackexchange", "mbox")


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
) -> SourceRecords:
    """Read the documents of `paths` (files, directories, patterns, `-`).

    `fields` names the fields of JSONL and CSV records; `format` is one of `DOCUMENT_FORMATS`, by default detected for
    each file; `selection` leaves out files; `encoding` is that of all texts, by default UTF-8; `conversion` makes texts
    of other files; `markup` says whether HTML is removed from records, by default where it is found; `origins` assigns
    files to sources; `progress` is called with the number of bytes read from disk.
    Before the first document is read, raises `UsageError` for an invalid option, and `ReadError` for a missing path or
    an empty directory.
    """
    notices: list[str] = []
    document = partial(document_of, fields=fields)
    row = partial(document, any_case=True)
    readers: dict[str, Reader] = {
        "text": read_text,
        "markdown": read_markdown,
        "html": read_html,
        "notebook": read_notebook,
        "lines": read_lines,
        "labelled-lines": read_labelled_lines,
        "jsonl": RecordReader(read_json, document, notices, markup, _document_form if fields.text is None else no_form),
        "csv": RecordReader(read_table, row, notices, markup),
        "tsv": RecordReader(partial(read_table, delimiter="\t"), row, notices, markup),
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
    return _read(sources, reader, notices, origins or Origins(paths), progress)


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
) -> SourceRecords:
    """Read the threads of `paths`; `format` is one of `THREAD_FORMATS`; for the rest see `read_documents`."""
    notices: list[str] = []
    form = _thread_form if fields.text is fields.comments is None else no_form
    readers: dict[str, Reader] = {
        "jsonl": RecordReader(read_json, partial(thread_of, fields=fields), notices, markup, form, threads=True),
        "stackexchange": read_stackexchange,
        "mbox": read_mail_threads,
    }
    check_encoding(encoding)
    detect = _detector(format, THREAD_FORMATS, thread_format)
    reader = SourceReader(readers, detect, encoding)
    return _read(find_sources(paths, selection), reader, notices, origins or Origins(paths), progress)


def _document_form(record: Record, _: Notice) -> Build | None:
    """Return how a record that `export` wrote is read; BadRecord for one that only `threads` reads."""
    refuse_topic(record)
    return stored_document if "parts" in record and is_stored_record(record) else None


def _thread_form(record: Record, notice: Notice) -> Build | None:
    """Return how a record is read that is a topic of Discourse, or that `export` wrote."""
    if is_topic(record):
        if missing := missing_posts(record):
            notice(missing)
        return topic_of
    return stored_document if "parts" in record and is_stored_record(record) else None


def _detector(name: str | None, formats: tuple[str, ...], detect: Detect) -> Detect:
    """Return `detect`, or a function that returns `name` for every source if the format is named."""
    if name is None:
        return detect
    if name not in formats:
        raise UsageError(
            f"there is no format {name!r}{did_you_mean(name, formats)}: choose one of {', '.join(formats)}"
        )
    return lambda _source, _head: name


def _read(
    sources: Sequence[Source], reader: SourceReader, notices: list[str], origins: Origins, progress: Progress
) -> SourceRecords:
    known = [source.size for source in sources if source.fault is None]
    sizes = [size for size in known if size is not None]
    # The output of a converter is of another size than the file.
    complete = len(sizes) == len(known) and reader.converter is None
    text = sum((source.size or 0) * (_ZIPPED if source.name.endswith(".gz") else 1) for source in sources)
    meter = Meter(progress, sum(sizes) if len(sizes) == len(known) else None)
    return SourceRecords(_records(sources, reader, notices, origins, meter), text if complete else 0)


def _records(
    sources: Sequence[Source], reader: SourceReader, notices: list[str], origins: Origins, meter: Meter
) -> Iterator[Document | Rejection]:
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
                # A copy would take ten times as long, and it is new.
                object.__setattr__(checked, "origin", Origin(origin.source, origin.file, line, tuple(notices)))
                notices.clear()
                yield checked
        # Of some files, only the beginning is read.
        whole += source.size or 0
        meter.reach(whole)
    meter.report()
