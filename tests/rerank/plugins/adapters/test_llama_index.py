import asyncio
import pickle
from pathlib import Path

import pytest

from moverank import Reranker
from tests.rerank.plugins.adapters import small_world as world

pytest.importorskip("llama_index.core")
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from pydantic import ValidationError

from moverank.rerank.plugins.adapters.llama_index import MoverankPostprocessor


def _nodes() -> list[TextNode]:
    return [
        TextNode(id_=key, text=text, metadata={"number": number})
        for number, (key, text) in enumerate(world.TEXTS.items())
    ]


def _scored() -> list[NodeWithScore]:
    return [NodeWithScore(node=node, score=0.5) for node in _nodes()]


def _ids(nodes: list[NodeWithScore]) -> list[str]:
    return [each.node.node_id for each in nodes]


def test_nodes_come_back_by_distance_unchanged(ranker: Reranker) -> None:
    given = _scored()
    found = MoverankPostprocessor(ranker=ranker).postprocess_nodes(given, query_str=world.QUERY)
    assert _ids(found) == world.order()
    assert [each.score for each in found[:-1]] == [pytest.approx(1 / (1 + d)) for d in world.nearest().values()]
    assert given == _scored()
    assert {each.node.node_id: each.node for each in found} == {node.node_id: node for node in _nodes()}


def test_top_n_and_a_query_without_known_words(ranker: Reranker) -> None:
    postprocessor = MoverankPostprocessor(ranker=ranker, top_n=2)
    assert _ids(postprocessor.postprocess_nodes(_scored(), QueryBundle(world.QUERY))) == world.order()[:2]
    assert _ids(postprocessor.postprocess_nodes(_scored(), QueryBundle(world.UNKNOWN))) == list(world.TEXTS)[:2]
    assert postprocessor.postprocess_nodes([], QueryBundle(world.QUERY)) == []


def test_metadata_can_be_ranked_with_the_text(ranker: Reranker) -> None:
    nodes = [
        NodeWithScore(node=TextNode(id_="a", text="cat", metadata={"about": world.QUERY})),
        NodeWithScore(node=TextNode(id_="b", text="plug hot hot")),
    ]
    plain, whole = (
        MoverankPostprocessor(ranker=ranker, metadata_mode=mode).postprocess_nodes(nodes, query_str=world.QUERY)
        for mode in (MetadataMode.NONE, MetadataMode.ALL)
    )
    assert (_ids(plain), _ids(whole)) == (["b", "a"], ["a", "b"])


def test_in_a_query_engine(ranker: Reranker) -> None:
    index = VectorStoreIndex(_nodes(), embed_model=MockEmbedding(embed_dim=8))
    engine = RetrieverQueryEngine.from_args(
        index.as_retriever(similarity_top_k=len(world.TEXTS)),
        llm=MockLLM(),
        node_postprocessors=[MoverankPostprocessor(ranker=ranker, top_n=3)],
    )
    for response in (engine.query(world.QUERY), asyncio.run(engine.aquery(world.QUERY))):
        assert _ids(response.source_nodes) == world.order()[:3]
        assert response.source_nodes[0].metadata == {"number": 3}


def test_it_is_asynchronous(ranker: Reranker) -> None:
    postprocessor = MoverankPostprocessor(ranker=ranker)
    found = asyncio.run(postprocessor.apostprocess_nodes(_scored(), query_str=world.QUERY))
    assert _ids(found) == world.order()


def test_a_path_survives_dict_and_pickle(vectors_file: Path) -> None:
    postprocessor = MoverankPostprocessor(ranker=str(vectors_file), top_n=2)
    stored = postprocessor.to_dict()
    assert (stored["class_name"], stored["top_n"]) == ("MoverankPostprocessor", 2)
    pickled = pickle.loads(pickle.dumps(postprocessor))  # noqa: S301 - made here
    for again in (MoverankPostprocessor.from_dict(stored), pickled):
        assert _ids(again.postprocess_nodes(_scored(), query_str=world.QUERY)) == world.order()[:2]


def test_invalid_arguments_are_named(ranker: Reranker) -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        MoverankPostprocessor(ranker=ranker, top_n=0)
    with pytest.raises(ValueError, match=r"the ranker must be a moverank\.Reranker or the path"):
        MoverankPostprocessor(ranker=5)
    with pytest.raises(ValueError, match="a query is needed: pass query_str or query_bundle"):
        MoverankPostprocessor(ranker=ranker).postprocess_nodes(_scored())


def test_copies_of_nodes_have_highlights_that_no_model_sees(ranker: Reranker) -> None:
    given = _scored()
    postprocessor = MoverankPostprocessor(ranker=ranker, top_n=2, highlight=True, passage=2)
    found = postprocessor.postprocess_nodes(given, query_str=world.QUERY)
    assert given == _scored()
    for each in found:
        text = each.node.get_content(metadata_mode=MetadataMode.NONE)
        highlights = each.node.metadata["moverank_highlights"]
        assert highlights
        assert [text[one["start"] : one["end"]] for one in highlights] == [one["word"] for one in highlights]
        passage = each.node.metadata["moverank_passage"]
        assert text[passage["start"] : passage["end"]] == passage["text"]
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            assert "moverank_passage" not in each.node.get_content(metadata_mode=mode)
            assert "moverank_highlights" not in each.node.get_content(metadata_mode=mode)
            assert "number" in each.node.get_content(metadata_mode=mode)


def test_without_a_file_words_alone_rank() -> None:
    found = MoverankPostprocessor().postprocess_nodes(_scored(), query_str=world.QUERY)
    assert _ids(found) == world.order_by_words()
