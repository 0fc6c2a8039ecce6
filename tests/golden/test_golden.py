"""A collection of an earlier release opens, gives the same results, and can be changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection
from moverank.indexer.maintenance.check import check_collection
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


@pytest.mark.plugin("postgres")
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
        if "largest_error" in one:  # a bound of the snapshot's arrays, whose last digits are those of its own fit
            one["largest_error"] = round(one["largest_error"], 5)
    texts = [call(*line, "-i", place).out for line in (["list"], ["export"], ["pairs", "--within", "9", "-k", "7"])]
    return [*found, *texts]
