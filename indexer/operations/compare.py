"""What sources cover of a claim, and the changes between two versions of a text."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from moverank.indexer.arguments import one_or_more, optional_number, texts
from moverank.indexer.documents import Document, title_and_texts
from moverank.indexer.operations.operation import UNLIMITED, OperatedState, Operation, Work
from moverank.indexer.option import Option
from moverank.indexer.queries import QueryText, SomeTexts, query_document
from moverank.indexer.ranked_texts import compared_passages, source_passages
from moverank.indexer.search_options import TAU
from moverank.rerank.distance.evidence import Evidence, evidence_of
from moverank.rerank.distance.text_changes import TextChanges, changes_of
from moverank.rerank.errors import TooLarge


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Operation[Evidence]):
    """Show what sources cover of a claim, sentence by sentence, and what not; covered need not be true."""

    NAME: ClassVar = "compare"
    ANSWER: ClassVar = Evidence

    claim: Annotated[QueryText, Option("A text or a record.", noun="the claim")]
    sources: Annotated[SomeTexts, Option("Texts or records.", noun="source")] = ()
    keys: Annotated[Iterable[str], Option("The keys of stored documents.", noun="source")] = ()
    tau: Annotated[float | None, TAU] = None

    def __post_init__(self) -> None:
        """Raise UsageError for a value of a wrong type."""
        object.__setattr__(self, "claim", query_document(self.claim))
        object.__setattr__(self, "sources", tuple(map(query_document, one_or_more("sources", self.sources))))
        object.__setattr__(self, "keys", tuple(texts("keys", self.keys)))
        object.__setattr__(self, "tau", optional_number("tau", self.tau))

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Evidence:
        """Return what the sources cover; UnknownKey for a key without a document, UsageError for one that two have."""
        claim, embedding = query_document(self.claim), state.embedding
        given = map(query_document, one_or_more("sources", self.sources))
        sources = [replace(document, key=str(i)) for i, document in enumerate(given)]
        size = size_with([claim, *sources], work.characters)
        with state.contents() as contents:
            for key in self.keys:
                sources.append(contents.describe(key).document)
                size = size_with(sources[-1:], work.characters, size)
        own, others = compared_passages(claim), source_passages(sources)
        return evidence_of(own, others, state.settings.tokenizer, embedding, self.tau)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareVersions(Operation[TextChanges]):
    """Show what was kept, moved, changed, added and dropped between two versions of a text."""

    NAME: ClassVar = "changes"
    ANSWER: ClassVar = TextChanges

    old: Annotated[QueryText, Option("A text or a record.", noun="the old version")]
    new: Annotated[QueryText, Option("A text or a record.", noun="the new version")]
    tau: Annotated[float | None, TAU] = None

    def __post_init__(self) -> None:
        """Raise UsageError for a value of a wrong type."""
        object.__setattr__(self, "old", query_document(self.old))
        object.__setattr__(self, "new", query_document(self.new))
        object.__setattr__(self, "tau", optional_number("tau", self.tau))

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> TextChanges:
        """Return the changes; NoKnownWords if neither version has a word."""
        old, new = query_document(self.old), query_document(self.new)
        size_with([old, new], work.characters)
        before, after = compared_passages(old), compared_passages(new)
        return changes_of(before, after, state.settings.tokenizer, state.embedding, self.tau)


def size_with(documents: Iterable[Document], most: int | None, size: int = 0) -> int:
    """Return `size` and the number of characters of documents; TooLarge for more than `most`, None: no limit."""
    size += sum(len(text) for document in documents for text in title_and_texts(document))
    if most is not None and size > most:
        raise TooLarge(f"the texts have more than {most:,} characters together, the limit here")
    return size
