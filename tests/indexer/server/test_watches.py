"""Watches over HTTP: what is put is matched with later documents, and events are read after a number."""

from tests.indexer.server.running import RunningServer
from tests.indexer.server.test_openapi import check

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
    assert writable.ask(f"{EVENTS}?after=-1").status == 422


def test_a_read_only_server_keeps_its_watches(server: RunningServer) -> None:
    assert server.ask(WATCHES).json["watches"] == []
    assert server.ask(f"{WATCHES}/w", {"query": "dog", "within": 1}, method="PUT").status == 403
    assert server.ask(f"{WATCHES}/w", method="DELETE").status == 403
