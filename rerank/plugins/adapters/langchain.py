"""LangChain: a document compressor, which reranks, and a retriever."""

from collections.abc import Sequence
from typing import Any

from moverank.rerank.plugins.adapters.ranker import missing

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, Field, PrivateAttr
except ImportError as error:
    raise missing("LangChain", "langchain") from error

from moverank.rerank.plugins.adapters.ranker import HeldRanker, Wanted, place_metadata, status_metadata
from moverank.rerank.plugins.adapters.stored import HeldCollection

_SCORE = "relevance_score"  # the name that LangChain's own rerankers use


class MoverankCompressor(BaseDocumentCompressor):
    """Reranks documents; `ContextualCompressionRetriever` takes it as its `base_compressor`.

    `ranker` is a `moverank.Reranker`, or the path of word vectors or of a collection; None: BM25 with stems, without
    word vectors. `top_n`: the number of documents returned, all of them by default. `keep_rest`: also return the
    others, after the first `top_n`. `rank`: specification of the ranking, by default the ranker's. `highlight`: the
    metadata of the first `top_n` have `moverank_highlights`, the places in the text where words of the query stand, and
    words near to them. `passage`: they have `moverank_passage`, the window of up to so many words that is nearest to
    the query.

    Copies of the documents are returned. Their metadata have `relevance_score`, and `moverank_status` unless the score
    is exact: "pruned" (a bound), "wordless" (no known word), "unranked" (the query has no known word: the documents
    keep their order).
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    ranker: Any = None
    top_n: int | None = Field(default=None, ge=1)
    rank: str | None = None
    keep_rest: bool = False
    highlight: bool = False
    passage: int | None = Field(default=None, ge=1)
    _held: HeldRanker = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Load the ranker."""
        super().model_post_init(context)
        self._held = HeldRanker(self.ranker).load(self.rank)

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,  # noqa: ARG002 - the ranker calls no model
    ) -> list[Document]:
        """Return copies of the documents, best first."""
        texts = [document.page_content for document in documents]
        wanted = Wanted(self.highlight, self.passage)
        places = self._held.places(query, texts, self.top_n, rank=self.rank, wanted=wanted)
        return [
            _copy(
                documents[place.index],
                {_SCORE: place.score} | status_metadata(place) | place_metadata(place.highlights, place.passage),
            )
            for place in places[: None if self.keep_rest else self.top_n]
        ]


def _copy(document: Document, more: dict[str, Any]) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, **more}})


class MoverankRetriever(BaseRetriever):
    """Retrieves the `k` nearest documents of a `collection`: an open `moverank.Collection`, or the path of one.

    `rank`: specification of the ranking, by default the collection's. `options`: other fields of
    `moverank.SearchOptions`, as `{"where": {"label": "power"}}`. A document's id is its key; its metadata are the
    stored ones, `title` and `label` if there are any, and `relevance_score`; with the options `highlight` and
    `passage`, also `moverank_highlights` and `moverank_passage`. Their places are in `page_content`, which is all parts
    of the stored document; those with `part` None are in the title.
    """

    collection: Any
    k: int = Field(default=10, ge=1)
    rank: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    _stored: HeldCollection = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Open the collection."""
        super().model_post_init(context)
        self._stored = HeldCollection(self.collection).open()

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - there are no inner runs
    ) -> list[Document]:
        hits = self._stored.search(query, **{"k": self.k, "rank": self.rank} | self.options | {"full": True})
        return [
            Document(
                id=hit.key,
                page_content=hit.text or "",
                metadata={
                    **hit.metadata,
                    **{name: value for name, value in (("title", hit.title), ("label", hit.label)) if value},
                    _SCORE: hit.score,
                    **place_metadata(hit.highlights, hit.passage, hit.part_starts),
                },
            )
            for hit in hits
        ]
