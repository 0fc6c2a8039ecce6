"""Watches over HTTP: what is put is matched with later documents, and events are read after a number."""

import json
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection
from tests.indexer.plugins.serving.conftest import make_collection
from tests.indexer.plugins.serving.pages_world import pages_server
from tests.indexer.plugins.serving.running import RunningServer
from tests.indexer.plugins.serving.test_openapi import check

pytestmark = [pytest.mark.store, pytest.mark.plugin("watching")]

WATCHES, EVENTS = "/collections/pets/watches", "/collections/pets/events"


def test_watches_and_events_over_http(writable: RunningServer) -> None:
    described = writable.ask("/openapi.json").json
    at, path = "/collections/{name}/watches", "/collections/{name}/watches/{watch}"
    body = {"query": {"title": "Plane", "text": "an apple"}, "within": 0.1, "rank": "wmd", "where": {"label": ["pets"]}}
    made = writable.ask(f"{WATCHES}/a/b", body, method="PUT")
    assert (made.status, made.json["revision"]) == (200, 1)
    check(described, "put", path, made)
    assert writable.ask(f"{WATCHES}/dogs", {"query": "dog", "within": 9}, method="PUT").status == 200
    listed = writable.ask(WATCHES)
    check(described, "get", at, listed)
    assert [(each["name"], each["within"], each["where"]) for each in listed.json["watches"]] == [
        ("a/b", 0.1, {"label": ["pets"]}),
        ("dogs", 9.0, []),
    ]
    record = {"title": "Plane", "text": "an apple", "label": "pets"}
    changes = writable.ask("/collections/pets/documents/new", record, method="PUT").json
    assert changes["events"] == 2
    events = writable.ask(EVENTS)
    check(described, "get", "/collections/{name}/events", events)
    assert [(each["watch"], each["document"]) for each in events.json["events"]] == [("a/b", "new"), ("dogs", "new")]
    assert events.json["events"][0]["revision"] == changes["revision"]
    first = events.json["events"][0]["number"]
    assert writable.ask(f"{EVENTS}?after={first}&limit=1").json["events"] == events.json["events"][1:]
    removed = writable.ask(f"{WATCHES}/a/b", method="DELETE")
    check(described, "delete", path, removed)
    assert removed.status == 200
    missing = writable.ask(f"{WATCHES}/a/b", method="DELETE")
    assert (missing.status, missing.json["detail"]) == (404, "there is no watch 'a/b'")
    assert [each["name"] for each in writable.ask(WATCHES).json["watches"]] == ["dogs"]
    for wrong, status in (
        ({"query": "dog"}, 422),
        ({"query": "zzz", "within": 1}, 422),
        ({"query": "dog", "within": -1}, 422),
    ):
        assert writable.ask(f"{WATCHES}/w", wrong, method="PUT").status == status
    scored = writable.ask(f"{WATCHES}/w", {"query": "dog", "within": 1, "rank": "bm25"}, method="PUT")
    assert (scored.status, scored.json["detail"][:36]) == (422, "a watch compares by a distance alone")
    for wrong_url in (
        f"{EVENTS}?after=-1",
        f"{EVENTS}?after={2**63}",
        f"{WATCHES}?first={2**63}",
        f"{WATCHES}?limit=0",
    ):
        assert writable.ask(wrong_url).status == 422, wrong_url
    assert writable.ask(f"{EVENTS}?after={2**63 - 1}").json["events"] == []


def test_names_and_numbers_that_cannot_be_stored_are_refused(writable: RunningServer) -> None:
    right = {"query": "dog", "within": 1}
    for wrong in (b"1e400", b"-1e400", b"NaN", str(10**400).encode(), b'"x"', b"null"):
        body = b'{"query": "dog", "within": ' + wrong + b"}"
        assert writable.ask(f"{WATCHES}/w", body, method="PUT").status in (400, 422), wrong
        body = (
            b'{"query": "dog", "within": 1, "rank": "pwmd", "gamma": ' + (b"-1" if wrong == b"null" else wrong) + b"}"
        )
        assert writable.ask(f"{WATCHES}/w", body, method="PUT").status in (400, 422), wrong
    for name in ("%00", "a%00b", ""):
        assert writable.ask(f"{WATCHES}/{name}", right, method="PUT").status in (404, 405, 422), name
        removed = writable.ask(f"{WATCHES}/{name}", method="DELETE")
        assert removed.status in (404, 405, 422), name
    half = writable.ask(f"{WATCHES}/w", b'{"query": "dog \\ud800", "within": 1}', method="PUT")
    assert (half.status, "half of a surrogate pair" in half.json["detail"]) == (422, True)
    assert writable.ask(f"{WATCHES}/w", right | {"where": [f"year>={10**30}"]}, method="PUT").status in (200, 422)
    assert writable.ask(f"{WATCHES}/w", right | {"where": {"year": [10**30]}}, method="PUT").status in (200, 422)
    for name in ("%ED%A0%80", "%ff"):
        status = writable.ask(f"{WATCHES}/{name}", right, method="PUT").status
        assert status in (200, 422)
        assert writable.ask(f"{WATCHES}/{name}", method="DELETE").status == (200 if status == 200 else 404)


def test_watches_are_listed_by_pages(tmp_path: Path) -> None:
    directory = make_collection(tmp_path)
    names = [f"w{i:02}" for i in range(12)]
    with Collection.open(directory) as pets:
        for name in names:
            pets.watch(name, "dog " * 10, 1)
    with pages_server({"pets": directory}) as pages:

        def listed(parameters: str) -> tuple[int, Any]:
            with closing(HTTPConnection(pages.url.removeprefix("http://"))) as connection:
                connection.request("GET", WATCHES + parameters)
                answer = connection.getresponse()
                return answer.status, json.load(answer)

        for first, count in ((0, 5), (5, 5), (10, 2), (12, 0)):
            status, found = listed(f"?first={first}&limit=5")
            assert (status, found["total"]) == (200, 12)
            assert [one["name"] for one in found["watches"]] == names[first : first + count]


def test_a_read_only_server_keeps_its_watches(server: RunningServer) -> None:
    assert server.ask(WATCHES).json["watches"] == []
    assert server.ask(f"{WATCHES}/w", {"query": "dog", "within": 1}, method="PUT").status == 403
    assert server.ask(f"{WATCHES}/w", method="DELETE").status == 403
