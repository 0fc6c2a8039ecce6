"""Reads one source in its format and encoding, perhaps converted to text by a command.

Removes HTML from records, logs long texts that are not read, and checks every document.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import PurePath

from moverank.indexer.reading.converter import Converter
from moverank.indexer.reading.detect import is_text
from moverank.indexer.reading.encodings import marked_encoding
from moverank.indexer.reading.finding.files import STDIN, Source
from moverank.indexer.reading.formats.html import Markup, Quotations, is_html, visible_text
from moverank.indexer.reading.records import BadRecord, Build, ReadResult, Record, log_left_out, one_line
from moverank.indexer.reading.source_faults import results_of
from moverank.indexer.reading.streams import Meter, Stream
from moverank.indexer.values.documents import Document, Part, Rejection, content_fault, key_fault

FormatReader = Callable[[Stream], Iterator[ReadResult]]
Detect = Callable[[Source, bytes], str]

OWN_ENCODING = frozenset({"mbox", "message", "stackexchange", "parquet", "arrow"})
"""Formats that name the encoding of their texts themselves."""


@dataclass(frozen=True, slots=True)
class SourceReader:
    """How sources are read: `readers` by format, `detect` for the format, and the `encoding`, by default UTF-8.

    A `converter` makes texts of some files.
    """

    readers: Mapping[str, FormatReader]
    detect: Detect
    encoding: str | None = None
    converter: Converter | None = None

    def results(self, source: Source, meter: Meter) -> Iterator[ReadResult]:
        """Read one source; faults of the whole source are results, too."""
        return results_of(source, meter, lambda stream: self._read(source, stream))

    def _read(self, source: Source, stream: Stream) -> Iterator[ReadResult]:
        converter = self.converter
        if converter is None or source.format or source.name == STDIN:
            yield from self._read_text(source, stream, self.encoding)
        elif converter.converts(
            PurePath(source.name).as_posix(), is_text=is_text(source, _head(stream, self.encoding))
        ):
            with converter.output(source.name) as output:
                # The extension of the file does not describe the converted text.
                text = Source("", source.key, source.folder, explicit=False)
                yield from self._read_text(text, Stream(source, output.read), None)
        else:
            yield from self._read_text(source, stream, self.encoding)

    def _read_text(self, source: Source, stream: Stream, encoding: str | None) -> Iterator[ReadResult]:
        marked = marked_encoding(stream.head())
        if marked:
            stream.recode(marked, "it is damaged or cut off")
        name = source.format or self.detect(source, _head(stream, encoding))
        if encoding and not stream.recoded and name not in OWN_ENCODING:
            stream.recode(encoding, "--encoding names another encoding")
        yield from self.readers[name](stream)


def _head(stream: Stream, encoding: str | None) -> bytes:
    """Return the first bytes of a stream in UTF-8."""
    head = stream.head()
    encoding = marked_encoding(head) or encoding
    if encoding is None or stream.recoded:
        return head
    return head.decode(encoding, "ignore").encode("utf-8", "replace")


MAX_PARTS = 100_000
"""The maximum number of parts of a document, more than any real thread has."""

_SHORT = 32  # characters: a shorter key takes less memory and time than a digest


class Validation:
    """Accepts documents with a unique key, some text, at most `MAX_PARTS` parts, and only valid characters except NUL.

    Keys and names of fields have a largest size: see `metadata`. The first document with a key is accepted, later ones
    are rejected. The position and the key of each document are kept, a long key as a digest of 16 bytes: about 150
    bytes of memory.
    """

    def __init__(self) -> None:
        self._positions: dict[str | bytes, int] = {}
        self._sources: list[str] = []

    def start_source(self, name: str) -> None:
        """Set the name of the source that the next records come from."""
        self._sources.append(name)

    def check(self, line: int, result: Document | BadRecord) -> Document | Rejection:
        """Return the document read at `line` of the current source, or the reason why it is rejected."""
        source = self._sources[-1]
        if isinstance(result, BadRecord):
            return Rejection(source, line, result.reason, result.key, part=result.part, ends=result.ends)
        reason = _fault(result) or self._duplicate(line, result.key)
        if reason:
            return Rejection(source, line, reason, result.key)
        return result

    def _duplicate(self, line: int, key: str) -> str | None:
        short = key if len(key) <= _SHORT else blake2b(key.encode(), digest_size=16).digest()
        # An int takes half the memory of a tuple.
        position = line << 32 | len(self._sources) - 1
        first = self._positions.get(short)
        if first is None:
            self._positions[short] = position
            return None
        remedy = "keys must be unique"
        if first & 0xFFFFFFFF != len(self._sources) - 1:
            remedy += ", so index each source by itself with a --prefix of its own"
        return f"the key {key!r} is already taken by {self._described(first)}: {remedy}"

    def _described(self, position: int) -> str:
        line, source = position >> 32, self._sources[position & 0xFFFFFFFF]
        return f"{source}:{line}" if line else source


def _fault(document: Document) -> str | None:
    if not document.key.strip():
        return "the key is empty: give every record a key, or none"
    if fault := key_fault(document.key):
        return fault
    if not _has_text(document):
        return "there is no text: give it some, or leave the record out"
    if len(document.parts) > MAX_PARTS:
        return f"it has {len(document.parts):,} posts, over the limit of {MAX_PARTS:,}: split it"
    fault = content_fault(document)
    return fault and f"it {fault}"


def _has_text(document: Document) -> bool:
    for part in document.parts:
        if part.text and not part.text.isspace():  # stripping would copy a long text
            return True
    return document.title_counts and bool(document.title.strip())


Notice = Callable[[str], None]
"""Takes a sentence for the user about a source."""
Form = Callable[[Record, Notice], Build | None]
"""Returns the function that makes a document of a record in a special form, all of which is read, or None."""

_log = logging.getLogger("moverank")

_FIRST, _FIRST_CHARACTERS = 200, 1 << 18  # records, and their characters, that decide whether a source is HTML

_LONG = 200  # characters of texts in an unread field that cause a notice
_PROSE = 15  # characters for each blank in a text; identifiers, addresses and lists of keys have fewer blanks
_ITEMS, _DEPTH = 50, 4  # of nested values that are searched for texts


def no_form(_record: Record, _notice: Notice) -> None:
    """Return None: no record is of a special form."""


@dataclass(frozen=True, slots=True)
class RecordReader:
    """A reader of sources with records: `read` reads them, and `build` makes a document of each.

    `read` yields the document of a record before it reads the next one. `markup`: whether HTML is removed, by default
    if the first records of a source show that its titles, or its texts, are HTML. `threads`: the command is `threads`.
    `deleted` returns how many posts of a record are left out since they were deleted.
    """

    read: Callable[[Stream, Build], Iterator[ReadResult]]
    build: Build
    markup: Markup | None = None
    form: Form = no_form
    threads: bool = False
    deleted: Callable[[Record], int] = lambda _: 0

    def __call__(self, stream: Stream) -> Iterator[ReadResult]:
        """Read a source."""
        source = _Source(self, stream.source.name)
        results = self.read(stream, source.built)
        first: list[ReadResult] = []
        failure: Exception | None = None
        try:
            for result in results:
                first.append(result)
                if len(first) == _FIRST or source.characters > _FIRST_CHARACTERS:
                    break
        except Exception as error:  # noqa: BLE001 - raised after the records before it
            failure = error
        source.decide()
        yield from first
        if failure:
            raise failure
        yield from results
        log_left_out(stream.source.name, source.deleted)


class _Source:
    """Makes documents of the records of the source `name`, and gives each kind of notice once.

    `characters` counts the texts of the documents so far, which decide whether the source is HTML.
    """

    def __init__(self, reader: RecordReader, name: str) -> None:
        self._reader = reader
        self._name = name
        self._noticed = set[str]()
        self._undecided: list[Document] = []
        self.characters = self.deleted = 0
        self._html: tuple[bool, bool] | None = None  # of titles, of texts

    def built(self, record: Record, default_key: str) -> Document:
        """Make a document of a record, and give notice of fields that are not read; BadRecord if it has no text."""
        form = self._reader.form(record, lambda sentence: self._notice("form", sentence))
        document = (form or self._reader.build)(record, default_key)
        self.deleted += self._reader.deleted(record)
        if form or not default_key:  # the header of a table has no key
            return document
        has_text = any(text and not text.isspace() for text in texts_of(document))
        if not has_text or "unread" not in self._noticed:
            unread = _unread(record, document)
            if not has_text and not (document.title_counts and document.title):
                raise BadRecord(self._no_text(unread), document.key)
            if unread:
                self._notice(
                    "unread", f"the field {unread!r} has long texts, which are not read: {self._mend(record, unread)}"
                )
        if self._html is None:
            self._undecided.append(document)
            self.characters += sum(map(len, texts_of(document)))
        else:
            remove_html(document, *self._html, threads=self._reader.threads)
        return document

    def decide(self) -> None:
        """Decide by the documents so far whether titles and texts are HTML, and remove it from them."""
        markup = self._reader.markup
        self._html = html_in(self._undecided) if markup is None else (markup == "strip",) * 2
        if markup is None and any(self._html):
            what = {(True, True): "titles and texts", (True, False): "titles"}.get(self._html, "texts")
            self._notice(
                "html", f"its {what} are HTML, of which the visible text is read; --markup keep reads all of it"
            )
        for document in self._undecided:
            remove_html(document, *self._html, threads=self._reader.threads)
        self._undecided = []

    def _notice(self, kind: str, sentence: str) -> None:
        if kind not in self._noticed:
            self._noticed.add(kind)
            _log.warning("%s: %s", self._name, sentence)

    def _mend(self, record: Record, name: str) -> str:
        """Return the sentence that names the option to read a field."""
        value = record[name]
        if isinstance(value, str):
            return f"--text-field {name} reads it as the text"
        if not isinstance(value, list) or not any(isinstance(item, dict) for item in value):
            return "make it a text, a field of the record itself"
        option = "" if name == "comments" else f" --comments-field {name}"
        return f"{option.strip()} reads them" if self._reader.threads else f"`moverank threads{option}` reads them"

    def _no_text(self, unread: str | None) -> str:
        options = ["--title-field", "--text-field", *(["--comments-field"] if self._reader.threads else [])]
        named = ", ".join(options[:-1]) + f" or {options[-1]}"
        where = f", such as {unread!r}" if unread else ""
        return f"there is no text: give it some, leave the record out, or name the field that has it{where}, by {named}"


def texts_of(document: Document) -> list[str]:
    """Return the texts of a document without its title."""
    return [part.text for part in document.parts]


def html_in(documents: Sequence[Document]) -> tuple[bool, bool]:
    """Return whether the titles of documents, the first ones of a source, are HTML, and whether their texts are."""
    return is_html(one.title for one in documents), is_html(text for one in documents for text in texts_of(one))


def remove_html(document: Document, titles: bool, texts: bool, *, threads: bool = False) -> None:
    """Replace HTML by its visible text in a new document; in replies of `threads` without quotations of other posts."""
    # As in `reading`, a copy would take longer.
    if titles:
        object.__setattr__(document, "title", one_line(visible_text(document.title)))
    if texts:
        quotations: Quotations = "drop" if threads else "keep"
        parts = (
            Part(visible_text(part.text, quotations if part.rank else "keep"), part.rank) for part in document.parts
        )
        object.__setattr__(document, "parts", tuple(part for part in parts if part.text))


def _unread(record: Record, document: Document) -> str | None:
    """Return the first field with long texts that are neither the title nor a text of the document."""
    long = [name for name, value in record.items() if _is_long(value)]
    if not long:
        return None
    read = {document.title, *texts_of(document)}
    for name in long:
        texts = _strings(record[name])
        if not any(text in read or one_line(text) == document.title for text in texts):
            return name
    return None


def _is_long(value: object) -> bool:
    """Return whether a value has long texts other than identifiers and the like."""
    if isinstance(value, str):
        return len(value) >= _LONG and _is_prose(value)
    if not isinstance(value, list | dict):
        return False
    return sum(len(text) for text in _strings(value) if len(text) > _PROSE and _is_prose(text)) >= _LONG


def _is_prose(text: str) -> bool:
    sample = text[:1000]
    return sample.count(" ") * _PROSE >= len(sample) or 2 * len(sample.encode()) > 3 * len(sample)


def _strings(value: object, depth: int = 0) -> list[str]:
    """Return the strings in a value; of long lists, only in the first items."""
    if isinstance(value, str):
        return [value]
    if depth == _DEPTH or not isinstance(value, list | dict):
        return []
    items = list(value.values() if isinstance(value, dict) else value)[:_ITEMS]
    return [text for item in items for text in _strings(item, depth + 1)]
