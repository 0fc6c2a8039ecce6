"""Shards whose process hangs, stopped by a signal: work ends in its time, and says what is missing."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from moverank import SearchOptions
from moverank.indexer.plugins.shards.cluster import Cluster
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, new_shards, shard_of
from moverank.indexer.plugins.shards.coordinator import ShardLost
from moverank.rerank.errors import OutOfTime
from moverank.rerank.ranking import Ranking
from moverank.rerank.runtime.deadline import stopping
from tests.indexer.plugins.serving.running import RunningServer, descendants
from tests.indexer.plugins.shards.conftest import contents_of
from tests.indexer.plugins.shards.running_ray import RAYS_OWN_WARNINGS
from tests.indexer.world import CollectionFactory, random_documents
from tests.waiting import wait_until

pytest.importorskip("ray", reason="needs the extra `ray`")

pytestmark = RAYS_OWN_WARNINGS

_HANGS = 100  # seconds after which a test has failed
_QUERY = "ant bee cat"


@pytest.fixture(scope="module")
def path(factory: CollectionFactory) -> Path:
    """Return the file of a collection in two shards."""
    path = factory.path().with_suffix(".toml")
    with Cluster.create(ClusterFile(path, new_shards(path, 2, [])), factory.settings()) as cluster:
        cluster.index(random_documents(40, seed=4))
    return path


@pytest.fixture(scope="module")
def cluster(path: Path) -> Iterator[Cluster]:
    with Cluster.open(path) as opened:
        opened.search(_QUERY, k=5)
        yield opened


@contextmanager
def _stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
        assert Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"  # all the time
    finally:
        os.kill(process, signal.SIGCONT)


@contextmanager
def _hung(cluster: Cluster, name: str = "s1") -> Iterator[None]:
    """Let the process of a shard hang; afterwards, wait until it is searched again."""
    process = cluster.processes()[name]
    assert process
    with _stopped(process):
        yield
    wait_until(lambda: cluster.changed() or not cluster.search(_QUERY, k=5).missing_shards)
    cluster.refresh()
    assert cluster.search(_QUERY, k=5).certified


def _ended(work: Callable[[], Any]) -> Any:
    """Return what `work` does, or fail if it hangs."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(_HANGS)


def _check_missing(found: Ranking, cluster: Cluster) -> None:
    """Check that an answer is the right one of the shard s2, and says that s1 is missing."""
    whole = cluster.search(_QUERY, k=40, rank="wmd")
    expected = [hit.distance for hit in whole.hits if shard_of(hit.key, cluster.file.names) == "s2"]
    assert (found.certified, found.scope, found.missing_shards) == (False, "shards", ("s1",))
    assert [hit.distance for hit in found.hits] == expected[: len(found.hits)]
    assert found.hits


def test_a_search_with_a_budget_ends_without_the_shard(cluster: Cluster) -> None:
    with _hung(cluster):
        found = _ended(lambda: cluster.search(_QUERY, rank="wmd", k=5, budget=1))
    _check_missing(found, cluster)


def test_a_search_whose_caller_has_left_ends(cluster: Cluster) -> None:
    asked = time.monotonic()
    with _hung(cluster):
        options = SearchOptions(rank="wmd", k=5, stop=lambda: time.monotonic() > asked + 1)
        found = _ended(lambda: cluster.search(_QUERY, options))
    _check_missing(found, cluster)


def test_searches_without_a_limit_go_on_without_a_shard_that_is_known_to_hang(cluster: Cluster) -> None:
    with _hung(cluster):
        _ended(lambda: cluster.search(_QUERY, k=5, budget=0.5))
        found = [_ended(lambda: cluster.search(_QUERY, rank="wmd", k=5)) for _ in range(3)]
    for each in found:
        _check_missing(each, cluster)


def test_other_work_says_which_shard_does_not_answer(cluster: Cluster) -> None:
    key = next(key for key in (f"d{i}" for i in range(40)) if shard_of(key, cluster.file.names) == "s1")
    asked = time.monotonic()

    def described() -> Any:
        with stopping(lambda: time.monotonic() > asked + 1):
            return contents_of(cluster).describe(key)

    with _hung(cluster):
        with pytest.raises(OutOfTime, match="the shard s1 did not answer in time"):
            _ended(described)
        with pytest.raises(ShardLost, match="the shard s1 cannot be reached"):  # it is not called again
            _ended(lambda: contents_of(cluster).describe(key))
    assert contents_of(cluster).describe(key).document.key == key


@pytest.fixture
def server(path: Path, tmp_path: Path) -> Iterator[tuple[RunningServer, int]]:
    """Serve the shards; return the server and the process of a shard."""
    server = RunningServer("-i", path, log=tmp_path / "log")
    actors = [one for one in descendants(server.process.pid) if b"_ShardActor" in _command(one)]
    assert len(actors) == 2
    yield server, actors[0]
    if server.process.poll() is None:
        server.stop(signal.SIGKILL)


def _command(process: int) -> bytes:
    return Path(f"/proc/{process}/cmdline").read_bytes()


def test_a_server_answers_and_ends_although_a_shard_hangs(server: tuple[RunningServer, int]) -> None:
    running, actor = server
    collection = f"/collections/{running.ask('/collections').json['collections'][0]['name']}"
    started = descendants(running.process.pid)
    os.kill(actor, signal.SIGSTOP)
    found = running.ask(f"{collection}/search", {"query": _QUERY, "k": 3, "budget": 5}).json
    assert len(found["missing_shards"]) == 1, found
    assert not found["certified"]
    assert len(found["hits"]) == 3
    answers = [running.ask(f"{collection}/documents/d{number}") for number in range(6)]
    assert {answer.status for answer in answers} <= {200, 503, 504}
    assert all("the shard" in answer.json["detail"] for answer in answers if answer.status != 200)
    assert running.stop() == 0  # within a minute
    wait_until(lambda: not [one for one in started if Path(f"/proc/{one}/stat").exists()])
