"""Shards in processes of Ray."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from moverank import Collection, Document
from moverank.indexer.errors import CollectionError
from moverank.indexer.files.location import CACHE
from moverank.indexer.plugins.shards import actors
from moverank.indexer.plugins.shards.actors import RayShards
from moverank.indexer.plugins.shards.cluster import Cluster
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, ShardPlace, new_shards
from tests.indexer.plugins.shards.conftest import MakeCluster
from tests.indexer.plugins.shards.running_ray import RAYS_OWN_WARNINGS, running_ray
from tests.indexer.world import WORDS, CollectionFactory, random_documents
from tests.waiting import wait_until

ray = pytest.importorskip("ray", reason="needs the extra `ray`")

pytestmark = RAYS_OWN_WARNINGS


@pytest.fixture(scope="module", autouse=True)
def _ray() -> Iterator[None]:
    with running_ray():
        yield


@pytest.fixture(scope="module")
def cluster(factory: CollectionFactory) -> Iterator[Cluster]:
    path = factory.path().with_suffix(".toml")
    with Cluster.create(ClusterFile(path, new_shards(path, 2, [])), factory.settings()) as opened:
        opened.index(random_documents(40, seed=4))
        yield opened


def test_processes_answer_as_one_collection(cluster: Cluster, factory: CollectionFactory) -> None:
    with factory.filled(random_documents(40, seed=4)) as one:
        for rank in ("wmd", "pwmd:weights=tfidf+0.4*bm25+cosine"):
            mine, theirs = (each.search("ant bee cat", rank=rank, k=7) for each in (cluster, one))
            assert [hit.total or hit.distance for hit in mine.hits] == pytest.approx(
                [hit.total or hit.distance for hit in theirs.hits], abs=1e-9
            )
            assert mine.certified
    assert len(set(cluster.processes().values()) - {os.getpid()}) == 2


def test_a_killed_process_is_started_again(cluster: Cluster) -> None:
    expected = cluster.search("ant bee cat", rank="wmd", k=5)
    for name in cluster.file.names:
        number = cluster.processes()[name]
        assert number
        os.kill(number, signal.SIGKILL)
        found = cluster.search("ant bee cat", rank="wmd", k=5)
        assert [hit.distance for hit in found.hits] == [hit.distance for hit in expected.hits]
        assert found.certified
    assert not set(cluster.processes().values()) & {None}


def test_processes_are_killed_while_searches_run(cluster: Cluster) -> None:
    queries = [f"{WORDS[i % 12]} {WORDS[(i * 5 + 1) % 12]}" for i in range(40)]
    expected = [[hit.distance for hit in ranking.hits] for ranking in cluster.search_many(queries, rank="wmd", k=4)]
    over = Event()

    def kill() -> None:
        for name in cluster.file.names:
            if number := cluster.processes()[name]:
                os.kill(number, signal.SIGKILL)
            if over.wait(0.5):
                return

    thread = Thread(target=kill)
    thread.start()
    found = [[hit.distance for hit in ranking.hits] for ranking in cluster.search_many(queries, rank="wmd", k=4)]
    over.set()
    thread.join()
    assert found == expected


def test_a_process_is_killed_while_documents_are_indexed(make_cluster: MakeCluster) -> None:
    documents = random_documents(400, seed=8)
    with make_cluster([], 2) as cluster:

        def interrupted() -> Iterator[Document]:
            for number, document in enumerate(documents):
                if number == 300:
                    process = cluster.processes()["s2"]
                    assert process
                    os.kill(process, signal.SIGKILL)
                    time.sleep(0.2)
                yield document

        with pytest.raises(Exception, match="the shard s2"):
            cluster.index(interrupted())
        cluster.refresh()
        cluster.index(documents)
        assert len(cluster) == 400
        assert cluster.search("ant bee", k=3).certified


def test_nothing_stays_open_if_a_shard_cannot_be_started(tmp_path: Path) -> None:
    before = set(actors._USERS)  # noqa: SLF001 - who keeps Ray running
    places = ShardPlace("s1", "s1.index"), ShardPlace("s2", "s2.index", "198.51.100.7")
    with pytest.raises(CollectionError, match=r"no machine 198\.51\.100\.7"):
        RayShards(ClusterFile(tmp_path / "forum.toml", places))
    assert before == actors._USERS  # noqa: SLF001


def test_actors_of_a_running_ray_outlive_the_command(
    factory: CollectionFactory, make_cluster: MakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE, str(tmp_path))
    address = ray.get_runtime_context().gcs_address
    with make_cluster(random_documents(9), 1) as cluster:
        shards = cluster.file.shards
    file = ClusterFile(factory.path().with_suffix(".toml"), shards, address)
    ClusterFile(file.path, tuple(ShardPlace(s.name, cluster.file.place_of(s)) for s in shards), address).write()
    with Cluster.open(file.path) as first:
        first.search("ant")
        processes = first.processes()
    with Cluster.open(file.path) as second:
        assert second.processes() == processes
        second.stop()


def _running() -> set[str]:
    """Return the names of the actors that outlive the object that started them."""
    return set(ray.util.list_named_actors())


def test_a_failed_creation_ends_the_actors_that_it_started(factory: CollectionFactory, tmp_path: Path) -> None:
    address = ray.get_runtime_context().gcs_address
    before = _running()
    shards = ShardPlace("s1", "s1.index"), ShardPlace("s2", "s2.index"), ShardPlace("s3", "s3.index")
    earlier = RayShards(ClusterFile(tmp_path / "forum.toml", shards[:1], address))
    (kept,) = _running() - before
    process = earlier.processes()["s1"]
    (tmp_path / "s3.index").mkdir()
    (tmp_path / "s3.index" / "mine.txt").write_text("a text of the user")
    with pytest.raises(CollectionError, match=r"mine\.txt"):
        Cluster.create(ClusterFile(tmp_path / "forum.toml", shards, address), factory.settings())
    wait_until(lambda: _running() - before == {kept})
    assert earlier.processes()["s1"] == process
    assert not (tmp_path / "forum.toml").exists()
    earlier.stop()
    earlier.close()  # else later tests would find Ray in use


def test_shards_may_be_in_a_database(postgres: None, make_cluster: MakeCluster) -> None:
    _ = postgres
    with make_cluster(random_documents(30), 2) as cluster:
        expected = cluster.search("ant bee", k=5)
        url = f"postgresql://postgres@/postgres?host={os.environ['PGHOST']}&schema=shard_three"
        assert cluster.add_shard(ShardPlace("s3", url)) > 0
        found = cluster.search("ant bee", k=5)
        assert [hit.distance for hit in found.hits] == pytest.approx([hit.distance for hit in expected.hits])
        with Collection.open(url) as one:
            assert len(one) == len(cluster) - len(_keys(cluster))


def test_searches_go_on_when_a_database_ends_connections(postgres: None, make_cluster: MakeCluster) -> None:
    _ = postgres
    psycopg = pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    with make_cluster(random_documents(30), 2) as cluster:
        url = f"postgresql://postgres@/postgres?host={os.environ['PGHOST']}&schema=shard_four"
        cluster.add_shard(ShardPlace("s3", url))
        expected = [hit.distance for hit in cluster.search("ant bee", rank="wmd", k=5).hits]
        with psycopg.connect(host=os.environ["PGHOST"], user="postgres", autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
        found = cluster.search("ant bee", rank="wmd", k=5)
        assert [hit.distance for hit in found.hits] == expected
        assert found.certified


def _keys(cluster: Cluster) -> list[str]:
    places = [cluster.file.place_of(shard) for shard in cluster.file.shards[:2]]
    keys: list[str] = []
    for place in places:
        with Collection.open(place) as one:
            keys += one.keys()
    return keys
