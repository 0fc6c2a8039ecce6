"""Credentials go only to databases that the user named, not to those that a file of a stranger names."""

import json
import os
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from moverank import Collection
from moverank.indexer.errors import CollectionError
from moverank.indexer.files.location import CACHE, TRUSTED, URL_FILE, collection_directory
from tests.indexer.commands.program import GOOD, Call, program

pytest.importorskip("psycopg", reason="needs the extra `postgres`")

_SSL_REQUEST, _GSS_REQUEST = 80877103, 80877104
_ASK_FOR_PASSWORD = b"R" + struct.pack("!II", 8, 3)
pytestmark = pytest.mark.sqlite("no database is named in the environment")

_SECRET = "swordfish"  # noqa: S105 - a secret of this test only


@dataclass
class Listener:
    """A server that speaks PostgreSQL as far as the password, which it keeps, and all else that is sent to it."""

    port: int
    connections: int = 0
    received: list[bytes] = field(default_factory=list)


@pytest.fixture
def listener() -> Iterator[Listener]:
    """Listen at a free port of this machine."""
    state = Listener(0)

    class Session(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            state.connections += 1
            self.request.settimeout(10)
            while message := self.request.recv(65536):
                state.received.append(message)
                code = struct.unpack("!I", message[4:8])[0] if len(message) >= 8 else 0
                self.request.sendall(b"N" if code in (_SSL_REQUEST, _GSS_REQUEST) else _ASK_FOR_PASSWORD)
                if message[:1] == b"p":
                    return

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session) as server:
        state.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield state
        server.shutdown()


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Runs `moverank` for a user with a password in the environment, and another in a file."""
    (tmp_path / "pgpass").write_text(f"*:*:*:*:{_SECRET}\n")
    (tmp_path / "pgpass").chmod(0o600)
    for name in ("PGHOST", "PGSERVICE", "MOVERANK_INDEX", TRUSTED):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"PGPASSWORD": _SECRET, "PGPASSFILE": "pgpass", "PGCONNECT_TIMEOUT": "5"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return program(monkeypatch, capsys)


def _foreign(directory: Path, url: str) -> Path:
    directory.mkdir(parents=True)
    (directory / URL_FILE).write_text(url)
    return directory


COMMANDS = [
    "info -i {}",
    "search cat -i {}",
    "list -i {}",
    "show a -i {}",
    "export -i {}",
    "check -i {}",
    "check --repair -i {}",
    "backup saved -i {}",
    "copy {} copied",
    "copy own.index {}",
    "index good.jsonl -i {}",
    "remove a -i {}",
    "refit -i {}",
    "serve -i {} --port 0",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_that_names_a_database_is_not_connected_to(
    call: Call, listener: Listener, command: str, tmp_path: Path
) -> None:
    url = f"postgresql://ada@127.0.0.1:{listener.port}/texts"
    (tmp_path / "good.jsonl").write_text(GOOD)
    assert "own.index" not in command or call("index", "good.jsonl", "-i", "own.index").code == 0
    _foreign(tmp_path / "foreign", url)
    answer = call(*command.format("foreign").split())
    assert answer.code == 1
    sentence = answer.out + answer.err
    assert (
        "foreign names a database, to which your credentials would be sent: if you trust it, name it once" in sentence
    )
    assert sentence.endswith(f"`moverank info -i {url}`, or list the directory in $MOVERANK_TRUSTED\n")
    assert (listener.connections, listener.received) == (0, [])


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///texts?host=127.0.0.1&port={port}",
        "postgresql:///texts?hostaddr=127.0.0.1&port={port}&passfile=pgpass",
        "postgresql:///?service=own&hostaddr=127.0.0.1&port={port}",
        "postgresql+psycopg://ada@127.0.0.1:{port}/texts",
        "postgresql://127.0.0.1:{port}/texts?schema=a-b",
        "postgresql://ada@127.0.0.1:{port}/texts\x1b[2J",
        "postgresql://" + "a" * 9000 + "@127.0.0.1:{port}/texts",
        "sqlite:///own.db",
    ],
)
def test_nor_is_one_named_in_any_other_form(call: Call, listener: Listener, url: str, tmp_path: Path) -> None:
    directory = _foreign(tmp_path / "foreign", url.format(port=listener.port))
    answer = call("info", "-i", "foreign")
    assert answer.code in (1, 2)
    assert answer.sentence.isprintable()
    with pytest.raises((CollectionError, ValueError)):
        Collection.open(directory)
    assert (listener.connections, listener.received) == (0, [])


def test_the_cache_of_another_url_is_no_trust_in_this_one(call: Call, listener: Listener, tmp_path: Path) -> None:
    named = f"postgresql://ada@127.0.0.1:{listener.port}/texts"
    collection_directory(named)
    _foreign(tmp_path / "foreign", f"{named}?schema=other")
    assert call("info", "-i", "foreign").code == 1
    assert listener.connections == 0


_OF_PASSWORDS = [
    # what the user named, what a file names, and whether that is trusted
    ("postgresql://ada:{0}@{1}", "postgresql://ada@{1}", True),
    ("postgresql://ada:{0}@{1}", "postgres://ada:{0}@{1}", True),
    ("postgres://ada@{1}", "postgresql://ada@{1}", True),
    ("postgresql://{1}?user=ada&password={0}", "postgres://{1}?user=ada", True),
    ("postgresql://ada:{0}@{1}", "postgresql://ada:other@{1}", False),
    ("postgresql://ada@{1}", "postgresql://ada:other@{1}", False),
    ("postgresql://ada:{0}@{1}", "postgresql://bob@{1}", False),
    ("postgresql://ada@{1}", "postgresql://ada@{1}?password=other", False),
    ("postgresql://ada@{1}", "postgresql://ada@{1}#", False),
    ("postgresql://ada@{1}", "postgresql://ada@{1}\n", True),
    ("postgresql://ada@{1}", "postgresql://ada@127\t.0.0.1:{2}/texts", False),
]


@pytest.mark.plugin("shards")
@pytest.mark.parametrize(("named", "in_file", "trusted"), _OF_PASSWORDS)
def test_a_file_may_leave_the_password_out_and_write_the_scheme_as_the_user(
    call: Call, listener: Listener, named: str, in_file: str, *, trusted: bool, tmp_path: Path
) -> None:
    place = f"127.0.0.1:{listener.port}/texts"
    collection_directory(named.format("right", place))
    url = in_file.format("right", place, listener.port)
    _foreign(tmp_path / "foreign", url)
    (tmp_path / "foreign.toml").write_text(f"[shards.a]\nplace = {json.dumps(url.strip())}\n")
    said = "cannot be reached" if trusted else "names a database, to which"
    assert said in call("info", "-i", "foreign").sentence
    assert (listener.connections > 0) is trusted
    from moverank.indexer.plugins.shards.cluster_file import ClusterFile

    with nullcontext() if trusted else pytest.raises(CollectionError, match=said):
        ClusterFile.read(tmp_path / "foreign.toml")


@pytest.mark.plugin("shards")
def test_a_file_of_shards_is_not_either(call: Call, listener: Listener, tmp_path: Path) -> None:
    url = f"postgresql://ada@127.0.0.1:{listener.port}/texts"
    (tmp_path / "foreign.toml").write_text(f'[shards.a]\nplace = "{url}"\n')
    for command in ("search cat -i foreign.toml", "shards info -i foreign.toml", "index good.jsonl -i foreign.toml"):
        assert "names a database, to which your credentials would be sent" in call(*command.split()).sentence
    assert listener.connections == 0


def test_a_database_that_the_user_named_is_connected_to(
    call: Call, listener: Listener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The password arrives, so the other tests would see it."""
    url = f"postgresql://ada@127.0.0.1:{listener.port}/texts"
    arrived = 0
    for name in (url, collection_directory(url), _foreign(tmp_path / "known", url)):
        assert "cannot be reached" in call("info", "-i", name).sentence
        assert sum(_SECRET.encode() in message for message in listener.received) > arrived
        arrived = sum(_SECRET.encode() in message for message in listener.received)
    _foreign(tmp_path / "trusted" / "one", f"{url}?schema=other")
    monkeypatch.setenv(TRUSTED, os.pathsep.join([str(tmp_path / "another"), str(tmp_path / "trusted")]))
    assert "cannot be reached" in call("info", "-i", "trusted/one").sentence
    assert sum(_SECRET.encode() in message for message in listener.received) > arrived
