"""Documents with ranked parts, titles and metadata; their origins, rejected records, and the changes of a run.

Metadata are JSON values: functions check that they can be stored, and return their texts and the fields of filters.
"""

import json
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import islice
from math import isfinite
from pathlib import PurePosixPath
from typing import Annotated, Any, NamedTuple, Self

from moverank.rerank.answer import OPTIONAL, Answer, Key

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]
Metadata = Mapping[str, Value]


_WORD = re.compile(r"\S+")

GIVEN = "given"
"""The name of the first stage over vectors that come with the documents."""

STREAM = "-"
"""Standard input as a source."""


class NamedSource(NamedTuple):
    """A file, a folder or a stream that documents were read from.

    `place` is its canonical path, so that all spellings of a path are one source; a stream has the place `-`, or
    `-:PREFIX`. `name` is the path as it was first given: the keys of files and of records without a key begin with it.
    All keys begin with the `prefix` and a slash, unless it is empty.
    """

    place: str
    name: str
    prefix: str = ""

    def path_of(self, file: str) -> str:
        """Return the canonical path of a file within this source."""
        return f"{self.place.rstrip('/')}/{file}" if file else self.place

    def name_of(self, file: str) -> str:
        """Return the name of a file within this source, spelled as the source."""
        return PurePosixPath(self.name, file).as_posix()

    def prefixed(self, key: str) -> str:
        """Return the key of a document whose own key is `key`."""
        return f"{self.prefix}/{key}" if self.prefix else key


class Origin(NamedTuple):
    """Where a record was read: a source, the file within it ("" if the source is a file), and the line (0: no line)."""

    source: NamedSource
    file: str = ""
    line: int = 0


class Located(Answer):
    """An answer about a document that was read at an `origin`."""

    __slots__ = ()

    origin: Origin | None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the answer whose `to_dict` is `values`; its origin has no line, and the source no name of its own."""
        place, file = values["source"], values["file"] or ""
        if not isinstance(place, str | None) or not isinstance(file, str):
            raise TypeError(f"{place!r} and {file!r} are no places of files")
        origin = None if place is None else Origin(NamedSource(place, place), file)
        return replace(super().from_dict(values), origin=origin)  # type: ignore[type-var]  # subclasses are dataclasses

    @property
    def source(self) -> str | None:
        """Return the path from which it was read; None if that is unknown."""
        return self.origin and self.origin.source.place

    @property
    def file(self) -> str | None:
        """Return the path within the source."""
        return self.origin and self.origin.file


@dataclass(frozen=True, slots=True)
class Part(Answer):
    """A part of a document, such as a post of a thread.

    The rank determines the weight of the part's words (Trapp et al. 2017, eq. 3).
    """

    text: str
    """The text."""
    rank: int = 0
    """0 for the opening post, then by votes."""


@dataclass(frozen=True, slots=True)
class Document(Answer):
    """A text, or a thread of ranked texts, identified by the user's key."""

    KEYS = ("key", "title", "label", "metadata", "title_counts", "vector", "parts")

    key: str
    """The key."""
    title: str = ""
    """A single line. Its words count in addition to the words of the `parts`, multiplied by the collection's title
    weight; where the first part begins with the title, its words there are not counted again."""
    parts: tuple[Part, ...] = ()
    """The texts, first the opening post."""
    label: str | None = None
    """The class of the document, None if there is none."""
    metadata: Metadata = field(default_factory=dict)
    """The other fields to filter by."""
    title_counts: Annotated[bool, OPTIONAL] = True
    """False: the title is only shown."""
    vector: Annotated[Iterable[float] | None, OPTIONAL] = None
    """The vector for the first stage `given`.

    It is converted to a tuple of float32; TypeError unless it is a sequence of numbers.
    """
    origin: Origin | None = field(default=None, compare=False, repr=False)
    """Where the document was read."""

    def __post_init__(self) -> None:
        """Make the vector comparable and immutable, whatever sequence it is."""
        if self.vector is not None:
            object.__setattr__(self, "vector", _float32(self.key, self.vector))


def title_and_texts(document: Document) -> list[str]:
    """Return the title of a document and the texts of its parts."""
    return [document.title, *(part.text for part in document.parts)]


