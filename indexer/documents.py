"""Documents and their ranked parts, rejected records, and the changes of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]
Metadata = Mapping[str, Value]


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
    the title is only shown. `label` is one class; `metadata` holds the other fields to filter by.
    """

    key: str
    title: str = ""
    parts: tuple[Part, ...] = ()
    label: str | None = None
    metadata: Metadata = field(default_factory=dict)
    title_counts: bool = True


@dataclass(frozen=True, slots=True)
class Rejection:
    """A record that cannot become a document: its position, the reason and the remedy.

    `line` counts from 1 (0 where the source has no lines); `key` is the document's key where it is known.
    """

    source: str
    line: int
    reason: str
    key: str | None = None

    def __str__(self) -> str:
        """Return the message in the format of compiler messages: file, line, reason."""
        return f"{self.source}:{self.line}: {self.reason}" if self.line else f"{self.source}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Changes:
    """The result of a run: numbers of documents, and the collection's revision after it.

    `wordless` counts the documents of this run without any known word, which are stored but never ranked.
    """

    added: int = 0
    updated: int = 0
    removed: int = 0
    unchanged: int = 0
    wordless: int = 0
    rejected: int = 0
    revision: int = 0

    @property
    def documents(self) -> int:
        """Return the number of documents that were added, updated or unchanged."""
        return self.added + self.updated + self.unchanged
