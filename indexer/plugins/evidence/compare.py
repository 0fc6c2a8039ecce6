"""The operations `compare` and `changes`, and `moverank.compare`."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from moverank.indexer.operations.operation import UNLIMITED, OperatedState, Operation, Work
from moverank.indexer.plugins.evidence.compared_texts import compared_passages, size_with, source_passages
from moverank.indexer.values.arguments import one_or_more, optional_number, texts
from moverank.indexer.values.documents import Document
from moverank.indexer.values.option import Option
from moverank.indexer.values.queries import QueryText, SomeTexts, query_document
from moverank.indexer.values.search_options import TAU
from moverank.rerank.plugins.evidence.evidence import Evidence, evidence_of
from moverank.rerank.plugins.evidence.text_changes import TextChanges, changes_of
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.tokenizer import Tokenizer

if TYPE_CHECKING:
    from moverank.indexer.reranking.reranker import Reranker
    from moverank.indexer.reranking.texts import Candidates, Text


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
        sources = self._given()
        size = size_with([claim, *sources], work.characters)
        with state.contents() as contents:
            for key in self.keys:
                sources.append(contents.describe(key).document)
                size = size_with(sources[-1:], work.characters, size)
        return self.between(claim, sources, state.settings.tokenizer, embedding, self.tau)

    def _given(self) -> list[Document]:
        """Return the sources that are given as texts, whose keys are their indices."""
        given = map(query_document, one_or_more("sources", self.sources))
        return [replace(document, key=str(i)) for i, document in enumerate(given)]

    @staticmethod
    def between(
        claim: Document, sources: Iterable[Document], tokenizer: Tokenizer, embedding: Embedding, tau: float | None
    ) -> Evidence:
        """Return what the sources cover; their keys differ."""
        own, others = compared_passages(claim), source_passages(sources)
        return evidence_of(own, others, tokenizer, embedding, optional_number("tau", tau))

    def page(self, found: Evidence) -> tuple[str, str]:
        """Return the answer to a comparison of given texts for a page: a sentence, and HTML."""
        from moverank.indexer.plugins.evidence.comparison_marks import evidence_sides, evidence_verdict
        from moverank.indexer.plugins.evidence.comparison_page import comparison_body
        from moverank.indexer.plugins.evidence.differences import evidence_differences

        sides = evidence_sides(found, query_document(self.claim), {one.key: one for one in self._given()})
        return evidence_verdict(found), comparison_body(evidence_differences(found, sides), sides)


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
        return self.between(old, new, state.settings.tokenizer, state.embedding, self.tau)

    @staticmethod
    def between(
        old: Document, new: Document, tokenizer: Tokenizer, embedding: Embedding, tau: float | None
    ) -> TextChanges:
        """Return the changes."""
        before, after = compared_passages(old), compared_passages(new)
        return changes_of(before, after, tokenizer, embedding, optional_number("tau", tau))

    def page(self, found: TextChanges) -> tuple[str, str]:
        """Return the answer for a page: a sentence, and HTML."""
        from moverank.indexer.plugins.evidence.comparison_marks import changes_sides, changes_verdict
        from moverank.indexer.plugins.evidence.comparison_page import comparison_body
        from moverank.indexer.plugins.evidence.differences import changes_differences

        sides = changes_sides(found, query_document(self.old), query_document(self.new))
        return changes_verdict(found), comparison_body(changes_differences(found, sides), sides)


def compare(
    claim: "Text",
    sources: "Text | Candidates",
    vectors: str | Path | Embedding,
    tau: float | None = None,
    **options: Any,
) -> Evidence:
    """Return what the sources cover of a claim: `Reranker.evidence` with the word vectors of a file or a collection.

    `vectors` are as in `Reranker.load`, or an `Embedding`; `options` are the reranker's. To compare several claims,
    make a `Reranker` once.
    """
    from moverank.indexer.reranking.reranker import Reranker

    made = Reranker(vectors, **options) if isinstance(vectors, Embedding) else load_comparer(vectors, **options)
    return made.evidence(claim, sources, tau)


def load_comparer(source: str | Path, **options: Any) -> "Reranker":
    """Return `Reranker.load` for comparisons alone: the document frequencies of a collection are not counted."""
    from moverank.indexer.reranking.reranker import Reranker
    from moverank.indexer.search.document_frequencies import DocumentFrequencies

    return Reranker.load(source, **{"frequencies": DocumentFrequencies(0, {})} | options)
