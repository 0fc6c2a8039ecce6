"""Strangers, processes without the token of a local cluster: none of them runs anything."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from moverank.indexer.plugins.shards.actors import RayShards
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, new_shards
from tests.indexer.plugins.shards.running_ray import RAYS_OWN_WARNINGS
from tests.waiting import HUNG

ray = pytest.importorskip("ray", reason="needs the extra `ray`")
psutil = pytest.importorskip("psutil", reason="Ray brings it")

pytestmark = RAYS_OWN_WARNINGS

# Without the variable, Ray takes the outer address of the machine instead, where nobody listens.
_STRANGER = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "PATH": os.environ["PATH"]}
_RUN = """
import sys, ray
ray.init(address=sys.argv[1], log_to_driver=False)
@ray.remote(num_cpus=0)
def run(path):
    open(path, "w").close()
ray.get(run.remote(sys.argv[2]))
"""


class _Open(NamedTuple):
    """A local cluster as strangers see it, with the `token` that they do not know.

    `others` are ports that this process opened before, as a vector engine does.
    """

    address: str
    directory: Path
    token: str
    others: frozenset[int] = frozenset()


def _opened(path: Path) -> RayShards:
    return RayShards(ClusterFile(path / "forum.toml", new_shards(path / "forum.toml", 2, [])))


def _seen(shards: RayShards) -> _Open:
    (actor, *_) = shards.processes().values()
    directory = ray._private.worker._global_node.get_session_dir_path()  # noqa: SLF001
    token = psutil.Process(actor).environ()["RAY_AUTH_TOKEN"]
    return _Open(ray.get_runtime_context().gcs_address, Path(directory).parent.parent, token)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Open]:
    """Open a local cluster, although the user has switched Ray's tokens off."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        before = frozenset(each.port for each in _listening())
        shards = _opened(tmp_path_factory.mktemp("shards"))
        assert os.environ["RAY_AUTH_MODE"] == "disabled"
        yield _seen(shards)._replace(others=before)
        shards.close()


def _listening(others: frozenset[int] = frozenset()) -> list[Any]:
    """Return the addresses, but for the `others`, where this process and its children wait for connections."""
    own, found = psutil.Process(), list[Any]()
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess, FileNotFoundError):  # one has just ended
            found += [each.laddr for each in process.net_connections("inet") if each.status == psutil.CONN_LISTEN]
    return [address for address in found if address.port not in others]


def test_every_socket_is_on_loopback(opened: _Open) -> None:
    found = _listening(opened.others)
    assert len(found) >= 5, found  # the control server, the machine's daemon, its agent, this process and the actors
    assert opened.address.rpartition(":")[2] in {str(each.port) for each in found}
    hosts = {ip_address(each.ip) for each in found}
    assert all((getattr(host, "ipv4_mapped", None) or host).is_loopback for host in hosts), hosts


def _run_as_stranger(opened: _Open, made: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", _RUN, opened.address, str(made)]
    environment = _STRANGER | {"HOME": str(made.parent)} | variables
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HUNG, check=False)


def test_a_stranger_runs_nothing(opened: _Open, tmp_path: Path) -> None:
    wrong = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
    for number, variables in enumerate([{}, wrong]):
        made = tmp_path / str(number)
        done = _run_as_stranger(opened, made, **variables)
        assert done.returncode, done.stdout
        assert "AuthenticationError" in done.stderr
        assert not made.exists()
    made = tmp_path / "known"  # that they failed is due to the token
    done = _run_as_stranger(opened, made, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=opened.token)
    assert not done.returncode, done.stderr
    assert made.exists()


# Of the control server, the machine's daemon (two ports), and a process that runs actors.
_METHODS = (
    "NodeInfoGcsService/CheckAlive",
    "NodeManagerService/GetNodeStats",
    "ObjectManagerService/Push",
    "CoreWorkerService/PushTask",
)


def _answers(port: int) -> set[str]:
    """Return how a port of this machine answers calls by gRPC without a token."""
    grpc, found = pytest.importorskip("grpc", reason="speaks as Ray does"), set()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        for method in _METHODS:
            try:
                channel.unary_unary(f"/ray.rpc.{method}")(b"", timeout=HUNG)
                found.add("OK")
            except grpc.RpcError as error:
                found.add(error.code().name)
    return found


def test_calls_without_a_token_are_refused(opened: _Open) -> None:
    answers = {each.port: _answers(each.port) for each in _listening(opened.others)}
    refused = [port for port, found in answers.items() if found == {"UNIMPLEMENTED", "UNAUTHENTICATED"}]
    assert int(opened.address.rpartition(":")[2]) in refused
    assert len(refused) >= 5, answers  # also this process
    others = {port: found for port, found in answers.items() if port not in refused}
    assert all(found == {"UNAVAILABLE"} for found in others.values()), others  # they speak HTTP


def test_the_agent_starts_nothing_for_a_stranger(opened: _Open) -> None:
    """Ray's agent, which makes environments for processes, speaks HTTP."""
    (port,) = {int(path.read_text()) for path in opened.directory.rglob("runtime_env_agent_port_*")}
    request = Request(f"http://127.0.0.1:{port}/get_or_create_runtime_env", b"", method="POST")
    with pytest.raises(HTTPError, match="401"):
        urlopen(request, timeout=HUNG)  # noqa: S310 - of this machine


def test_the_token_is_in_no_file(opened: _Open) -> None:
    assert len(opened.token) == 64
    assert opened.token not in os.environ.values()
    assert not (Path.home() / ".ray").exists()
    files = [path for path in opened.directory.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if opened.token.encode() in path.read_bytes()]
    assert stat.S_IMODE(opened.directory.stat().st_mode) == 0o700  # for sockets and logs


def test_nothing_is_left_and_the_next_token_is_another(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path\n"
        "from tests.indexer.plugins.shards.test_strangers import _opened, _seen\n"
        "import os\n"
        "first = _opened(Path(os.environ['HOME']))\n"
        "one = _seen(first); first.close()\n"
        "second = _opened(Path(os.environ['HOME']))\n"
        "two = _seen(second); second.close()\n"
        "assert one.token != two.token, (one, two)\n"
        "assert not one.directory.exists() and not two.directory.exists()\n"
        "assert not [name for name in os.environ if 'AUTH' in name]\n"
    )
    modules = os.pathsep.join((str(Path.cwd()), os.environ.get("PYTHONPATH", "")))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": modules}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=HUNG, check=False
    )
    assert not done.returncode, done.stderr
    assert not (tmp_path / ".ray").exists()
