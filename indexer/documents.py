"""Documents and their ranked parts, where they were read, rejected records, and the changes of a run."""

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]
Metadata = Mapping[str, Value]


STREAM = "-"
"""Standard input as a source."""


class NamedSource(NamedTuple):
    """A file, a folder or a stream that documents were read from.

    `place` is its canonical path, so that all spellings of a path are one source; of a stream it is `-`, or `-:PREFIX`.
    `name` is the path as it was first given, with which the keys of files and of records without a key begin. `prefix`
    and a slash are in front of all keys, unless it is empty.
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
    """Where a record was read: a source, the file within it ("" if the source is a file), and the line (0: no line).

    `notices` are sentences for the user about the file, which were found when the record was read.
    """

    source: NamedSource
    file: str = ""
    line: int = 0
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A text and its rank within the document: 0 is the top, a thread's opening post.

    The rank determines the weight of the part's words (Trapp et al. 2017, eq. 3).
    """

    text: str
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A text, or a thread of ranked texts, identified by the user's key.

    `title` is a single line. Its words count in addition to those of the `parts`, multiplied by the collection's title
    weight; where the first part begins with the title, its words there are not counted again. With `title_counts` False
    the title is only shown. `label` is one class; `metadata` holds the other fields to filter by. `vector` is one
    for the first stage `given`: any sequence of numbers, which becomes a tuple of float32 values. Raises TypeError for
    anything else.
    """

    key: str
    title: str = ""
    parts: tuple[Part, ...] = ()
    label: str | None = None
    metadata: Metadata = field(default_factory=dict)
    title_counts: bool = True
    vector: Iterable[float] | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)
    is_checked: bool = field(default=False, init=False, compare=False, repr=False)
    """Whether a reader has found that it can be stored; its metadata can have been changed since then."""

    def __post_init__(self) -> None:
        """Make the vector comparable and immutable, whatever sequence it is."""
        if self.vector is not None:
            object.__setattr__(self, "vector", _float32(self.key, self.vector))


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

    `line` counts from 1 (0 where the source has no lines); `key` is the document's key where it is known.
    """

    source: str
    line: int
    reason: str
    key: str | None = None
    origin: Origin | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        """Return the message in the format of compiler messages: file, line, reason."""
        return f"{self.source}:{self.line}: {self.reason}" if self.line else f"{self.source}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Changes:
    """The result of a run: numbers of documents, and the collection's revision after it.

    `wordless` counts the documents of this run without any known word, which are stored but never ranked; `kept` those
    which were not pruned since a rejected record may be one of them. Two figures that do not count in comparisons:
    `coverage` is the share of the collection's running words that have a vector, None if there are no words, after a
    removal or a dry run; `trained_seconds` is the time that training word vectors took, None if none were trained.
    """

    added: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0
    wordless: int = 0
    rejected: int = 0
    kept: int = 0
    revision: int = 0
    coverage: float | None = field(default=None, compare=False)
    trained_seconds: float | None = field(default=None, compare=False)

    @property
    def documents(self) -> int:
        """Return the number of documents that were added, updated or unchanged."""
        return self.added + self.updated + self.unchanged
