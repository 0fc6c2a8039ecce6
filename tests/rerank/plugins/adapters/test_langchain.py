import asyncio
import pickle
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection, Part, Reranker, Settings
from moverank import Document as Stored
from tests.rerank.plugins.adapters import small_world as world

pytest.importorskip("langchain_core")
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import ValidationError

from moverank.rerank.plugins.adapters.langchain import MoverankCompressor, MoverankRetriever


def _documents() -> list[Document]:
    return [
        Document(id=key, page_content=text, metadata={"number": number, "nested": {"key": key}})
        for number, (key, text) in enumerate(world.TEXTS.items())
    ]


def _ids(documents: Any) -> list[str]:
    return [document.id for document in documents]


def test_documents_come_back_by_distance_as_copies(ranker: Reranker) -> None:
    documents = _documents()
    found = MoverankCompressor(ranker=ranker).compress_documents(documents, world.QUERY)
    assert _ids(found) == world.order()
    assert documents == _documents()
    for document in found:
        metadata = dict(document.metadata)
        score = metadata.pop("relevance_score")
        if document.id == "wordless":
            assert metadata.pop("moverank_status") == "wordless"
            assert 0 < score < 1e-3
        else:
            assert score == pytest.approx(1 / (1 + world.distance(world.QUERY, document.page_content)))
        original = documents[list(world.TEXTS).index(str(document.id))]
        assert (document.page_content, metadata) == (original.page_content, original.metadata)


def test_top_n_leaves_the_rest_out_or_flags_it(ranker: Reranker) -> None:
    documents = [*_documents(), *(Document(page_content="cat dog sleeps roof " * i) for i in range(1, 30))]
    top = MoverankCompressor(ranker=ranker, top_n=2).compress_documents(documents, world.QUERY)
    assert _ids(top) == world.order()[:2]
    found = MoverankCompressor(ranker=ranker, top_n=2, keep_rest=True).compress_documents(documents, world.QUERY)
    assert len(found) == len(documents)
    assert _ids(found)[:2] == _ids(top)
    assert [document.metadata.get("moverank_status") for document in found[:2]] == [None, None]
    assert "pruned" in {document.metadata.get("moverank_status") for document in found[2:]}
    scores = [document.metadata["relevance_score"] for document in found]
    assert scores == sorted(scores, reverse=True)


def test_a_query_without_known_words_keeps_the_order(ranker: Reranker) -> None:
    found = MoverankCompressor(ranker=ranker, top_n=3).compress_documents(_documents(), world.UNKNOWN)
    assert _ids(found) == list(world.TEXTS)[:3]
    assert {document.metadata["moverank_status"] for document in found} == {"unranked"}


def test_in_a_retrieval_pipeline(ranker: Reranker) -> None:
    pytest.importorskip("langchain_classic")
    from langchain_classic.retrievers import ContextualCompressionRetriever

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    store.add_documents(_documents())
    pipeline = ContextualCompressionRetriever(
        base_compressor=MoverankCompressor(ranker=ranker, top_n=3),
        base_retriever=store.as_retriever(search_kwargs={"k": len(world.TEXTS)}),
    )
    assert _ids(pipeline.invoke(world.QUERY)) == world.order()[:3]
    assert _ids(asyncio.run(pipeline.ainvoke(world.QUERY))) == world.order()[:3]
    assert {"number", "nested", "relevance_score"} == set(pipeline.invoke(world.QUERY)[0].metadata)
    narrow = ContextualCompressionRetriever(
        base_compressor=MoverankCompressor(ranker=ranker), base_retriever=store.as_retriever(search_kwargs={"k": 0})
    )
    assert narrow.invoke(world.QUERY) == []


def test_as_a_runnable(ranker: Reranker) -> None:
    compressor = MoverankCompressor(ranker=ranker, top_n=1)
    chain = RunnableLambda(lambda query: compressor.compress_documents(_documents(), query)) | RunnableLambda(_ids)
    assert chain.batch([world.QUERY, "dog cat"]) == [["same"], ["pets"]]


def test_a_path_is_loaded_and_pickled(vectors_file: Path) -> None:
    compressor = MoverankCompressor(ranker=str(vectors_file), top_n=3)
    again = pickle.loads(pickle.dumps(compressor))  # noqa: S301 - made here
    assert _ids(again.compress_documents(_documents(), world.QUERY)) == world.order()[:3]


def test_invalid_arguments_are_named(ranker: Reranker) -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        MoverankCompressor(ranker=ranker, top_n=0)
    with pytest.raises(ValueError, match=r"the ranker must be a moverank\.Reranker or the path .*, not 5"):
        MoverankCompressor(ranker=5)
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        MoverankCompressor(ranker=ranker, top_k=5)


