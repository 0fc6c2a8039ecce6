"""Reranking of texts as other servers offer it, and their own clients against ours."""

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from moverank import Reranker
from tests.indexer.plugins.serving.running import RunningServer

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


def test_infinity(server: RunningServer, pets: Path, order: list[int]) -> None:
    expected = Reranker.load(pets).rank(QUERY, TEXTS)
    answer = server.ask("/rerank", {"model": "default/not-specified", "query": QUERY, "documents": TEXTS}).json
    assert answer["results"] == [{"index": hit.candidate, "relevance_score": hit.score} for hit in expected.hits]
    assert (answer["object"], answer["model"], sorted(answer["usage"])) == (
        "rerank",
        "pets",
        ["prompt_tokens", "total_tokens"],
    )
    body = {"query": QUERY, "documents": TEXTS, "top_n": 2, "return_documents": True, "raw_scores": True}
    first = server.ask("/rerank", body).json["results"]
    assert [(one["index"], one["document"]) for one in first] == [(i, TEXTS[i]) for i in order[:2]]
    assert first[0]["relevance_score"] == pytest.approx(-(expected.hits[0].total or 0))
    more = {"top_n": 0, "truncate_prompt_tokens": 20, "priority": 0, "max_tokens_per_doc": 3}
    assert server.ask("/rerank", {"query": QUERY, "documents": TEXTS} | more).json["results"] == answer["results"]


@dataclass
class _VllmDocument:
    text: str | None = None
    multi_modal: dict[str, Any] | None = None


@dataclass
class _VllmResult:
    index: int
    document: _VllmDocument
    relevance_score: float


@dataclass
class _VllmAnswer:
    """What vLLM's own model of an answer requires, by its source: a document is an object, and there always."""

    id: str
    model: str
    usage: dict[str, int]
    results: list[_VllmResult]


VLLM: dict[str, Any] = {
    "top_n": 0,
    "truncate_prompt_tokens": -1,
    "mm_processor_kwargs": None,
    "additional_data": None,
    "priority": 0,
    "softmax": None,
    "activation": None,
    "use_activation": True,
}
"""The fields of vLLM's requests that do not say what is ranked, with values that change nothing."""


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_vllm(server: RunningServer, pets: Path, version: str) -> None:
    expected = Reranker.load(pets).rank(QUERY, TEXTS).hits
    body = {"model": "BAAI/bge-reranker-v2-m3", "query": QUERY, "documents": TEXTS, "return_documents": True}
    answer = TypeAdapter(_VllmAnswer).validate_python(server.ask(f"/{version}/rerank", body | VLLM).json)
    assert [(one.index, one.relevance_score) for one in answer.results] == [
        (hit.candidate, hit.score) for hit in expected
    ]
    assert [one.document.text for one in answer.results] == [TEXTS[hit.candidate or 0] for hit in expected]
    assert answer.usage["total_tokens"]


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
@pytest.mark.parametrize("field", ["softmax", "activation", "use_activation"])
def test_scores_without_an_activation_are_refused(server: RunningServer, path: str, field: str) -> None:
    body = {"query": QUERY, "documents": TEXTS}
    assert server.ask(path, body | {field: True}).json["results"] == server.ask(path, body).json["results"]
    reply = server.ask(path, body | {field: False})
    assert (reply.status, reply.json["detail"].split(":")[0]) == (422, field)


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
def test_scores_compare_with_those_of_other_requests_where_the_ranking_has_units(
    server: RunningServer, path: str
) -> None:
    def scores(texts: list[str], **fields: Any) -> tuple[bool, dict[str, float]]:
        answer = server.ask(path, {"query": QUERY, "documents": texts} | fields).json
        assert isinstance(answer["scores_compare"], bool)
        return answer["scores_compare"], {texts[one["index"]]: one["relevance_score"] for one in answer["results"]}

    compare, all_scores = scores(TEXTS, rank="wmd")
    also, few = scores(TEXTS[:2], rank="wmd")
    assert (compare, also) == (True, True)
    assert few == pytest.approx({text: all_scores[text] for text in few})
    compare, all_scores = scores(TEXTS)
    _, few = scores(TEXTS[:2])
    assert not compare
    assert few != pytest.approx({text: all_scores[text] for text in few})


