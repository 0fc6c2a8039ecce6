"""`Reranker.evidence`, `Reranker.changes` and `compare`: arguments as people give them."""

import re
from pathlib import Path
from typing import Any

import pytest

from moverank import (
    Collection,
    Document,
    Embedding,
    Evidence,
    NoKnownWords,
    OptionError,
    OutOfTime,
    Part,
    Reranker,
    Settings,
    Span,
    TextChanges,
    UnknownKey,
    UsageError,
    compare,
)
from moverank.indexer.operations.operation_registry import PLUG_INS, operation_named
from moverank.rerank.runtime.deadline import stopping
from tests.indexer.world import TABLE, WORDS
from tests.rerank.encoders.packages import write_installed

EMBEDDING = Embedding.of(WORDS, [TABLE[word] for word in WORDS])
RERANKER = Reranker(EMBEDDING)


def test_claims_and_sources_are_texts_records_and_documents() -> None:
    texts: list[Any] = [
        "ant bee",
        {"text": "ant bee"},
        {"title": "ant", "text": "bee"},
        Document("k", "ant", (Part("bee"),)),
        {"title": "ant", "body": "bee", "comments": [{"text": "cat", "rank": 1}]},
    ]
    for text in texts:
        assert RERANKER.evidence("ant bee", [text], 0.0).covered == 1.0
        assert RERANKER.evidence(text, "ant bee cat", 0.0).covered == 1.0
    assert RERANKER.evidence("ant", Document("k", "ant"), 0.0).sources == ("k",)
    assert RERANKER.evidence("ant", {"a": "bee", "b": "ant"}, 0.0).carried[0].key == "b"
    assert [RERANKER.evidence("ant", texts).sources] == [("0", "1", "2", "k", "4")]


def test_places_are_those_of_the_parts() -> None:
    document = Document("k", "ant", (Part("bee"), Part("not a cat, dog")))
    evidence = RERANKER.evidence(document, "dog bee ant", 0.0)
    assert [one.span for one in evidence.carried] == [Span(None, 0, 3), Span(0, 0, 3), Span(1, 11, 14)]
    assert [one.span for one in evidence.uncovered] == [Span(1, 6, 9)]


def test_a_title_at_the_beginning_of_a_text_counts_once_and_a_shown_one_does_not() -> None:
    assert RERANKER.evidence(Document("k", "Ant", (Part("ant bee"),)), "ant bee").units == 2
    assert RERANKER.evidence(Document("k", "ant", (Part("bee"),), title_counts=False), "ant bee").units == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("ant", []), UsageError, "at least one source"),
        (("ant", {}), UsageError, "at least one source"),
        (("ant", 5), UsageError, "sources"),
        (("ant", [5]), UsageError, "text 0"),
        ((5, ["ant"]), UsageError, "the claim"),
        (("x", [Document("a", "x"), Document("a", "x")]), UsageError, "2 sources have the key 'a'"),
        (("x", ["ant", {"key": "0", "text": "bee"}]), UsageError, "2 sources have the key '0'"),
        (("", ["ant"]), NoKnownWords, "no word to compare"),
        (("ant", ["ant"], -1), UsageError, "tau must be a number of 0 or more"),
        (("ant", ["ant"], "x"), UsageError, "tau must be a number"),
        (("ant", ["ant"], float("inf")), (UsageError, OptionError), "tau must be a number of 0 or more"),
    ],
)
def test_invalid_arguments_are_named(arguments: tuple[Any, ...], error: Any, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        RERANKER.evidence(*arguments)


def test_versions_are_texts_and_documents() -> None:
    changes = RERANKER.changes({"title": "ant", "text": "bee"}, Document("k", "ant", (Part("cat"),)), 0.0)
    assert isinstance(changes, TextChanges)
    assert changes.counts == {"kept": 1, "moved": 0, "changed": 0, "new": 1, "dropped": 1}
    with pytest.raises(UsageError, match="the new version"):
        RERANKER.changes("ant", 5)  # type: ignore[arg-type]


def test_compare_takes_vectors_of_an_embedding_a_file_and_a_collection(tmp_path: Path) -> None:
    rows = "".join(f"{word} {' '.join(map(str, TABLE[word]))}\n" for word in WORDS)
    (tmp_path / "vectors.txt").write_text(rows)
    with Collection.create(tmp_path / "index", Settings(str(tmp_path / "vectors.txt"))) as collection:
        collection.index([Document("a", "ant", (Part("a bee"),)), Document("b", parts=(Part("cat"),))])
        found = collection.compare("ant cat dog", ["a", "b"], tau=0.5)
        assert found == collection.compare(Document("", parts=(Part("ant cat dog"),)), ["a", "b"], 0.5)
        with pytest.raises(UnknownKey):
            collection.compare("ant", ["c"])
        with pytest.raises(UsageError, match="at least one source"):
            collection.compare("ant", [])
        with pytest.raises(UsageError, match="2 sources have the key 'a'"):
            collection.compare("ant", ["a", "b", "a"])
        assert collection.compare("ant cat dog", ["b"], 0.5, sources="ant bee").sources == ("0", "b")
        with pytest.raises(UsageError, match="keys"):
            collection.compare("ant", "a")
    sources = {"a": {"title": "ant", "text": "a bee"}, "b": "cat"}
    for vectors in (EMBEDDING, tmp_path / "vectors.txt", tmp_path / "index"):
        evidence = compare("ant cat dog", sources, vectors, tau=0.5)
        assert isinstance(evidence, Evidence)
        assert evidence == found


def test_no_package_replaces_or_doubles_the_operations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = PLUG_INS.names()
    points = dict.fromkeys(before, "gone:Class")
    monkeypatch.syspath_prepend(write_installed(tmp_path, "moverank_bad", points, "operations"))
    monkeypatch.setattr(PLUG_INS, "_loaded", {})
    assert PLUG_INS.names() == before
    assert all(name == operation_named(name).NAME for name in before)
    assert RERANKER.evidence("ant", "ant").covered == 1.0
    assert RERANKER.changes("ant", "ant").carried == 1.0


def test_time_ends_a_comparison() -> None:
    with stopping(lambda: True), pytest.raises(OutOfTime):
        RERANKER.evidence("ant. bee", "ant bee")
    with stopping(lambda: True), pytest.raises(OutOfTime):
        RERANKER.changes("ant bee", "cat dog")
