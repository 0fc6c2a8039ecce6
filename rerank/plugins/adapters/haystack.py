"""Haystack: a ranker component."""

import asyncio
from dataclasses import replace
from typing import Any

from moverank.rerank.plugins.adapters.ranker import missing

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError as error:
    raise missing("Haystack", "haystack") from error

from moverank.rerank.errors import OptionError
from moverank.rerank.plugins.adapters.ranker import (
    HeldRanker,
    Wanted,
    check_count,
    check_passage,
    place_metadata,
    status_metadata,
)


@component
class MoverankRanker:
    """Ranks documents by their contents, exactly, as a search would.

    `ranker` is the path of word vectors or of a collection, which `warm_up` or the first run loads; None: BM25 with
    stems, without word vectors. `top_k`: the number of documents returned; None: all. `keep_rest`: also return the
    others, after the first `top_k`. `rank`: specification of the ranking, by default the collection's. `highlight`: the
    meta data of the first `top_k` have `moverank_highlights`, the places in the contents where words of the query
    stand, and words near to them. `passage`: they have `moverank_passage`, the window of up to so many words that is
    nearest to the query.

    Copies of the documents are returned with new scores; their meta data have `moverank_status` unless the score is
    exact: "pruned" (a bound), "wordless" (no known word), "unranked" (the query has no known word: the documents keep
    their order).
    """

    def __init__(
        self,
        ranker: str | None = None,
        top_k: int | None = 10,
        rank: str | None = None,
        *,
        keep_rest: bool = False,
        highlight: bool = False,
        passage: int | None = None,
    ) -> None:
        if not isinstance(ranker, str | None):  # Haystack stores the arguments as YAML
            raise OptionError(f"ranker must be a string, the path of word vectors or of a collection, not {ranker!r}")
        self.ranker, self.top_k, self.rank, self.keep_rest = ranker, check_count("top_k", top_k), rank, keep_rest
        self.highlight, self.passage = highlight, check_passage(passage)
        self._held = HeldRanker(ranker)

    def warm_up(self) -> None:
        """Load the ranker; once, however often it is called."""
        self._held.load(self.rank)

    def to_dict(self) -> dict[str, Any]:
        """Return the component as Haystack stores it."""
        arguments = {"ranker": self.ranker, "top_k": self.top_k, "rank": self.rank, "keep_rest": self.keep_rest}
        return dict(default_to_dict(self, **arguments, highlight=self.highlight, passage=self.passage))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "MoverankRanker":
        """Return the component that `to_dict` stored."""
        restored: MoverankRanker = default_from_dict(cls, data)
        return restored

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the documents under "documents", best first; `top_k` replaces the component's."""
        count = self.top_k if top_k is None else check_count("top_k", top_k)
        places = self._held.places(
            query,
            [document.content for document in documents],
            count,
            [document.score for document in documents],
            self.rank,
            Wanted(self.highlight, self.passage),
        )
        kept = places[: None if self.keep_rest else count]
        return {
            "documents": [
                replace(
                    document,
                    score=place.score,
                    meta=document.meta | status_metadata(place) | place_metadata(place.highlights, place.passage),
                )
                for place in kept
                for document in [documents[place.index]]
            ]
        }

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Call `run` in a thread."""
        return await asyncio.to_thread(self.run, query, documents, top_k)