def test_the_retriever_returns_stored_documents(collection: Collection) -> None:
    retriever = MoverankRetriever(collection=collection, k=3, rank="wmd")
    found = retriever.invoke(world.QUERY)
    assert _ids(found) == world.order()[:3]
    assert found[0].page_content == world.TEXTS["same"]
    assert found[0].metadata == {"number": 3, "title": "The same", "label": "s", "relevance_score": pytest.approx(1)}
    scores = [document.metadata["relevance_score"] for document in found]
    assert scores == [pytest.approx(1 / (1 + distance)) for distance in list(world.nearest().values())[:3]]


def test_the_retriever_takes_search_options(collection: Collection) -> None:
    retriever = MoverankRetriever(collection=collection, options={"where": {"label": "r"}})
    assert _ids(retriever.invoke(world.QUERY)) == ["roofs"]


def test_the_retriever_is_asynchronous_and_composable(collection_path: Path) -> None:
    retriever = MoverankRetriever(collection=collection_path, k=1)
    queries = [text for key, text in world.TEXTS.items() if key != "wordless"] * 5

    async def _all() -> list[Any]:
        return list(await asyncio.gather(*(retriever.ainvoke(query) for query in queries)))

    assert [_ids(found) for found in asyncio.run(_all())] == [_ids(retriever.invoke(query)) for query in queries]
    assert (retriever | RunnableLambda(_ids)).invoke(world.QUERY) == ["same"]
    again = pickle.loads(pickle.dumps(retriever))  # noqa: S301 - made here
    assert _ids(again.invoke(world.QUERY)) == ["same"]


def test_the_retriever_finds_nothing_for_unknown_words(collection: Collection) -> None:
    assert MoverankRetriever(collection=collection).invoke(world.UNKNOWN) == []


def test_the_retriever_needs_a_collection() -> None:
    with pytest.raises(ValueError, match=r"the collection must be a moverank\.Collection or the path of one, not 5"):
        MoverankRetriever(collection=5)


def test_the_first_documents_have_highlights(ranker: Reranker, collection: Collection) -> None:
    documents = [
        Document(page_content="A plug, hot."),
        Document(page_content="plug cat"),
        Document(page_content="roof"),
    ]
    compressor = MoverankCompressor(ranker=ranker, top_n=2, keep_rest=True, highlight=True, passage=2)
    found = compressor.compress_documents(documents, world.QUERY)
    for document in found[:2]:
        for one in document.metadata["moverank_highlights"]:
            assert document.page_content[one["start"] : one["end"]].lower() == one["word"]
        passage = document.metadata["moverank_passage"]
        assert document.page_content[passage["start"] : passage["end"]] == passage["text"]
    assert {one["word"] for one in found[0].metadata["moverank_highlights"]} >= {"plug", "hot"}
    assert not {"moverank_highlights", "moverank_passage"} & set(found[2].metadata)
    plain = MoverankCompressor(ranker=ranker).compress_documents(documents, world.QUERY)
    assert all("moverank_highlights" not in document.metadata for document in plain)
    stored = MoverankRetriever(collection=collection, k=1, options={"highlight": True}).invoke(world.QUERY)[0]
    assert [one["word"] for one in stored.metadata["moverank_highlights"] if one["part"] == 0] == world.QUERY.split()


def test_places_of_a_stored_document_count_in_its_whole_text(vectors_file: Path, tmp_path: Path) -> None:
    stored = Stored("d", "Hot roof", (Part("A cat sleeps."), Part("\n"), Part("The plug is hot, hot.")))
    with Collection.create(tmp_path / "parts.index", Settings(embedding=str(vectors_file))) as collection:
        collection.index([stored])
        for options in ({"highlight": True, "passage": 2}, {"passage": 2}, {"highlight": True}):
            retriever = MoverankRetriever(collection=collection, options=options)
            (found,) = retriever.invoke("hot plug")
            assert found.page_content == "A cat sleeps.\n\n\n\n\nThe plug is hot, hot."
            places = found.metadata.get("moverank_highlights", [])
            assert bool(places) == ("highlight" in options)
            for one in places:
                text = found.metadata["title"] if one["part"] is None else found.page_content
                assert text[one["start"] : one["end"]].lower() == one["word"]
            assert {one["part"] for one in places} == ({None, 0} if places else set())
            passage = found.metadata.get("moverank_passage")
            assert (passage is not None) == ("passage" in options)
            if passage:
                assert found.page_content[passage["start"] : passage["end"]] == passage["text"] != ""
                assert (passage["part"], passage["start"] >= len("A cat sleeps.")) == (0, True)


def test_without_a_file_words_alone_rank() -> None:
    found = MoverankCompressor().compress_documents(_documents(), world.QUERY)
    assert _ids(found) == world.order_by_words()
