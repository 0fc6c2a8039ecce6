"""A server of a collection in shards."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from moverank.indexer.plugins.shards.cluster import Cluster
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, new_shards
from tests.indexer.plugins.serving.pages_world import pages_server
from tests.indexer.plugins.shards.local_shards import LocalShards
from tests.indexer.world import CollectionFactory, random_documents
from tests.waiting import HUNG, wait_until

Ask = Any


@pytest.fixture
def ask(tmp_path: Path, factory: CollectionFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """Serve 30 documents in three shards; return a function that sends a request."""
    monkeypatch.setattr("moverank.indexer.plugins.shards.cluster.RayShards", LocalShards)
    path = tmp_path / "forum.toml"
    with Cluster.create(ClusterFile(path, new_shards(path, 3, [])), factory.settings()) as cluster:
        cluster.index(random_documents(30, seed=4))
    with pages_server({"forum": path}) as server:
        address = urlsplit(server.url).netloc

        def send(method: str, target: str, body: object = None) -> tuple[int, Any]:
            connection = HTTPConnection(address, timeout=HUNG)
            content = None if body is None else json.dumps(body)
            connection.request(method, target, content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            return answer.status, json.loads(text) if "json" in (answer.headers["Content-Type"] or "") else text

        yield send


def test_searches_and_documents(ask: Ask) -> None:
    status, found = ask("POST", "/collections/forum/search", {"query": "ant bee cat", "k": 3})
    assert status == 200
    assert found["certified"]
    assert len(found["hits"]) == 3
    key = found["hits"][0]["key"]
    assert ask("POST", "/collections/forum/similar", {"key": key, "k": 2})[1]["certified"]
    assert ask("POST", "/collections/forum/explain", {"query": "ant", "key": key})[1]["flows"]
    why = ask("POST", "/collections/forum/why-not", {"query": "ant", "key": key})
    assert why[1]["why_not"]["stage"], why
    assert ask("GET", f"/collections/forum/documents/{key}")[1]["revision"] >= 1
    status, listed = ask("GET", "/collections/forum/documents?first=8&limit=15")
    assert (len(listed["documents"]), listed["found"], listed["total"]) == (15, 30, 30)
    assert len({entry["key"] for entry in listed["documents"]}) == 15
    assert ask("GET", "/collections")[1]["collections"][0]["documents"] == 30


def test_changes_are_searched(ask: Ask) -> None:
    assert ask("PUT", "/collections/forum/documents/new", {"text": "kiwi kiwi lark"})[1]["added"] == 1
    query = {"query": "kiwi kiwi lark", "k": 1}
    wait_until(lambda: ask("POST", "/collections/forum/search", query)[1]["hits"][0]["key"] == "new")
    assert ask("DELETE", "/collections/forum/documents/new?wait=true")[1]["removed"] == 1
    hits = ask("POST", "/collections/forum/search", {"query": "kiwi kiwi lark", "k": 30})[1]["hits"]
    assert "new" not in [hit["key"] for hit in hits]
    assert ask("PUT", "/collections/forum/document?key=..&wait=true", {"text": "kiwi kiwi lark"})[1]["added"] == 1
    found = ask("POST", "/collections/forum/search", {"query": "kiwi kiwi lark", "k": 1})[1]
    assert found["hits"][0]["key"] == ".."
    assert ask("DELETE", "/collections/forum/documents/new")[0] == 404


def test_what_shards_cannot_do_is_a_problem(ask: Ask) -> None:
    status, problem = ask("POST", "/v1/rerank", {"query": "ant", "documents": ["bee"]})
    assert (status, problem["detail"][:41]) == (422, "a collection in shards cannot rerank or c")
    status, problem = ask("POST", "/collections/forum/compare", {"claim": "ant", "sources": ["bee"]})
    assert (status, problem["detail"][:52]) == (422, "a collection in shards cannot rerank or compare text")
    assert ask("POST", "/collections/forum/changes", {"old": "ant", "new": "bee"})[0] == 422
    status, problem = ask("POST", "/collections/forum/rerank", {"query": "ant", "keys": ["d1"]})
    assert (status, problem["detail"][:42]) == (422, "a collection in shards cannot rank stored ")


def test_pages(ask: Ask) -> None:
    status, page = ask("GET", "/?q=ant+bee")
    assert status == 200
    assert "hits" in page
    assert '<mark class="moved" title' in page.partition('class="hits"')[2]  # by the vectors of a shard
    assert ask("GET", "/?similar=d1")[0] == 200


@pytest.mark.plugin("watching")
def test_shards_have_no_watches(ask: Ask) -> None:
    for method, target in (("GET", "watches"), ("GET", "events"), ("PUT", "watches/w"), ("DELETE", "watches/w")):
        body = {"query": "ant", "within": 1} if method == "PUT" else None
        status, problem = ask(method, f"/collections/forum/{target}", body)
        assert (status, problem["detail"][:33]) == (422, "shards have no watches of their o"), target