def whole_text(texts: Iterable[str]) -> str:
    """Return the texts of a document's parts as one, separated by empty lines."""
    return "\n\n".join(texts)


def _float32(key: str, vector: Iterable[float]) -> tuple[float, ...]:
    """Return the numbers of a vector, each as the nearest float32; TypeError names the document `key`."""
    # Iterating over a NumPy array takes four times as long as over a list.
    numbers = vector.tolist() if hasattr(vector, "tolist") else vector
    try:
        return tuple(array("f", numbers))
    except TypeError as error:
        raise TypeError(f"the vector of document {key!r} must be a list of numbers: {error}") from error


@dataclass(frozen=True, slots=True)
class Rejection:
    """A record that cannot become a document: its position, the reason and the remedy.

    `line` counts from 1 (0 where the source has no lines); `key` is the document's key where it is known. `part`: the
    record may be a post of the thread with that key, or without a key of any thread of its file. `ends`: the rest of
    the source was not read.
    """

    source: str
    line: int
    reason: str
    key: str | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)
    part: bool = field(default=False, compare=False, repr=False)
    ends: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        """Return the message in the format of compiler messages: file, line, reason."""
        return f"{self.source}:{self.line}: {self.reason}" if self.line else f"{self.source}: {self.reason}"


@dataclass(frozen=True, slots=True)
class WatchedQuery(Answer):
    """The query of a watch: of a document, what its words depend on."""

    title: str
    """The title, empty if there is none."""
    parts: tuple[Part, ...]
    """The texts."""
    title_counts: Annotated[bool, OPTIONAL] = True
    """False: the title is only shown."""


@dataclass(frozen=True, slots=True)
class Watch(Answer):
    """A stored query: documents that are added or changed later, within its distance, yield events."""

    KEYS = ("name", "asked", "ranking", "within", "where", "revision")

    name: str
    """The name."""
    query: Document
    """The query; its key is empty."""
    ranking: str
    """The distance, with its gamma and weights, which stay when the collection's settings change."""
    within: float
    """The largest distance of an event."""
    where: list[str] | dict[str, Any]
    """The filter; empty: all documents pass."""
    revision: int
    """The revision of the collection when the watch was added."""

    @classmethod
    def stored(cls, name: str, query: Mapping[str, Any], *others: Any) -> Self:
        """Return a watch whose query is stored as a JSON object; its other fields follow."""
        asked = WatchedQuery.from_dict(query)
        return cls(name, Document("", asked.title, asked.parts, title_counts=asked.title_counts), *others)

    @property
    def asked(self) -> Annotated[WatchedQuery, Key("query")]:
        """Return the query."""
        return WatchedQuery(self.query.title, self.query.parts, self.query.title_counts)


@dataclass(frozen=True, slots=True)
class Event(Answer):
    """A document that was added or changed is within the distance of a watch."""

    number: int
    """Later events have larger numbers."""
    watch: str
    """The name of the watch."""
    document: str
    """The key of the document."""
    distance: float
    """The distance of the document from the query, as of the commit."""
    revision: int
    """The revision that added or changed the document."""


@dataclass(frozen=True, slots=True)
class Changes(Answer):
    """What a run changed, in numbers of documents."""

    added: int = 0
    """New documents."""
    updated: int = 0
    """Documents that were replaced."""
    removed: int = 0
    """Documents that were removed."""
    unchanged: int = 0
    """Documents that were stored already."""
    wordless: int = 0
    """Documents of this run without any known word, which are stored but never ranked."""
    rejected: int = 0
    """Bad records."""
    kept: int = 0
    """Documents that stay as they are stored, since rejected records may hold them or some of their posts."""
    unread: int = 0
    """Sources that were not read to their end."""
    duplicates: int = 0
    """New and changed documents that were left out, since another document is near; they count in no other number."""
    revision: int = 0
    """The number of the last committed change."""
    coverage: float | None = field(default=None, compare=False)
    """The share of the collection's running words that have a vector; None without words, after a removal or a dry
    run."""
    trained_seconds: float | None = field(default=None, compare=False)
    """The time that training word vectors took, None if none were trained."""
    events: int = 0
    """Events of watches."""

    @property
    def documents(self) -> int:
        """Return the number of documents that were added, updated, unchanged, or left out as near duplicates."""
        return self.added + self.updated + self.unchanged + self.duplicates


