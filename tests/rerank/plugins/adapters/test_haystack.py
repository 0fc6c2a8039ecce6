import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.rerank.plugins.adapters import small_world as world

pytest.importorskip("haystack")
from haystack import Document, Pipeline
from haystack.components.retrievers import InMemoryBM25Retriever
from haystack.core.errors import DeserializationError
from haystack.document_stores.in_memory import InMemoryDocumentStore

from moverank.rerank.plugins.adapters.haystack import MoverankRanker

MODULE = "moverank.rerank.plugins.adapters.haystack"


def _documents() -> list[Document]:
    return [
        Document(id=key, content=text, meta={"number": number}, score=0.5)
        for number, (key, text) in enumerate(world.TEXTS.items())
    ]


def _ids(found: dict[str, Any]) -> list[str]:
    return [document.id for document in found["documents"]]


def test_documents_come_back_by_distance_as_copies(vectors_file: Path) -> None:
    documents = _documents()
    found = MoverankRanker(str(vectors_file), rank="wmd").run(world.QUERY, documents)
    assert _ids(found) == world.order()
    assert documents == _documents()
    *ranked, last = found["documents"]
    assert [document.score for document in ranked] == [pytest.approx(1 / (1 + d)) for d in world.nearest().values()]
    assert [document.meta for document in ranked] == [
        {"number": list(world.TEXTS).index(document.id)} for document in ranked
    ]
    assert last.meta == {"number": 1, "moverank_status": "wordless"}


def test_top_k_of_the_run_replaces_that_of_the_component(vectors_file: Path) -> None:
    ranker = MoverankRanker(str(vectors_file), rank="wmd", top_k=2)
    assert _ids(ranker.run(world.QUERY, _documents())) == world.order()[:2]
    assert _ids(ranker.run(world.QUERY, _documents(), top_k=4)) == world.order()[:4]
    whole = MoverankRanker(str(vectors_file), rank="wmd", top_k=2, keep_rest=True).run(world.QUERY, _documents())
    assert len(whole["documents"]) == len(world.TEXTS)
    assert _ids(whole)[:2] == world.order()[:2]


def test_documents_without_content_and_queries_without_known_words(vectors_file: Path) -> None:
    ranker = MoverankRanker(str(vectors_file), rank="wmd")
    documents = [Document(id="none"), Document(id="dog", content="dog")]
    assert _ids(ranker.run("cat", documents)) == ["dog", "none"]
    found = ranker.run(world.UNKNOWN, documents)
    assert _ids(found) == ["none", "dog"]
    assert [document.meta["moverank_status"] for document in found["documents"]] == ["unranked", "unranked"]
    assert ranker.run(world.QUERY, []) == {"documents": []}


def _pipeline(path: Path) -> Pipeline:
    store = InMemoryDocumentStore()
    store.write_documents(_documents())
    pipeline = Pipeline()
    pipeline.add_component("bm25", InMemoryBM25Retriever(store, top_k=len(world.TEXTS)))
    pipeline.add_component("moverank", MoverankRanker(str(path), rank="wmd", top_k=3))
    pipeline.connect("bm25.documents", "moverank.documents")
    return pipeline


def _inputs(query: str) -> dict[str, Any]:
    return {"bm25": {"query": query}, "moverank": {"query": query}}


def test_in_a_pipeline(vectors_file: Path) -> None:
    pipeline = _pipeline(vectors_file)
    query = " ".join(world.WORDS)
    expected = [key for key in world.order(query) if key != "wordless"][:3]
    found = pipeline.run(_inputs(query))["moverank"]
    assert _ids(found) == expected
    assert found["documents"][0].meta == {"number": list(world.TEXTS).index(expected[0])}
    assert _ids(asyncio.run(pipeline.run_async(_inputs(query)))["moverank"]) == expected


def test_a_pipeline_is_stored_and_loaded(vectors_file: Path) -> None:
    pipeline = Pipeline()
    pipeline.add_component("moverank", MoverankRanker(str(vectors_file), 2, "wmd", keep_rest=True))
    stored = pipeline.dumps()
    assert f"type: {MODULE}.MoverankRanker" in stored
    again = Pipeline.loads(stored, allowed_modules=[MODULE])
    assert again.to_dict() == pipeline.to_dict()
    assert again.to_dict()["components"]["moverank"]["init_parameters"] == {
        "ranker": str(vectors_file), "top_k": 2, "rank": "wmd", "keep_rest": True, "highlight": False, "passage": None
    }  # fmt: skip
    inputs = {"moverank": {"query": world.QUERY, "documents": _documents()}}
    assert _ids(again.run(inputs)["moverank"]) == _ids(pipeline.run(inputs)["moverank"])
    with pytest.raises(DeserializationError, match="moverank"):  # Haystack loads only modules that are allowed
        Pipeline.loads(stored)


def test_creation_reads_nothing_and_warm_up_loads_once(tmp_path: Path, vectors_file: Path) -> None:
    path = tmp_path / "words.txt"
    ranker = MoverankRanker(str(path), rank="wmd")
    path.write_bytes(vectors_file.read_bytes())
    ranker.warm_up()
    path.unlink()
    ranker.warm_up()
    assert _ids(ranker.run(world.QUERY, _documents())) == world.order()


def test_invalid_arguments_are_named(vectors_file: Path) -> None:
    with pytest.raises(ValueError, match="ranker must be a string"):
        MoverankRanker(vectors_file)  # type: ignore[arg-type]
    message = "top_k must be a whole number of 1 or more, or None for all, not 0"
    with pytest.raises(ValueError, match=message):
        MoverankRanker("words.txt", top_k=0)
    with pytest.raises(ValueError, match=message):
        MoverankRanker(str(vectors_file), rank="wmd").run(world.QUERY, _documents(), top_k=0)


def test_the_first_documents_have_highlights(vectors_file: Path) -> None:
    ranker = MoverankRanker(str(vectors_file), top_k=2, keep_rest=True, highlight=True, passage=2)
    again = MoverankRanker.from_dict(ranker.to_dict())
    assert (again.highlight, again.passage) == (True, 2)
    found = ranker.run(world.QUERY, _documents())["documents"]
    for document in found[:2]:
        for one in document.meta["moverank_highlights"]:
            assert document.content[one["start"] : one["end"]] == one["word"]
        passage = document.meta["moverank_passage"]
        assert document.content[passage["start"] : passage["end"]] == passage["text"]
    assert all("moverank_highlights" not in document.meta for document in found[2:])


def test_without_a_file_words_alone_rank() -> None:
    ranker = MoverankRanker.from_dict(MoverankRanker().to_dict())
    assert _ids(ranker.run(world.QUERY, _documents())) == world.order_by_words()
