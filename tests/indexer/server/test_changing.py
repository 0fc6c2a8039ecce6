"""Documents are added, replaced and removed over HTTP; what was acknowledged is durable and is searched soon."""

import json
import os
import signal
import threading
import time
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection, Document, Part
from tests.indexer.server.conftest import make_collection
from tests.indexer.server.running import RunningServer, descendants


def test_a_document_is_put_found_replaced_and_deleted(writable: RunningServer) -> None:
    path = "/collections/pets/documents/new/one"
    reply = writable.ask(path, {"title": "Plane", "text": "a plane", "label": "air", "year": 1999}, method="PUT")
    assert (reply.status, reply.json["added"], reply.json["revision"]) == (200, 1, 2)
    writable.wait_for("pets", 2)
    hit = writable.ask("/collections/pets/search", {"query": "plane", "k": 1}).json["hits"][0]
    assert (hit["key"], hit["label"], hit["metadata"]) == ("new/one", "air", {"year": 1999})
    assert writable.ask(path, {"text": "an apple"}, method="PUT").json["updated"] == 1
    assert writable.ask(path, {"text": "an apple"}, method="PUT").json["unchanged"] == 1
    assert writable.ask(path, method="DELETE").json["removed"] == 1
    assert writable.ask(path, method="DELETE").status == 404
    assert writable.ask("/collections/pets/documents?where=year=2021", method="DELETE").json["removed"] == 1


@pytest.mark.parametrize("record", [{"id": "other", "text": "a plane"}, {"key": 7, "parts": [{"text": "a plane"}]}])
def test_a_document_is_put_under_the_key_of_its_address(writable: RunningServer, record: dict[str, Any]) -> None:
    assert writable.ask("/collections/pets/documents/mine", record, method="PUT").json["added"] == 1
    writable.wait_for("pets", 2)
    stored = writable.ask("/collections/pets/documents/mine").json
    assert (stored["key"], stored["metadata"]) == ("mine", {})
    assert writable.ask("/collections/pets/documents/other").status == 404


def test_many_documents_are_added_or_none(writable: RunningServer) -> None:
    lines = [{"id": f"n{i}", "text": "red wine"} for i in range(50)] + [{"id": "th", "title": "Car", "comments": []}]
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    assert writable.ask("/collections/pets/documents", body).json["added"] == 51
    bad = writable.ask("/collections/pets/documents", body.replace(b"wine", b"bread") + b'{"id": "x"}\n')
    assert bad.status == 422
    assert "the body:52: there is no field for the text" in bad.json["detail"]
    writable.wait_for("pets", 2)
    assert writable.ask("/collections/pets").json["revision"] == 2
    assert writable.ask("/collections/pets/documents/n1").json["parts"] == [{"text": "red wine", "rank": 0}]
    for wrong, detail in (
        (b"", "the body is empty"),
        (b'{"text": "a"}\n', "a record needs a key"),
        (b"[1]", "JSON object"),
    ):
        reply = writable.ask("/collections/pets/documents", wrong)
        assert reply.status == 422
        assert detail in reply.json["detail"]


def test_a_read_only_server_changes_nothing(server: RunningServer) -> None:
    for path, method in (("/a", "PUT"), ("/a", "DELETE"), ("", "POST"), ("?where=year=1", "DELETE")):
        reply = server.ask(f"/collections/pets/documents{path}", {"text": "dog"}, method=method)
        assert (reply.status, reply.json["detail"]) == (403, "this server is read-only")


def test_changes_by_another_process_are_searched(writable: RunningServer, tmp_path: Path) -> None:
    with Collection.open(tmp_path / "pets.index") as collection:
        collection.index([Document("other", parts=(Part("blue river"),))])
    writable.wait_for("pets", 2)
    assert writable.ask("/collections/pets/search", {"query": "blue river", "k": 1}).json["hits"][0]["key"] == "other"


def test_a_killed_writer_is_replaced_and_one_without_a_server_ends(writable: RunningServer) -> None:
    path = "/collections/pets/documents/a"
    assert writable.ask(path, {"text": "red wine"}, method="PUT").status == 200
    first = descendants(writable.process.pid)
    os.kill(first[0], signal.SIGKILL)
    statuses = [writable.ask(path, {"text": f"red wine {number}"}, method="PUT").status for number in range(3)]
    assert statuses[-1] == 200
    assert set(statuses) <= {200, 503}
    second = descendants(writable.process.pid)
    assert len(second) == 1
    assert second != first
    writable.stop(signal.SIGKILL)
    until = time.monotonic() + 20
    while Path(f"/proc/{second[0]}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not Path(f"/proc/{second[0]}").exists()


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    index = make_collection(tmp_path)
    running, acknowledged = RunningServer("-i", index, log=tmp_path / "log"), []

    def write(number: int) -> None:
        for i in range(20):
            key = f"w{number}-{i}"
            try:
                reply = running.ask(f"/collections/pets/documents/{key}", {"text": "dog river"}, method="PUT")
            except (OSError, HTTPException):
                return
            if reply.status == 200:
                acknowledged.append(key)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while len(acknowledged) < 10:
        threads[0].join(0.01)
    running.stop(signal.SIGKILL)
    for thread in threads:
        thread.join()
    with Collection.open(index) as collection:
        assert all(key in collection for key in acknowledged)


def test_a_signal_ends_running_requests_first(tmp_path: Path) -> None:
    running = RunningServer("-i", make_collection(tmp_path), log=tmp_path / "log")
    body = "".join(json.dumps({"id": f"n{i}", "text": "red wine"}) + "\n" for i in range(3000)).encode()
    replies = []
    thread = threading.Thread(target=lambda: replies.append(running.ask("/collections/pets/documents", body)))
    thread.start()
    thread.join(0.3)
    assert running.stop(signal.SIGINT) == 0
    thread.join()
    assert replies[0].status == 200
    with Collection.open(tmp_path / "pets.index") as collection:
        assert len(collection) == 3004


@pytest.mark.parametrize("count", [8])
def test_many_clients_get_the_answer_of_one(server: RunningServer, count: int) -> None:
    body = {"query": "dog wine train", "k": 3}
    expected = server.ask("/collections/pets/search", body).json["hits"]
    answers: list[object] = []

    def ask() -> None:
        answers.extend(server.ask("/collections/pets/search", body).json["hits"] for _ in range(10))

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 10 * count
    assert all(answer == expected for answer in answers)
