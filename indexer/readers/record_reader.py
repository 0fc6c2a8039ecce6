"""Reads sources of records: removes HTML from their texts, and notices what is not read of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from moverank.indexer.documents import Document, Part
from moverank.indexer.readers.bad_record import BadRecord, ReadResult
from moverank.indexer.readers.markup import Markup, is_html, visible_text
from moverank.indexer.readers.records import Build, Record, one_line
from moverank.indexer.readers.streams import Stream

Notice = Callable[[str], None]
"""Takes a sentence for the user about a source."""
Form = Callable[[Record, Notice], Build | None]
"""Returns what makes a document of a record of a special form, all of which is read; None for any other."""

_FIRST, _FIRST_CHARACTERS = 200, 1 << 18  # records that are read before it is decided whether they are HTML

_LONG = 200  # characters of texts in a field that is worth a notice
_PROSE = 15  # characters for each blank in a text; identifiers, addresses and lists of keys have fewer blanks
_ITEMS, _DEPTH = 50, 4  # of nested values that are searched for texts


def no_form(_record: Record, _notice: Notice) -> None:
    """Return None: no record is of a special form."""


@dataclass(frozen=True, slots=True)
class RecordReader:
    """A reader of sources with records: `read` reads them, and `build` makes a document of each.

    `read` yields what was built of a record before it reads the next one. Sentences for the user are added to
    `notices` before the record that they belong to is yielded. `markup`: whether HTML is removed, by default if the
    first records of a source show that its titles, or its texts, are HTML. `threads`: the command is `threads`.
    """

    read: Callable[[Stream, Build], Iterator[ReadResult]]
    build: Build
    notices: list[str]
    markup: Markup | None = None
    form: Form = no_form
    threads: bool = False

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


class _Source:
    """The source `name` as far as it was read: makes documents of its records; gives each kind of notice once.

    `characters` are those of the documents whose HTML is removed once it is decided whether there is any.
    """

    def __init__(self, reader: RecordReader, name: str) -> None:
        self._reader = reader
        self._name = name
        self._noticed = set[str]()
        self._undecided: list[Document] = []
        self.characters = 0
        self._html: tuple[bool, bool] | None = None  # of titles, of texts

    def built(self, record: Record, default_key: str) -> Document:
        """Make a document of a record, and notice what is not read of it; BadRecord if it has no text."""
        form = self._reader.form(record, lambda sentence: self._notice("form", sentence))
        document = (form or self._reader.build)(record, default_key)
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
            remove_html(document, *self._html)
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
            remove_html(document, *self._html)
        self._undecided = []

    def _notice(self, kind: str, sentence: str) -> None:
        if kind not in self._noticed:
            self._noticed.add(kind)
            self._reader.notices.append(f"{self._name}: {sentence}")

    def _mend(self, record: Record, name: str) -> str:
        """Return what reads a field."""
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


def remove_html(document: Document, titles: bool, texts: bool) -> None:
    """Replace HTML by its visible text in a document that was just made."""
    # As in `reading`, a copy would take longer.
    if titles:
        object.__setattr__(document, "title", one_line(visible_text(document.title)))
    if texts:
        parts = (Part(visible_text(part.text), part.rank) for part in document.parts)
        object.__setattr__(document, "parts", tuple(part for part in parts if part.text))


def _unread(record: Record, document: Document) -> str | None:
    """Return the first field with long texts none of which is the title or a text of the document."""
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
    """Return the strings in a value, those of the first items of long lists."""
    if isinstance(value, str):
        return [value]
    if depth == _DEPTH or not isinstance(value, list | dict):
        return []
    items = list(value.values() if isinstance(value, dict) else value)[:_ITEMS]
    return [text for item in items for text in _strings(item, depth + 1)]
