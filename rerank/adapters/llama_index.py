"""LlamaIndex: a node postprocessor."""

from typing import Any

from moverank.rerank.adapters.ranker import missing

try:
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
except ImportError as error:
    raise missing("LlamaIndex", "llama-index") from error

from moverank.rerank.adapters.ranker import HeldRanker


class MoverankPostprocessor(BaseNodePostprocessor):
    """Reranks the nodes that a retriever returned, by their texts, exactly, as a search would.

    The nodes themselves are returned, unchanged, with new scores; `top_n` of them, or all by default. A node without a
    known word has no distance and comes last; if the query has no known word, the nodes keep their order.
    """

    ranker: Any = Field(description="A moverank.Reranker, or the path of word vectors or of a collection.")
    top_n: int | None = Field(default=None, ge=1, description="Number of nodes to return; None: all.")
    rank: str | None = Field(default=None, description="Specification of the ranking; None: the ranker's.")
    metadata_mode: MetadataMode = Field(
        default=MetadataMode.NONE, description="The metadata that are ranked as a part of the text; none by default."
    )
    _held: HeldRanker = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Load the ranker."""
        super().model_post_init(context)
        self._held = HeldRanker(self.ranker).load(self.rank)

    @classmethod
    def class_name(cls) -> str:
        """Return the name of the class in serialised components."""
        return "MoverankPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("a query is needed: pass query_str or query_bundle")
        places = self._held.places(
            query_bundle.query_str,
            [each.node.get_content(metadata_mode=self.metadata_mode) for each in nodes],
            self.top_n,
            [each.score for each in nodes],
            self.rank,
        )
        return [NodeWithScore(node=nodes[place.index].node, score=place.score) for place in places[: self.top_n]]
