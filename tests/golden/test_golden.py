"""A collection of an earlier release opens, gives the same results, and can be changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection
from moverank.indexer.maintenance.check import check_collection
from moverank.rerank.words.tokenizer import FOLDED, PLAIN
from tests.golden.make import DIRECTORY, QUERIES, results
from tests.golden.unpacking import unpack
from tests.indexer.commands.program import Call, program
from tests.indexer.world import document
from tests.postgres_store import database_in

_RANKINGS: tuple[list[str], ...] = (
    [],
    ["--rank", "wmd"],
    ["--rank", "pwmd"],
    ["--rank", "bm25"],
    ["--depth", "9"],
    ["--where", "n<9"],
)
_CACHING = ("pwmd", "bm25:stem=english", "pwmd:weights=tfidf+cosine", "pwmd:proximity=empirical")
ARCHIVES = sorted(DIRECTORY.glob("collection-*.tar.xz"))


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs `moverank` with arguments."""
    return program(monkeypatch, capsys)


def _unpacked(archive: Path, directory: Path) -> Path:
    unpack(archive, directory)
    return directory / "golden"


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_a_collection_of_an_earlier_release_is_usable(archive: Path, tmp_path: Path) -> None:
    _unpacked(archive, tmp_path)
    expected = DIRECTORY / archive.name.replace("collection-", "answers-").replace(".tar.xz", ".json")
    with Collection.open(tmp_path / "golden") as collection:
        assert results(collection) == json.loads(expected.read_text())
        assert check_collection(collection.path).sentences() == ()
        collection.index([document("new", "ant bee cat")])
        assert collection.search("ant bee cat", k=1).hits[0].key == "new"
        assert collection.info()["documents"] == 30
        collection.refit()
    assert check_collection(tmp_path / "golden").sentences() == ()


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_a_collection_of_an_earlier_release_moves_to_the_newest_rule(archive: Path, tmp_path: Path) -> None:
    """Its words are in ASCII, which all rules split alike: the answers stay."""
    expected = json.loads(
        (DIRECTORY / archive.name.replace("collection-", "answers-").replace(".tar.xz", ".json")).read_text()
    )
    with Collection.open(_unpacked(archive, tmp_path)) as collection:
        former = collection.settings
        assert former.tokenizer_version == PLAIN
        collection.refit(language="en")
        now = collection.settings
        assert (now.tokenizer_version, now.language, now.stop_words) == (FOLDED, "en", former.stop_words)
        assert now.specification == former.specification
        assert results(collection) == expected
    assert check_collection(tmp_path / "golden").sentences() == ()


def test_derived_files_of_an_earlier_version_are_opened_and_not_made_again(tmp_path: Path) -> None:
    """A collection of the same documents, searched with `_CACHING` when caches had two formats, one of them `.npz`."""
    golden = _unpacked(DIRECTORY / "caches-0.1.0.tar.xz", tmp_path)
    derived = [path for path in golden.rglob("*") if path.is_file() and path.name not in ("collection.db", "lock")]
    names = {path.name.partition("-")[0] for path in derived}
    assert {"cached", "sample", "meta.json", "weights", "first_stage.faiss", "vectors.npy", "embedding.json"} <= names
    inodes = {path: path.stat().st_ino for path in derived}
    with Collection.open(golden) as collection:
        assert results(collection) == json.loads((DIRECTORY / "answers-0.1.0.json").read_text())
        for rank in _CACHING:
            assert collection.search(QUERIES[0], rank=rank).hits
    assert {path: path.stat().st_ino for path in derived if path.exists()} == inodes


@pytest.mark.usefixtures("postgres")
@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_a_collection_moves_to_postgresql_and_back(call: Call, archive: Path, tmp_path: Path) -> None:
    first, back = _unpacked(archive, tmp_path), tmp_path / "back"
    expected = _answers(call, first)
    there, again = (database_in(tmp_path / name) for name in ("there", "again"))
    for source, target in ((first, there), (there, back), (back, again)):
        assert call("copy", source, target, "--json").json["revision"] == 3
        assert _answers(call, target) == expected
        assert call("check", "-i", target).out == "nothing is wrong\n"


def _answers(call: Call, place: str | Path) -> list[Any]:
    """Return what commands print of a collection, without times, and without what depends on its derived files."""
    lines = [
        *(["search", query, "-k", "9", *options] for query in QUERIES for options in _RANKINGS),
        ["similar", "d5", "-k", "4"],
        ["explain", QUERIES[0], "d5"],
        ["show", "d3"],
    ]
    found = [call(*line, "-i", place, "--json").json for line in lines]
    for one in found:
        for name in ("seconds", "counts"):
            one.pop(name, None)
    texts = [call(*line, "-i", place).out for line in (["list"], ["export"], ["pairs", "--within", "9", "-k", "7"])]
    return [*found, *texts]
