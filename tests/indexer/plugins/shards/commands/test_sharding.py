"""The commands `shards ...`, and others on a file that describes shards."""

from pathlib import Path

import pytest

from tests.indexer.commands.program import Call
from tests.indexer.plugins.shards.local_shards import LocalShards


@pytest.fixture(autouse=True)
def _local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep shards in the test's own process: with Ray, each command starts some."""
    monkeypatch.setattr("moverank.indexer.plugins.shards.cluster.RayShards", LocalShards)


@pytest.fixture
def indexed(call: Call, vectors: Path, documents: Path, tmp_path: Path) -> Path:
    file = tmp_path / "forum.toml"
    made = call("shards", "create", "-i", file, "--shards", "2", "--embedding", vectors)
    assert (made.code, made.err) == (0, "")
    assert f"{file} describes 2 shards" in made.out
    filled = call("index", documents, "-i", file)
    assert (filled.code, filled.err) == (0, "")
    assert filled.out.startswith("10 added")
    return file


@pytest.mark.slow
def test_commands_take_the_file_as_they_take_a_collection(
    call: Call, indexed: Path, documents: Path, collection: Path
) -> None:
    for arguments in (("cat dog", "-k", "3"), ("cat dog", "--rank", "wmd"), ("train", "--where", "label=odd")):
        mine, theirs = (call("search", *arguments, "-i", index, "--json") for index in (indexed, collection))
        assert (mine.code, mine.err) == (0, "")
        keys = [[hit["key"] for hit in answer.json["hits"]] for answer in (mine, theirs)]
        assert sorted(keys[0]) == sorted(keys[1])
        assert mine.json["certified"]
    assert call("index", documents, "-i", indexed).out.startswith("10 unchanged")
    assert call("index", documents, "-i", indexed, "--set", "site=pets").out.startswith("10 updated")
    filtered = call("search", "cat", "-i", indexed, "--where", "site=pets", "--where", "key^=d", "-k", "20", "--json")
    assert len(filtered.json["hits"]) == 10
    by_file = call("search", "cat", "-i", indexed, "--where", f"source={documents}", "-k", "20", "--json")
    assert len(by_file.json["hits"]) == 10
    assert call("similar", "d1", "-i", indexed, "--json").json["hits"]
    assert call("explain", "cat", "d1", "-i", indexed, "--why-not", "--json").json["why_not"]["stage"]
    assert call("remove", "d1", "-i", indexed).out.startswith("1 removed")
    assert call("remove", "d1", "-i", indexed).sentence == "nothing was removed: no document has the key 'd1'"
    assert call("info", "-i", indexed, "--json").json["documents"] == 9


@pytest.mark.slow
def test_the_language_of_shards_is_changed(call: Call, indexed: Path) -> None:
    changed = call("refit", "-i", indexed, "--language", "none")
    assert (changed.code, changed.err) == (0, "")
    assert changed.out.startswith("language none in 2 shards (")
    assert call("refit", "-i", indexed, "--language", "de", "--json").json["language"] == "de"
    assert call("search", "cat", "-i", indexed, "--json").json["hits"]


@pytest.mark.slow
def test_shards_are_listed_added_dropped_and_balanced(call: Call, indexed: Path, tmp_path: Path) -> None:
    listed = call("shards", "info", "-i", indexed, "--json").json
    assert [shard["place"] for shard in listed["shards"].values()] == ["forum.shards/s1.index", "forum.shards/s2.index"]
    assert "forum.shards/s2.index" in call("shards", "info", "-i", indexed).out
    added = call("shards", "add", "s3", "-i", indexed, "--json")
    assert added.json["moved"] >= 1
    assert call("shards", "balance", "-i", indexed).out.startswith("0 documents were moved")
    assert call("copy", tmp_path / "forum.shards/s1.index", tmp_path / "fast.index").code == 0
    assert call("shards", "move", "s1", tmp_path / "fast.index", "-i", indexed).code == 0
    assert call("shards", "drop", "s2", "-i", indexed).code == 0
    assert call("search", "cat", "-i", indexed, "--json").json["counts"]["candidates"] == 10
    assert "no shard 's2'" in call("shards", "drop", "s2", "-i", indexed).sentence


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("shards", "create", "-i", "{file}", "--shards", "2"), "describes shards already"),
        (("shards", "create", "-i", "{new}", "--shards", "2"), "shards need word vectors of a file"),
        (("shards", "create", "-i", "{new}.txt", "--embedding", "{file}"), "ends with .toml"),
        (("shards", "create", "-i", "{new}", "--place", "x"), "2 shards need as many places, not 1"),
        (("shards", "add", "s1", "-i", "{file}"), "has a shard 's1' already"),
        (("export", "-i", "{file}"), "describes shards"),
        (("search", "cat", "-i", "{new}"), "make it with `moverank shards create"),
        (("search", "cat", "-i", "{file}", "--rank", "lsi"), "shards cannot rank by lsi"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: tuple[str, ...], message: str, call: Call, indexed: Path) -> None:
    filled = [each.format(file=indexed, new=indexed.with_name("new.toml")) for each in arguments]
    vectors = ("--embedding", str(indexed)) if "already" in message and "create" in arguments else ()
    answer = call(*filled, *vectors)
    assert answer.code in (1, 2)
    assert message in answer.sentence


def test_a_missing_file_is_reported_before_settings_of_shards_are_changed(call: Call, indexed: Path) -> None:
    before = call("info", "-i", indexed, "--json").json
    assert call("index", "nowhere.txt", "-i", indexed, "--gamma", "0.5").code == 1
    assert call("info", "-i", indexed, "--json").json == before


def test_a_shard_whose_place_is_gone_is_an_error(call: Call, indexed: Path) -> None:
    content = indexed.read_text().replace("s2.index", "gone.index")
    indexed.write_text(content)
    assert "there is no shard in" in call("search", "cat", "-i", indexed).sentence