@pytest.mark.parametrize("given", [{}, {"texts": TEXTS, "documents": TEXTS}, {"documents": []}, {"texts": None}])
def test_either_texts_or_documents(server: RunningServer, given: dict[str, Any]) -> None:
    reply = server.ask("/rerank", {"query": QUERY} | given)
    assert reply.status == 422
    assert "documents" in reply.json["detail"]


RECORDS: list[Any] = [
    {"title": "cat and bird", "note": "wine with a dog", "text": "a train and a bus", "year": 3},
    {"title": "wine and dog", "note": ["cheese", "train"], "text": "zzz"},
    {"title": "cheese", "note": None, "text": "the dog"},
    "red wine",
]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_rank_fields_are_what_records_are_ranked_by(server: RunningServer, version: str) -> None:
    def results(documents: list[Any], **fields: Any) -> list[dict[str, Any]]:
        body = {"query": QUERY, "documents": documents, "rank": "wmd"} | fields
        found: list[dict[str, Any]] = server.ask(f"/{version}/rerank", body).json["results"]
        return found

    notes = ["wine with a dog", "cheese train", "", "red wine"]
    by_note = results(RECORDS, rank_fields=["note"])
    assert [one["index"] for one in by_note] == [one["index"] for one in results(notes)]
    assert [one["relevance_score"] for one in by_note] == [one["relevance_score"] for one in results(notes)]
    assert by_note[-1]["problem"] == "document 2 has none of the rank_fields note"
    assert results(RECORDS, rank_fields=["title", "text"]) == results(RECORDS)
    both = [
        {"text": "wine with a dog a train and a bus"},
        {"text": "cheese train zzz"},
        {"text": "the dog"},
        "red wine",
    ]
    assert results(RECORDS, rank_fields=["note", "text"]) == results(both)
    assert server.ask(f"/{version}/rerank", {"query": "a", "documents": ["b"], "rank_fields": []}).status == 422
    reply = server.ask(f"/{version}/rerank", {"query": "dog", "documents": RECORDS[:2], "rank_fields": ["body"]})
    assert (reply.status, reply.json["detail"]) == (422, "document 1 has none of the rank_fields body")


@pytest.mark.parametrize("depth", [100, 300, 800])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("more", ['"rank_fields": ["a"]', '"return_documents": true'])
def test_a_record_that_is_nested_too_deeply(
    server: RunningServer, depth: int, opening: str, closing: str, more: str
) -> None:
    nested = f'{{"text": "dog", "a": {opening * depth}1{closing * depth}}}'
    reply = server.ask("/v1/rerank", f'{{"query": "dog", "documents": ["cat", {nested}], {more}}}'.encode())
    assert (reply.status, "document 1 is nested too deeply" in reply.json["detail"]) == (422, True)


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
@pytest.mark.parametrize("field", ["top_k", "return_embeddings", "max_distance"])
def test_a_field_that_could_change_results_is_refused(server: RunningServer, path: str, field: str) -> None:
    reply = server.ask(path, {"query": QUERY, "documents": TEXTS, field: 1})
    assert (reply.status, reply.json["detail"].split(":")[0]) == (422, f"{field} is no field of this request")


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


def test_weights_beyond_the_range_of_scores_are_refused(server: RunningServer) -> None:
    """The total was infinite, its score 0, and the raw score of that a division by zero."""
    body = {"query": "dog", "texts": ["dog", "cat"], "raw_scores": True}
    reply = server.ask("/rerank", body | {"rank": "1e308*wmd+1e308*bm25"})
    assert (reply.status, reply.json["error"]) == (422, "UsageError")
    assert server.ask("/rerank", body | {"rank": "1e6*wmd+1e6*bm25"}).status == 200


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
