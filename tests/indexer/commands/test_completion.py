"""Shell completion of values, by the protocol of bash."""

from collections.abc import Callable
from pathlib import Path

import pytest

from moverank.indexer.commands.shared_options import SETTINGS
from moverank.indexer.reading import DOCUMENT_FORMATS, THREAD_FORMATS
from moverank.indexer.values.ranking_spec import ranking_names
from tests.indexer.commands.program import Call

Complete = Callable[..., list[str]]


@pytest.fixture
def complete(call: Call, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """Returns what bash would list after some words, the last of which is incomplete."""

    def values(*words: str | Path) -> list[str]:
        monkeypatch.setenv("_MOVERANK_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(map(str, ("moverank", *words))))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        answer = call()
        assert (answer.code, answer.err) == (0, "")
        return answer.out.split()

    return values


def test_rankings(complete: Complete) -> None:
    assert complete("search", "cat", "--rank", "") == list(ranking_names())
    assert complete("search", "cat", "--distance", "wm") == ["wmd"]
    assert complete("search", "cat", "--rank", "wmd+0.5*b") == ["wmd+0.5*bow", "wmd+0.5*bm25"]
    assert complete("pairs", "--rank", "pw") == ["pwmd"]
    assert complete("index", "x", "--rank", "nope") == []


@pytest.mark.plugin("laboratory")
def test_methods_of_experiments(complete: Complete) -> None:
    assert complete("evaluate", "knn", "--method", "bm") == ["bm25"]


def test_formats_are_those_of_the_command(complete: Complete) -> None:
    assert complete("index", "x", "--format", "") == list(DOCUMENT_FORMATS)
    assert complete("threads", "x", "--format", "") == list(THREAD_FORMATS)
    assert complete("index", "x", "--format", "js") == ["jsonl"]
    assert complete("search", "--queries", "x", "--format", "t") == ["text", "trec"]


def test_names_of_settings(complete: Complete) -> None:
    assert complete("index", "x", "--setting", "ti") == ["title_weight="]
    assert len(complete("threads", "x", "--setting", "")) == len(SETTINGS)


def test_fields_and_keys_are_those_of_the_collection(complete: Complete, collection: Path) -> None:
    assert complete("search", "cat", "-i", collection, "--where", "") == ["key=", "label=", "source=", "year="]
    assert complete("search", "cat", "-i", collection, "--where", "y") == ["year="]
    assert complete("similar", "-i", collection, "") == [f"d{i}" for i in range(10)]
    assert complete("explain", "-i", collection, "cat", "d7") == ["d7"]
    assert complete("show", "-i", collection, "d7") == ["d7"]
    assert complete("remove", "-i", collection, "d1", "e") == []
    assert complete("remove", "-i", collection, "--where", "!l") == ["!label"]


def test_sources_are_those_of_the_collection(complete: Complete, call: Call, collection: Path, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("cat")
    assert call("index", tmp_path / "more.txt", "-i", collection).code == 0
    assert complete("remove", "-i", collection, "--source", "") == ["unknown", str(tmp_path / "more.txt")]
    assert complete("index", "-i", collection, "x", "--replaces", "un") == ["unknown"]


@pytest.mark.plugin("serving", "shards")
def test_topics_and_commands(complete: Complete) -> None:
    assert complete("help", "s") == [
        "safety",
        "search",
        "serve",
        "server",
        "settings",
        "shards",
        "show",
        "similar",
        "sources",
    ]


@pytest.mark.sqlite("damages the file")
def test_a_collection_that_cannot_be_read_has_no_values(complete: Complete, collection: Path) -> None:
    assert complete("similar", "-i", collection / "nowhere", "d") == []
    (collection / "collection.db").write_bytes(b"no database" * 99)
    assert complete("similar", "-i", collection, "d") == []
    assert complete("search", "cat", "-i", collection, "--where", "") == []
