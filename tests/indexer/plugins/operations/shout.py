"""An operation as another package has it."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from moverank import Document
from moverank.indexer.operations.operation import UNLIMITED, OperatedState, Operation, Work
from moverank.indexer.values.option import Option
from moverank.indexer.values.queries import QueryText, SomeTexts, query_document
from moverank.rerank.answer import OPTIONAL, Answer
from moverank.rerank.errors import NoKnownWords


@dataclass(frozen=True, slots=True)
class Shouted(Answer):
    """Texts in capitals."""

    texts: tuple[str, ...]
    """The texts, each with its signs."""
    documents: Annotated[tuple[str, ...], OPTIONAL] = ()
    """The titles of stored documents; empty without keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shout(Operation[Shouted]):
    """Repeat texts, and titles of documents, in capitals."""

    NAME: ClassVar = "shout"
    ANSWER: ClassVar = Shouted

    text: Annotated[QueryText, Option("The first text.", noun="the text")]
    more: Annotated[SomeTexts, Option("Further texts.", noun="text")] = ()
    keys: Annotated[tuple[str, ...], Option("The keys of documents.", noun="text")] = ()
    signs: Annotated[int, Option("How many signs follow each text.", least=1, most=5)] = 1
    quiet: Annotated[float | None, Option("How quiet it is.", "not at all", above=0, key="hush")] = None

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Shouted:  # noqa: ARG002 - it needs none
        """Return the texts in capitals."""
        if self.quiet is not None:
            raise NoKnownWords(f"as quiet as {self.quiet:g}")
        with state.contents() as contents:
            titles = tuple(contents.describe(key).document.title.upper() for key in self.keys)
        more = [self.more] if isinstance(self.more, str | Document) else self.more
        texts = (query_document(one).parts[0].text.upper() for one in (self.text, *more))
        return Shouted(tuple(text + "!" * self.signs for text in texts), titles)
