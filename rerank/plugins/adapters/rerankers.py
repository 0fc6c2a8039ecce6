"""The package `rerankers` of Answer.AI: a ranker."""

from typing import Any

from moverank.rerank.plugins.adapters.ranker import missing

try:
    from rerankers.documents import Document
    from rerankers.models.ranker import BaseRanker
    from rerankers.results import RankedResults, Result
    from rerankers.utils import prep_docs
except ImportError as error:
    raise missing("rerankers", "rerankers") from error

from moverank.rerank.plugins.adapters.ranker import GivenRanker, HeldRanker, Placed, Wanted, check_count, check_passage


class MoverankResult(Result):
    """A result with its `status`: "exact", or "pruned" (a bound), "wordless" (no known word) or "unranked".

    `highlights` are the places in the text where words of the query stand, and words near to them, if requested,
    and `passage` is the window nearest to the query.
    """

    def __init__(self, document: Document, rank: int, place: Placed) -> None:
        super().__init__(document, place.score, rank)
        self.status, self.highlights, self.passage = place.status, place.highlights, place.passage


class MoverankRanker(BaseRanker):
    """Ranks documents exactly, as a search would.

    `model_name_or_path` is a `moverank.Reranker`, or the path of word vectors or of a collection; None: BM25 with
    stems, without word vectors. `k`: the number of the first results that are exact, all of them by default; the others
    have bounds. `rank`: specification of the ranking, by default the ranker's. `highlight`: the first `k` results have
    `highlights`. `passage`: they have the `passage` of up to so many words.
    """

    ranking_type = "pointwise"

    def __init__(
        self,
        model_name_or_path: GivenRanker = None,
        verbose: int = 0,
        *,
        k: int | None = None,
        rank: str | None = None,
        highlight: bool = False,
        passage: int | None = None,
    ) -> None:
        self.verbose, self.k, self.ranking = verbose, check_count("k", k), rank
        self.highlight, self.passage = highlight, check_passage(passage)
        self._held = HeldRanker(model_name_or_path).load(rank)

    def rank(
        self,
        query: str,
        docs: str | list[str] | Document | list[Document],
        doc_ids: list[str] | list[int] | None = None,
        metadata: list[dict[str, Any]] | None = None,
    ) -> RankedResults:
        """Return all documents, best first, with their ids, metadata, ranks from 1 and scores."""
        documents = prep_docs(docs, doc_ids, metadata) if docs else []
        texts = [document.text for document in documents]
        wanted = Wanted(self.highlight, self.passage)
        places = self._held.places(query, texts, self.k, rank=self.ranking, wanted=wanted)
        results = [MoverankResult(documents[place.index], rank, place) for rank, place in enumerate(places, start=1)]
        return RankedResults(results=results, query=query, has_scores=True)

    def score(self, query: str, doc: str) -> float:
        """Return the score of one text."""
        return self._held.places(query, [doc], rank=self.ranking)[0].score
