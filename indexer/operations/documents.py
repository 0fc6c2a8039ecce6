"""The stored documents: a page of a list of them, and a whole one."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from moverank.indexer.operations.operation import UNLIMITED, OperatedState, Operation, StateContents, Work
from moverank.indexer.state.contents import Description
from moverank.indexer.store import Entry
from moverank.indexer.values.option import Option
from moverank.indexer.values.search_options import Where
from moverank.rerank.answer import OPTIONAL, Answer

PAGE = 1000
"""The most documents of a page."""


@dataclass(frozen=True, slots=True)
class Documents(Answer):
    """A page of the documents of a collection."""

    documents: tuple[Entry, ...]
    """The documents in the order in which they were added."""
    found: int
    """The number of documents that pass the filter."""
    total: int
    """The number of all documents."""
    why_empty: Annotated[str | None, OPTIONAL] = None
    """Why no document passes the filter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDocuments(Operation[Documents]):
    """List documents without their texts, in the order in which they were added."""

    NAME: ClassVar = "list"
    ANSWER: ClassVar = Documents
    OF_STATE: ClassVar = False

    where: Annotated[Where | None, Option("The filter: only documents that pass it.")] = None
    first: Annotated[int, Option("How many documents to skip.", least=0)] = 0
    limit: Annotated[int, Option("How many documents to return.", least=0, most=PAGE)] = 100

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Documents:
        """Return the page; UsageError for an invalid filter."""
        _ = work
        with state.contents(self.where) as contents:
            return self.of(contents)

    def of(self, contents: StateContents) -> Documents:
        """Return the page of documents that pass the filter."""
        entries = tuple(contents.entries(self.limit, self.first))
        return Documents(entries, len(contents), contents.total, contents.why_empty())


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowDocument(Operation[Description]):
    """Return a whole document as `export` writes it, with the facts that are stored about it."""

    NAME: ClassVar = "show"
    ANSWER: ClassVar = Description
    OF_STATE: ClassVar = False

    key: Annotated[str, Option("The key of the document.")]

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Description:
        """Return the document; UnknownKey if there is none with the key."""
        _ = work
        with state.contents() as contents:
            return contents.describe(self.key)