MAX_TITLE_WEIGHT = 100
"""The largest title weight: with a larger weight, the rest of a text would hardly count."""


TITLE_WEIGHT = 3
"""The default title weight: see the figures in the manual's page `ranking`."""


def begins_with_title(text: str, title: str) -> bool:
    """Return whether the text begins with the title, case ignored, followed by no further letter or digit."""
    return title_end(text, title) is not None


def title_end(text: str, title: str) -> int | None:
    """Return the position after the title at the beginning of the text; None if the text does not begin with it.

    Case and the amount of white space do not matter.
    """
    words = title.split()
    if not words or text.lstrip()[:1].casefold()[:1] != words[0][0].casefold()[:1]:  # most texts: they are not split
        return None
    folded = " ".join(words)
    first = list(islice(_WORD.finditer(text), len(words)))
    start = " ".join(found[0] for found in first)
    begins = start[: len(folded)].casefold() == folded.casefold() and not start[len(folded) : len(folded) + 1].isalnum()
    return first[-1].end() - max(0, len(start) - len(folded)) if begins else None


def counted_texts(title: str, parts: Sequence[tuple[int, str]]) -> list[str]:
    """Return the texts of `parts` (rank, text) whose words are counted in addition to the title's.

    They begin at the positions of `counted_from`.
    """
    texts = [text for _, text in parts]
    return [texts[0][counted_from(title, parts) :], *texts[1:]] if texts else texts


def counted_from(title: str, parts: Sequence[tuple[int, str]]) -> int:
    """Return the position from which the first of `parts` (rank, text) is counted in addition to the title.

    If it has rank 0 and begins with the title, that is the end of the title, which must not count twice.
    """
    return title_end(parts[0][1], title) or 0 if title and parts and parts[0][0] == 0 else 0


def without_title(text: str, title: str) -> str:
    """Return the text without the title at its beginning, even if the title is repeated."""
    while (end := title_end(text, title)) is not None:
        text = text[end:].strip()
    return text


MAX_DEPTH = 20
"""How deeply lists and objects may be nested."""

LONGEST_KEY, LONGEST_NAME, LONGEST_VALUE = 2000, 500, 2000
"""The most bytes of a key, and of the name of a field; the most bytes of a value that filters compare as a whole.

The index of PostgreSQL for a name and a value takes 2,704 bytes, and SQLite gets the same limits.
"""

_MOST_BITS = 10_000  # Python reads and writes no integer of more than 4300 digits


def flattened(metadata: Metadata) -> Iterator[tuple[str, str]]:
    """Yield name and value of every field: text as it is, numbers and Booleans as JSON.

    The values of a list are values of its field; values of a nested object are fields with dotted names, as in
    `author.name`. Null is no value.
    """
    for name, value in metadata.items():
        yield from _values(name, value)


def values_by_field(metadata: Metadata) -> dict[str, list[str]]:
    """Return the values of every field by its name; see `flattened`."""
    fields: dict[str, list[str]] = {}
    for name, value in flattened(metadata):
        fields.setdefault(name, []).append(value)
    return fields


