"""Reranking of texts as other servers offer it, and their own clients against ours."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moverank import Reranker
from tests.indexer.server.running import RunningServer

QUERY = "the dog drinks wine"
TEXTS = ["a train and a bus", "cat and bird", "zzz", "wine with a dog", "cheese"]

# The clients' own warnings: what they do is not ours to mend.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Collect what the clients leave open, before the next test."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def order(pets: Path) -> list[int]:
    """Return the order of the texts by the library."""
    return [hit.candidate or 0 for hit in Reranker.load(pets).rank(QUERY, TEXTS).hits]


def test_text_embeddings_inference(server: RunningServer, pets: Path, order: list[int]) -> None:
    body = {"query": QUERY, "texts": TEXTS, "truncate": True}
    answer = server.ask("/rerank", body).json
    expected = Reranker.load(pets).rank(QUERY, TEXTS)
    assert [one["index"] for one in answer] == order
    assert [one["score"] for one in answer] == [hit.score for hit in expected.hits]
    raw = server.ask("/rerank", body | {"raw_scores": True, "return_text": True}).json
    assert [one["text"] for one in raw] == [TEXTS[i] for i in order]
    assert raw[0]["score"] == pytest.approx(-(expected.hits[0].total or 0))
    assert [one["index"] for one in raw] == order


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_jina_and_cohere(server: RunningServer, order: list[int], version: str) -> None:
    documents: list[Any] = [TEXTS[0], {"text": TEXTS[1]}, *TEXTS[2:4], {"title": "", "text": TEXTS[4]}]
    body = {"model": "any", "query": QUERY, "documents": documents, "top_n": 2, "return_documents": True}
    answer = server.ask(f"/{version}/rerank", body).json
    assert [one["index"] for one in answer["results"]] == order[:2]
    assert answer["results"][0]["document"]["text"] == TEXTS[order[0]]
    scores = [one["relevance_score"] for one in answer["results"]]
    assert 1 >= scores[0] > scores[1] > 0
    assert answer["usage"]["total_tokens"] > 0
    assert answer["model"] == server.ask("/v1/models").json["data"][0]["id"] == "pets"
    whole = server.ask(f"/{version}/rerank", {"query": QUERY, "documents": documents}).json["results"]
    assert [one["index"] for one in whole] == order
    assert "document" not in whole[0]
    by_wmd = server.ask(f"/{version}/rerank", {"query": QUERY, "documents": TEXTS, "rank": "wmd"}).json["results"]
    assert len(by_wmd) == len(TEXTS)


def test_a_query_without_a_known_word_keeps_the_order(server: RunningServer) -> None:
    answer = server.ask("/v1/rerank", {"query": "xyzzy", "documents": TEXTS, "rank": "wmd"}).json["results"]
    assert [one["index"] for one in answer] == list(range(len(TEXTS)))


def test_a_document_without_a_text_comes_last(server: RunningServer, order: list[int]) -> None:
    documents = [{"id": "x"}, *TEXTS]
    results = server.ask("/v1/rerank", {"query": QUERY, "documents": documents}).json["results"]
    assert [one["index"] for one in results if one["index"]][: len(order)] == [i + 1 for i in order]
    (problem,) = (one["problem"] for one in results if "problem" in one)
    assert problem.startswith("document 0: a candidate needs the form")
    assert "problem" in next(one for one in results if not one["index"])
    reply = server.ask("/v1/rerank", {"query": QUERY, "documents": [{"id": "x"}, {}]})
    assert (reply.status, "document 1: a candidate needs the form" in reply.json["detail"]) == (422, True)


@pytest.mark.parametrize("body", [{"query": "a"}, {"query": "a", "documents": []}, {"query": 3, "documents": ["a"]}])
def test_a_bad_request_is_a_problem(server: RunningServer, body: dict[str, Any]) -> None:
    assert server.ask("/v1/rerank", body).status == 422
    assert server.ask("/v1/rerank", {"query": "a", "documents": ["b"] * 1001}).status == 422


@pytest.mark.parametrize(
    ("provider", "path"), [("text-embeddings-inference", "/rerank"), ("jina", "/v1/rerank"), ("cohere", "/v1/rerank")]
)
def test_client_rerankers(server: RunningServer, order: list[int], provider: str, path: str) -> None:
    api = pytest.importorskip("rerankers.models.api_rankers")
    ranker = api.APIRanker("pets", "no-key", provider, verbose=0, url=server.url + path)
    results = ranker.rank(QUERY, TEXTS)
    assert [result.doc_id for result in results.results] == order
    assert results.results[0].score > results.results[-1].score


def test_client_cohere(server: RunningServer, order: list[int]) -> None:
    cohere = pytest.importorskip("cohere")
    for client in (cohere.ClientV2("no-key", base_url=server.url), cohere.Client("no-key", base_url=server.url)):
        answer = client.rerank(model="pets", query=QUERY, documents=TEXTS, top_n=3)
        assert [one.index for one in answer.results] == order[:3]


def test_client_langchain(server: RunningServer, order: list[int]) -> None:
    cohere = pytest.importorskip("langchain_cohere")
    from langchain_core.documents import Document

    compressor = cohere.CohereRerank(model="pets", cohere_api_key="no-key", base_url=server.url, top_n=3)
    documents = [Document(text, metadata={"place": i}) for i, text in enumerate(TEXTS)]
    assert [one.metadata["place"] for one in compressor.compress_documents(documents, QUERY)] == order[:3]


def test_clients_llama_index(server: RunningServer, order: list[int]) -> None:
    tei = pytest.importorskip("llama_index.postprocessor.tei_rerank")
    cohere = pytest.importorskip("llama_index.postprocessor.cohere_rerank")
    from llama_index.core.schema import NodeWithScore, TextNode

    clients = (
        tei.TextEmbeddingInference(base_url=server.url, top_n=3),
        cohere.CohereRerank(base_url=server.url, api_key="no-key", model="pets", top_n=3),
    )
    for client in clients:
        nodes = [NodeWithScore(node=TextNode(text=text, id_=str(i)), score=1.0) for i, text in enumerate(TEXTS)]
        found = client.postprocess_nodes(nodes, query_str=QUERY)
        assert [int(one.node.node_id) for one in found] == order[:3]


def test_clients_haystack(server: RunningServer, order: list[int]) -> None:
    cohere = pytest.importorskip("haystack_integrations.components.rankers.cohere")
    jina = pytest.importorskip("haystack_integrations.components.rankers.jina")
    from haystack import Document
    from haystack.utils import Secret

    key = Secret.from_token("no-key")
    clients = (
        cohere.CohereRanker(model="pets", top_k=3, api_key=key, api_base_url=server.url),
        jina.JinaRanker(model="pets", top_k=3, api_key=key, base_url=f"{server.url}/v1/rerank"),
    )
    for client in clients:
        if hasattr(client, "warm_up"):
            client.warm_up()
        documents = [Document(content=text, id=str(i)) for i, text in enumerate(TEXTS)]
        assert [int(one.id) for one in client.run(query=QUERY, documents=documents)["documents"]] == order[:3]
