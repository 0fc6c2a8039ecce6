"""Shards on two machines, each with directories that the other does not see."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.indexer.plugins.shards.machines import Machine, two_machines
from tests.indexer.world import CollectionFactory, random_documents
from tests.waiting import HUNG

pytest.importorskip("ray", reason="needs the extra `ray`")

_PORT = 6399
_START = ("ray", "start", "--num-cpus=2", "--object-store-memory=100000000", "--block", "--disable-usage-stats")
_SECONDS = HUNG
_QUERY = "ant bee cat"


@pytest.fixture
def machines() -> Iterator[tuple[Machine, Machine]]:
    # A short path: those of Ray's sockets may have 107 characters.
    with TemporaryDirectory(prefix="own-", dir="/tmp") as name, two_machines(Path(name)) as (one, two):
        directory = one.directory
        assert not one.run("ray", "get-auth-token", "--generate").returncode
        _start(one, "--head", f"--port={_PORT}", "--include-dashboard=false", f"--temp-dir={directory}/ray")
        _wait(one, 1)
        token = one.run("cat", directory / ".ray" / "auth_token").stdout
        assert token
        two.run("sh", "-c", f"mkdir '{directory}/.ray' && echo -n '{token}' > '{directory}/.ray/auth_token'")
        _start(two, f"--address={one.address}:{_PORT}")
        _wait(one, 2)
        yield one, two


def _start(machine: Machine, *choices: str) -> None:
    machine.start(*_START, f"--node-ip-address={machine.address}", *choices, env={"RAY_AUTH_MODE": "token"})


def _wait(machine: Machine, number: int) -> None:
    """Wait until a Ray cluster has so many machines."""
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        found = machine.run("ray", "status", "--address", f"{machine.address}:{_PORT}", env={"RAY_AUTH_MODE": "token"})
        if found.stdout.count(" node_") == number:
            return
        time.sleep(0.5)
    pytest.fail(f"Ray does not start: {found.stdout}{found.stderr}")


def _printed(machine: Machine, *words: str | Path, note: str = "") -> Any:
    """Run moverank on a machine, and return the JSON that it prints; what else it says are lines with `note`."""
    done = machine.run("moverank", *words, "--json")
    assert not done.returncode, done.stderr
    assert all(note and note in line for line in done.stderr.splitlines()), done.stderr
    return json.loads(done.stdout)


def _distances(found: dict[str, Any]) -> list[float]:
    return [hit["distance"] for hit in found["hits"]]


def test_shards_on_two_machines_answer_as_one_collection(
    machines: tuple[Machine, Machine], factory: CollectionFactory, tmp_path: Path
) -> None:
    (one, two), documents = machines, random_documents(60, seed=11)
    lines, own = tmp_path / "documents.jsonl", one.directory
    lines.write_text(
        "".join(json.dumps({"key": d.key, "text": d.parts[0].text}) + "\n" for d in documents), encoding="utf-8"
    )
    file, search = own / "two.toml", ("search", _QUERY, "-k", "7", "--rank", "wmd", "-i")
    address, words = f"{one.address}:{_PORT}", ("--embedding", factory.vectors, "--setting", "stop_words=none")
    places = ("--place", own / "a", "--node", one.address, "--place", own / "b", "--node", two.address)
    _printed(one, "shards", "create", "-i", file, "--address", address, *places, *words)
    assert _printed(one, "index", lines, "-i", file)["added"] == len(documents)
    assert {"a", "b"} & set(one.run("ls", own).stdout.split()) == {"a"}
    assert {"a", "b"} & set(two.run("ls", own).stdout.split()) == {"b"}
    with factory.filled(documents) as collection:
        expected = [hit.distance for hit in collection.search(_QUERY, k=7, rank="wmd").hits]

    found = _printed(one, *search, file)
    assert _distances(found) == pytest.approx(expected, abs=1e-9)
    assert found["certified"]

    two.fail()
    found = _printed(one, *search, file, note="the shard s2 has ended, or cannot be reached")
    assert (found["certified"], found["scope"], found["missing_shards"]) == (False, "shards", ["s2"])

    _start(two, f"--address={one.address}:{_PORT}")
    _wait(one, 2)
    found = _printed(one, *search, file)
    assert _distances(found) == pytest.approx(expected, abs=1e-9)
    assert found["certified"]
    assert not one.run("moverank", "shards", "stop", "-i", file).returncode