def _values(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for inner, item in value.items():
            yield from _values(f"{name}.{inner}", item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _values(name, item)
    elif value is not None:
        yield name, value if isinstance(value, str) else json.dumps(value)


def filter_value(value: str) -> str:
    """Return the text by which a filter finds a value: a long one is cut, and a digest distinguishes it.

    The beginning has at least `LONGEST_VALUE` bytes, so that with the digest it is longer than any value that is not
    cut.
    """
    if len(value) <= LONGEST_VALUE // 4:  # characters of four bytes at most
        return value
    encoded = value.encode(errors="surrogatepass")  # conditions may have lone surrogates, stored values have none
    if len(encoded) <= LONGEST_VALUE:
        return value
    return f"{encoded[: LONGEST_VALUE + 3].decode(errors='ignore')}…{blake2b(encoded, digest_size=16).hexdigest()}"


def texts_within(value: object) -> Iterator[str]:
    """Yield every name and every text within metadata."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - a dict is recognised in less time
        for name, item in value.items():
            yield name
            if isinstance(item, str):
                yield item
            else:
                yield from texts_within(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_within(item)


def content_fault(document: Document) -> str | None:
    """Return the text of a document, or the name of a field, that cannot be stored, and the remedy; else None."""
    texts = [document.key, document.title, document.label or "", *[part.text for part in document.parts]]
    return text_fault(texts, document.metadata) or name_fault(document.metadata)


def text_fault(texts: Sequence[str], metadata: Metadata) -> str | None:
    """Return why one of `texts`, or a text within metadata, cannot be stored, and the remedy; None if all can."""
    try:
        joined = "".join([*texts, *metadata, *metadata.values()] if metadata else texts)  # type: ignore[list-item]
    except TypeError:  # a value is no text
        joined = "".join((*texts, *texts_within(metadata)))
    if "\0" not in joined and (joined.isascii() or _lone_surrogate(joined) is None):
        return None
    # Two halves of a surrogate pair in neighbouring texts do not become a character: each is a fault in UTF-8.
    for text in (*texts, *texts_within(metadata)):
        if "\0" in text:
            return "holds a NUL character: take it out"
        half = _lone_surrogate(text)
        if half:
            return f"holds \\u{ord(half):04x}, half of a surrogate pair: take it out"
    return None


def _lone_surrogate(text: str) -> str | None:
    """Return the first lone surrogate, half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return text[error.start]
    return None


def key_fault(key: str) -> str | None:
    """Return why a key is too long, and the remedy; None if it is not."""
    size = 0 if len(key) <= LONGEST_KEY // 4 else _size(key)
    return f"the key has {size:,} bytes, over the limit of {LONGEST_KEY:,}: shorten it" if size > LONGEST_KEY else None


def name_fault(metadata: Metadata) -> str | None:
    """Return why the name of a field is too long, and the remedy; None if no name is. Other faults are not checked."""
    nested = any(isinstance(value, dict | list | tuple) for value in metadata.values())
    names: Iterable[str] = (name for name, _ in flattened(metadata)) if nested else metadata
    for name in names:
        if len(name) > LONGEST_NAME // 4 and _size(name) > LONGEST_NAME:
            size = f"{_size(name):,} bytes, over the limit of {LONGEST_NAME}"
            return f"has a field whose name has {size}, {f'{name[:40]}...'!r}: shorten it"
    return None


def metadata_fault(metadata: Metadata) -> str | None:
    """Return why metadata cannot be stored as JSON, and the remedy; None if they can."""
    values: Mapping[Any, Any] = metadata  # from a program without type checks
    try:
        "".join([*values, *values.values()])
    except TypeError:  # not all values are texts, as usual
        return _first_fault(values)
    return None


def _size(text: str) -> int:
    """Return the number of bytes; lone surrogates are reported elsewhere."""
    return len(text.encode(errors="surrogatepass"))


def _first_fault(values: Mapping[Any, object]) -> str | None:
    for name, value in values.items():
        if not isinstance(name, str):
            return f"the name {name!r} must be a text"
        fault = _fault(value, MAX_DEPTH)
        if fault:
            return f"{name!r} {fault}"
    return None


def _fault(value: object, depth: int) -> str | None:
    """Return why a value, which may be nested up to `depth`, cannot be stored; None if it can."""
    if value is None or isinstance(value, str | bool):
        return None
    if isinstance(value, float):
        return None if isfinite(value) else "is no finite number: write it as a text, or leave it out"
    if isinstance(value, int):
        return None if value.bit_length() <= _MOST_BITS else "has too many digits: write it as a text"
    if not isinstance(value, list | tuple | dict):
        kind = type(value).__name__
        return f"is of type {kind}: use text, numbers, Booleans, None, and lists and dicts of these"
    if not depth:
        return f"is nested more than {MAX_DEPTH} deep: flatten it"
    if isinstance(value, dict):
        wrong = next((name for name in value if not isinstance(name, str)), None)
        if wrong is not None:
            return f"has the name {wrong!r}, which must be a text"
    items = value.values() if isinstance(value, dict) else value
    return next((fault for item in items if (fault := _fault(item, depth - 1))), None)
