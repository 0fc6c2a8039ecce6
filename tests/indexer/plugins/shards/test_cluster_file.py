"""The file that describes shards."""

import os
import socket
from importlib.util import find_spec
from pathlib import Path

import pytest

from moverank.indexer.errors import CollectionError, UsageError
from moverank.indexer.files.location import CACHE, TRUSTED
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, ShardPlace, new_shards
from tests.indexer.commands.program import program


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user has named is remembered in a cache of the test."""
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    for name in (TRUSTED, "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)


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


@pytest.mark.parametrize("form", ["ray://127.0.0.1:{}", "127.0.0.1:{}", "AUTO", "local", "anyscale://x\x1b[2J"])
def test_a_ray_cluster_that_only_a_file_names_is_not_connected_to(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would get the user's token; with the address `local`, Ray would listen on all interfaces."""
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    path, call = tmp_path / "evil.toml", program(monkeypatch, capsys)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = form.format(listener.getsockname()[1])
        ClusterFile(path, (ShardPlace("a", "a.index"),), "").write()
        escaped = address.replace("\x1b", "\\u001b")
        path.write_text(path.read_text().replace('address = ""', f'address = "{escaped}"'))
        commands = ["search cat", "info", "index x.jsonl", "shards info", "shards stop"]
        if find_spec("fastapi") is not None:
            commands.append("serve --port 0")
        for command in commands:
            answer = call(*command.split(), "-i", path)
            assert (answer.code, answer.sentence.isprintable()) == (1, True)
            assert "names a Ray cluster, to which your token would be sent: if you trust it" in answer.sentence
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_ray_cluster_that_the_user_named_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copied(address: str, name: str) -> Path:
        path = tmp_path / name / "copy.toml"
        path.parent.mkdir()
        path.write_text(f'address = "{address}"\n[shards.a]\nplace = "a.index"\n')
        return path

    assert ClusterFile.read(copied("auto", "started here")).address == "auto"
    ClusterFile(tmp_path / "own.toml", (ShardPlace("a", "a.index"),), "10.0.0.7:6379").write()
    assert ClusterFile.read(copied("10.0.0.7:6379", "named")).address == "10.0.0.7:6379"
    other = copied("ray://10.0.0.8:10001", "other")
    with pytest.raises(CollectionError, match=r"`export RAY_ADDRESS=ray://10\.0\.0\.8:10001`, or list"):
        ClusterFile.read(other)
    with monkeypatch.context() as patch:
        patch.setenv("RAY_ADDRESS", "ray://10.0.0.8:10001")
        assert ClusterFile.read(other).address == "ray://10.0.0.8:10001"
    monkeypatch.setenv(TRUSTED, os.pathsep.join([str(tmp_path / "x"), str(tmp_path / "other")]))
    assert ClusterFile.read(other).address == "ray://10.0.0.8:10001"


def test_a_deeply_nested_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text("a = " + "[" * 100_000)
    with pytest.raises(UsageError, match="is nested too deeply"):
        ClusterFile.read(path)
