"""The file that describes shards."""

from pathlib import Path

import pytest

from moverank.indexer.cluster.cluster_file import ClusterFile, ShardPlace, new_shards
from moverank.indexer.errors import CollectionError, UsageError


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "forum.toml"
    shards = (ShardPlace("a", 'odd "place"\\ü'), ShardPlace("b", "postgresql://ada@db/texts?schema=b", "10.0.0.7"))
    ClusterFile(path, shards, "auto").write()
    found = ClusterFile.read(path)
    assert found == ClusterFile(path, shards, "auto")
    assert found.place_of(found.shards[0]) == str(tmp_path / 'odd "place"\\ü')
    assert found.place_of(found.shards[1]) == "postgresql://ada@db/texts?schema=b"


def test_new_shards_are_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "forum.toml"
    shards = new_shards(path, 10, [])
    assert [shard.name for shard in shards][::9] == ["s01", "s10"]
    assert shards[0].place == "forum.shards/s01.index"
    with pytest.raises(UsageError, match="3 shards need as many places, not 1: repeat --place"):
        new_shards(path, 3, ["one"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("shards = 3", "names no shard"),
        ("", "names no shard"),
        ("[shards.a]\n", "the shard a needs a place"),
        ("[shards.a]\nplace = 3\n", "the shard a needs a place"),
        ('[shards.a]\nplace = "x"\ncolour = "red"\n', "unknown key 'colour'"),
        ('[shards."a b"]\nplace = "x"\n', "letters, digits, - and _, not 'a b'"),
        ('address = 3\n[shards.a]\nplace = "x"\n', "address must be a text, not 3"),
        ('[shards.a]\nplace = " "\n', "the shard a needs a place"),
        ('[shards.a]\nplace = "x"\nnode = 5\n', "the node of the shard a must be a text, not 5"),
        ('adress = "auto"\n[shards.a]\nplace = "x"\n', "unknown key 'adress'"),
        ('[shards.a]\nplace = "x"\n[shards.b]\nplace = "./y/../x"\n', "a and b have the same place"),
        ("[shards", "is not TOML"),
        (b"\xff", "is not TOML"),
    ],
)
def test_a_bad_file_is_one_sentence(content: str | bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError, match=r"bad\.toml") as raised:
        ClusterFile.read(path)
    assert message in str(raised.value)


def test_a_missing_file_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match=r"make it with `moverank shards create -i"):
        ClusterFile.read(tmp_path / "none.toml")


def test_an_unknown_shard_lists_the_others(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no shard 'x': choose s1, s2"):
        ClusterFile(tmp_path / "f.toml", new_shards(tmp_path / "f.toml", 2, [])).shard("x")


def test_each_place_may_have_a_machine(tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    ClusterFile(path, new_shards(path, 2, ["one", "two"], ["10.0.0.1", "10.0.0.2"])).write()
    assert [shard.node for shard in ClusterFile.read(path).shards] == ["10.0.0.1", "10.0.0.2"]
    with pytest.raises(UsageError, match="2 shards need as many machines, not 1: repeat --node"):
        new_shards(path, 2, ["one", "two"], ["10.0.0.1"])
