"""One opened state of a served collection, with a reranker of texts by its weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import islice

from moverank.indexer.contents.contents import Contents
from moverank.indexer.maintenance.opened_view import OpenedView
from moverank.indexer.options import SearchOptions, Where
from moverank.indexer.reranking.loading import stems_of, stored_options
from moverank.indexer.reranking.reranker import Reranker
from moverank.rerank.errors import NoKnownWords

_SOME = 100  # characters of a text, which are as good a query as all of them


class ServedView(OpenedView):
    """One state of a collection that is served."""

    @contextmanager
    def contents(self, where: Where | None = None) -> Iterator[Contents]:
        """Open the documents that pass a filter; only one thread reads at a time."""
        with self.database:
            yield Contents(self.reader, where)

    def warm(self) -> None:
        """Load what the first search by the collection's ranking loads."""
        for text in self._some_text():
            try:
                self.searcher.search(text, SearchOptions(k=1))
            except NoKnownWords:
                continue
            return

    def _some_text(self) -> list[str]:
        with self.database:
            some = self.reader.texts(list(islice(self.reader.ids(), 3)))
        return [text[:_SOME] for texts in some.values() for text in texts]

    @cached_property
    def reranker(self) -> Reranker:
        """Return a reranker of texts with the weights of this state."""
        frequencies = self.searcher.document_frequencies(stems_of(self.settings.ranking))
        return Reranker(self.embedding, **stored_options(self.settings), frequencies=frequencies)
