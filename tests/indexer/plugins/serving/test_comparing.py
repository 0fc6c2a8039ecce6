"""Comparisons over HTTP are those of the library, also through the client."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection, Document, Evidence, Part, Reranker, UnknownKey, UsageError, compare
from moverank.indexer.plugins.evidence.compared_texts import size_with
from moverank.indexer.plugins.serving.client import RemoteCollection
from moverank.indexer.search.searcher import Searcher
from moverank.rerank.errors import TooLarge
from tests.indexer.plugins.serving.pages_world import make_forum, pages_server, thread
from tests.indexer.plugins.serving.running import RunningServer

CLAIM = "The dog drinks wine. A late train in 2020."
SOURCES: list[Any] = ["A cat and cheese, no wine", {"title": "Train", "text": "the bus of 12 March 2020"}]


def test_the_answer_is_that_of_the_library(server: RunningServer, pets: Path) -> None:
    answer = server.ask("/collections/pets/compare", {"claim": CLAIM, "sources": SOURCES}).json
    expected = Reranker.load(pets).evidence(CLAIM, SOURCES)
    assert Evidence.from_dict(answer) == expected
    assert answer["sources"] == ["0", "1"]
    assert answer["revision"] >= 1
    changed = server.ask("/collections/pets/changes", {"old": CLAIM, "new": "A late bus. " + CLAIM}).json
    assert changed.items() >= Reranker.load(pets).changes(CLAIM, "A late bus. " + CLAIM).to_dict().items()


def test_stored_documents_are_sources(server: RunningServer, pets: Path) -> None:
    answer = server.ask("/collections/pets/compare", {"claim": CLAIM, "keys": ["t1", "t2"]}).json
    with Collection.open(pets) as collection:
        assert Evidence.from_dict(answer) == collection.compare(CLAIM, ["t1", "t2"])
    assert answer["sources"] == ["t1", "t2"]


def test_the_client_returns_the_same(server: RunningServer, pets: Path) -> None:
    remote, reranker = RemoteCollection(server.url, "pets", None), Reranker.load(pets)
    document = Document("", "Train", (Part("the bus of 12 March 2020"),))
    assert remote.compare(CLAIM, sources=[document], tau=0.5) == reranker.evidence(CLAIM, [document], 0.5)
    assert remote.compare(CLAIM, sources=document) == reranker.evidence(CLAIM, [document])
    assert remote.compare("dog", sources="A dog") == reranker.evidence("dog", "A dog")
    with Collection.open(pets) as collection:
        some: list[tuple[list[str], Any]] = [
            (["t1", "t2"], ()),
            ([], "A dog"),
            (["t1"], ["A dog", replace(document, key="t1")]),
        ]
        for keys, sources in some:
            found = remote.compare(CLAIM, keys, 0.5, sources=sources)
            assert found == collection.compare(CLAIM, keys, 0.5, sources=sources)
        for new, tau in ((document, None), ("A late bus. " + CLAIM, 0.5)):
            found_changes = remote.changes(CLAIM, new, tau)
            assert found_changes == collection.changes(CLAIM, new, tau) == reranker.changes(CLAIM, new, tau)
    with pytest.raises(UnknownKey):
        remote.compare(CLAIM, keys=["gone"])
    with pytest.raises(UsageError, match="at least one source"):
        remote.compare(CLAIM)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keys": "t1"}, "keys must be a list"),
        ({"keys": [1]}, "keys must be strings"),
        ({"sources": {"a": "dog"}}, "sources must be a list"),
        ({"sources": 5}, "a query is a text or a Document"),
        ({"keys": ["t1", "t2", "t1"]}, "2 sources have the key 't1'"),
        ({"sources": "dog", "tau": float("nan")}, "tau must be a number of 0 or more"),
    ],
)
def test_the_client_refuses_what_the_library_does(
    server: RunningServer, pets: Path, arguments: Any, message: str
) -> None:
    with Collection.open(pets) as collection:
        for one in (collection, RemoteCollection(server.url, "pets", None)):
            with pytest.raises(UsageError, match=message):
                one.compare(CLAIM, **arguments)
            if "tau" in arguments:
                with pytest.raises(UsageError, match=message):
                    one.changes(CLAIM, CLAIM, arguments["tau"])


def test_no_document_is_read_beyond_the_limit_of_characters() -> None:
    assert size_with([Document("a", "ab", (Part("cde"),))], 10) == 5
    assert size_with([Document("a", "ab", (Part("cde"),))], None, 9) == 14
    with pytest.raises(TooLarge, match="more than 10 characters together"):
        size_with([Document("a", "ab", (Part("cde"),))], 10, 6)


def test_a_key_may_not_be_the_index_of_a_text(tmp_path: Path) -> None:
    place = make_forum(tmp_path, [thread("0", "Pets", "The dog and the cat.")])
    with pages_server({"forum": place}) as pages:
        problem = pages.api("/collections/forum/compare", {"claim": CLAIM, "sources": ["dog"], "keys": ["0"]})
    assert problem["status"] == 422
    assert "2 sources have the key '0'" in problem["detail"]


def test_comparisons_count_no_document_frequencies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("they are counted")

    monkeypatch.setattr(Searcher, "document_frequencies", fail)
    place = make_forum(tmp_path)
    assert compare(CLAIM, SOURCES, place).covered > 0
    form = {"claim": CLAIM, "source": "the late bus"}
    with pages_server({"forum": place}) as pages:
        assert pages.api("/collections/forum/compare", {"claim": CLAIM, "keys": ["t1", "t2"]})["covered"] > 0
        assert pages.api("/collections/forum/changes", {"old": CLAIM, "new": "the late bus"})["carried"] > 0
        for versions in ({}, {"versions": "1"}):
            assert pages.post("/compare", form | versions).status == 200


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({"claim": CLAIM}, 422, "give at least one source"),
        ({"claim": "the", "sources": ["dog"]}, 422, "the claim has no word to compare"),
        ({"claim": CLAIM, "keys": ["gone"]}, 404, "gone"),
        ({"claim": CLAIM, "sources": ["dog"], "tau": -1}, 422, "tau"),
        ({"claim": CLAIM, "sources": ["dog"], "tua": 1}, 422, "tua is no field"),
        ({"claim": CLAIM, "sources": ["dog"] * 1001}, 422, "at most 1000 sources"),
        ({"claim": CLAIM, "keys": ["t1", "t1"]}, 422, "2 sources have the key 't1'"),
        ({"claim": CLAIM, "sources": ["dog " * 200_000, "cat " * 200_000]}, 413, "characters together"),
        ({"claim": 5, "sources": ["dog"]}, 422, "claim"),
    ],
)
def test_mistakes_have_a_status_and_a_sentence(
    server: RunningServer, body: dict[str, Any], status: int, sentence: str
) -> None:
    reply = server.ask("/collections/pets/compare", body)
    assert reply.status == status
    assert sentence in reply.json["detail"]
