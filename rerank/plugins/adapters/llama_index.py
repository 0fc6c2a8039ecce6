"""LlamaIndex: a node postprocessor."""

from typing import Any

from moverank.rerank.plugins.adapters.ranker import missing

try:
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle
except ImportError as error:
    raise missing("LlamaIndex", "llama-index") from error

from moverank.rerank.plugins.adapters.ranker import HeldRanker, Placed, Wanted, place_metadata


class MoverankPostprocessor(BaseNodePostprocessor):
    """Reranks the nodes that a retriever returned, by their texts, exactly, as a search would.

    The nodes themselves are returned, unchanged, with new scores; `top_n` of them, or all by default. A node without a
    known word has no distance and comes last; if the query has no known word, the nodes keep their order. With
    `highlight`, those with highlights are copies whose metadata have `moverank_highlights`, the places in the text that
    is ranked where words of the query stand, and words near to them; with `passage`, those with a passage have
    `moverank_passage`, the window of up to so many words that is nearest to the query. Embeddings and language models
    do not get to see these.
    """

    ranker: Any = Field(
        default=None,
        description="A moverank.Reranker, or the path of word vectors or of a collection; None: BM25 with stems.",
    )
    top_n: int | None = Field(default=None, ge=1, description="Number of nodes to return; None: all.")
    rank: str | None = Field(default=None, description="Specification of the ranking; None: the ranker's.")
    metadata_mode: MetadataMode = Field(
        default=MetadataMode.NONE, description="The metadata that are ranked as a part of the text; none by default."
    )
    highlight: bool = Field(default=False, description="Add the places of the query's words to the metadata.")
    passage: int | None = Field(default=None, ge=1, description="Add the nearest window of up to so many words.")
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
            Wanted(self.highlight, self.passage),
        )
        return [NodeWithScore(node=_node(nodes, place), score=place.score) for place in places[: self.top_n]]


def _node(nodes: list[NodeWithScore], place: Placed) -> BaseNode:
    """Return the node of a place, a copy if it has highlights or a passage."""
    node = nodes[place.index].node
    added = place_metadata(place.highlights, place.passage)
    if not added:
        return node
    hidden = ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys")
    changed: dict[str, Any] = {name: [*getattr(node, name), *added] for name in hidden}
    changed["metadata"] = {**node.metadata, **added}
    return node.model_copy(update=changed)
